"""How long an answer waits: turns as they will be given, and their seconds at the pace of those before."""

import math
from itertools import chain

import pytest

from pages.ui.host.queueing import waiting
from pages.ui.host.queueing.pace import Pace, Work, amount, disturbed, seconds_before, turns, undisturbed
from pages.ui.host.queueing.queue import Place, Queue
from pages.ui.host.queueing.waiting import seconds_until

SHORT, LONG, ALONE = Work("short", 8), Work("long", 512), Work(None, 200)
NOW = 1_000.0


class Job:
    def __init__(self, work, tokens=0):
        self.work, self.pieces, self.absent = work, ["a"] * tokens, False


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ([], []),
        ([SHORT] * 3, [[0, 1, 2]]),
        ([SHORT] * 5, [[0, 1, 2], [3, 4]]),
        ([SHORT, LONG, SHORT, ALONE, LONG], [[0, 2], [1, 4], [3]]),
        ([ALONE, ALONE], [[0], [1]]),
    ],
)
def test_turns_are_those_that_the_queue_will_give(line, expected):
    assert turns(line, most=3) == expected
    assert sorted(chain(*expected)) == list(range(len(line)))


def test_the_wait_is_the_sum_of_the_turns_before():
    pace = Pace(alone=0.5, together=2.0)
    line = [SHORT, LONG, SHORT, SHORT, ALONE, SHORT]
    before = [sum(seconds_before(place, line, pace, most=3)) for place in range(len(line))]
    first, second, third = 2 * amount([SHORT] * 3), 0.5 * amount([LONG]), 0.5 * amount([ALONE])
    assert before == [0, first, 0, 0, first + second, first + second + third]


def test_without_an_ended_turn_only_the_first_wait_is_known():
    line = [SHORT, ALONE]
    assert seconds_before(0, line, Pace(), most=8) == []
    assert math.isnan(sum(seconds_before(1, line, Pace(), most=8)))


def test_one_answer_and_several_have_a_pace_each_and_until_it_is_known_that_of_the_other():
    alone, together = Pace().after([LONG], 52.0), Pace().after([LONG] * 8, 182.0)
    assert alone.of([LONG] * 8) == pytest.approx(52.0 * amount([LONG] * 8) / amount([LONG]))
    assert together.of([LONG]) == pytest.approx(182.0 * amount([LONG]) / amount([LONG] * 8))
    both = alone.after([LONG] * 3, 100.0)
    assert [both.of([LONG]), both.of([LONG] * 3)] == pytest.approx([52.0, 100.0])


def test_the_pace_follows_a_machine_that_is_busy_now():
    pace = Pace().after([LONG], 10.0)
    for _ in range(9):
        pace = pace.after([LONG], 20.0)
    assert 18 < pace.of([LONG]) < 20


def test_neither_a_long_prompt_with_one_token_nor_one_slow_turn_makes_others_seem_slow():
    usual = Work("a", 256, 100)
    pace = Pace().after([usual], 12.0)
    assert pace.after([Work(None, 1, 4_000)], 10.0) == pace
    assert pace.after([Work(None, 8, 4_000)], 60.0).of([usual]) < 2 * pace.of([usual])
    assert Pace().after([Work(None, 8, 4_000)], 10.0).of([usual]) < 60


@pytest.fixture
def queue(monkeypatch):
    monkeypatch.setattr(waiting.time, "monotonic", lambda: NOW)
    pace = Pace(alone=0.5, together=1.0)
    running = Place("a", 0, Job(LONG, tokens=6), begun=NOW - 5.0)
    return Queue(running=running, pace=pace)


def until(queue, job):
    return seconds_until(job, queue, queue.line("b", job), most=8)


def test_the_running_turn_takes_as_long_as_the_pace_says(queue):
    assert until(queue, Job(SHORT)) == 0.5 * amount([LONG]) - 5.0


def left(turn, *, tokens, took, pace):
    """The seconds until a turn ends, by its pace so far and by the usual one, each with its share as the weight."""
    share = amount(turn, tokens) / amount(turn)
    return (pace * amount(turn) * (1 - share)) ** (1 - share) * (took * (1 - share) / share) ** share


def test_the_further_the_running_turn_is_the_more_its_own_pace_counts_and_the_next_ones_are_as_usual(queue):
    queue.running.work.pieces = ["a"] * 42
    soon = left([LONG], tokens=42, took=5.0, pace=0.5)
    assert until(queue, Job(SHORT)) == pytest.approx(soon)
    queue.waiting.append(Place("a", 0, Job(ALONE)))
    assert until(queue, Job(SHORT)) == pytest.approx(soon + 0.5 * amount([ALONE]))
    queue.waiting.clear()
    shares = []
    for tokens in (40, 480):
        queue.running.work.pieces = ["a"] * tokens
        own = 5.0 * (amount([LONG]) / amount([LONG], tokens) - 1)
        usual = 0.5 * (amount([LONG]) - amount([LONG], tokens))
        shares.append((usual - until(queue, Job(SHORT))) / (usual - own))
    assert 0 < shares[0] < 0.4
    assert 0.8 < shares[1] < 1


def test_one_that_is_slower_than_the_pace_is_not_said_to_be_about_to_end(queue):
    queue.running.begun = NOW - 500.0
    assert until(queue, Job(SHORT)) > 5 * queue.pace.of([LONG])


def test_pages_that_are_still_drawn_delay_the_running_turn_and_nothing_where_none_runs(queue):
    line = queue.line("b", job := Job(SHORT))
    usual = seconds_until(job, queue, line, most=8)
    assert seconds_until(job, queue, line, most=8, pages=3.0) == pytest.approx(usual + 0.8 * 3.0)
    assert seconds_until(job, queue, line, most=8, pages=1e6) == pytest.approx(5 * usual)
    queue.running = None
    assert seconds_until(job, queue, line, most=8, pages=3.0) == 0


def test_where_it_is_late_the_next_one_is_too_but_none_after_it(queue):
    queue.running.begun = NOW - 300.0
    left = until(queue, Job(SHORT))
    queue.waiting = [Place(visitor, 0, Job(ALONE)) for visitor in "cde"]
    assert until(queue, Job(SHORT)) == pytest.approx(left + 3.5 * 0.5 * amount([ALONE]))


@pytest.mark.parametrize("pages", [0.0, 1.0, 8.0, 100.0])
def test_the_pace_of_a_turn_is_that_without_the_pages_that_were_drawn_meanwhile(pages):
    assert undisturbed(disturbed(2.0, pages), pages) == pytest.approx(2.0)
    assert 2.0 <= disturbed(2.0, pages) <= 10.0
    assert 0.4 <= undisturbed(2.0, pages) <= 2.0


def test_with_a_batch_the_longest_answer_counts(queue):
    queue.running.along = [Place("c", 0, Job(LONG, tokens=92))]
    assert until(queue, Job(SHORT)) == pytest.approx(left([LONG] * 2, tokens=92, took=5.0, pace=1.0))
