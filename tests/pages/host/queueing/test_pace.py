"""How long an answer waits: turns as they will be given, and their seconds at the pace of those before."""

import math
from itertools import chain

import pytest

from pages.ui.host.queueing.pace import Pace, Work, seconds_before, turns

SHORT, LONG, ALONE = Work("short", 8), Work("long", 512), Work(None, 200)


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
    pace = Pace()
    pace.note([SHORT], 2.0)
    pace.note([SHORT] * 3, 4.0)
    line = [SHORT, LONG, SHORT, SHORT, ALONE, SHORT]
    before = [seconds_before(place, line, pace, most=3) for place in range(len(line))]
    assert before == [0, 4, 0, 0, 4 + 128, 4 + 128 + 50]


def test_without_an_ended_turn_only_the_first_wait_is_known():
    line = [SHORT, ALONE]
    assert seconds_before(0, line, Pace(), most=8) == 0
    assert math.isnan(seconds_before(1, line, Pace(), most=8))


def test_the_pace_is_that_of_the_last_turns_and_other_sizes_have_that_of_the_nearest():
    pace, one = Pace(), Work("a", 10)
    for seconds in (100.0, 100.0, *[10.0] * 5):
        pace.note([one], seconds)
    pace.note([one] * 8, 30.0)
    assert [pace.of([one] * number) for number in (1, 2, 4, 5, 7, 8)] == [10, 10, 10, 30, 30, 30]
    assert pace.of([Work(None, 20)]) == 20


def test_neither_a_long_prompt_with_one_token_nor_one_slow_turn_makes_others_seem_slow():
    pace, usual = Pace(), Work("a", 256, 100)
    for _ in range(3):
        pace.note([usual], 12.0)
    before = pace.of([usual])
    pace.note([Work(None, 1, 4_000)], 10.0)
    assert pace.of([usual]) == before
    pace.note([Work(None, 8, 4_000)], 60.0)
    assert pace.of([usual]) == before
    first = Pace()
    first.note([Work(None, 8, 4_000)], 10.0)
    assert first.of([usual]) < 60
