"""What the process keeps for all sessions: visitors take turns at a model, and share the room for answers."""

import threading
from contextlib import ExitStack
from dataclasses import replace

import pytest

from pages.ui.host import hosting
from pages.ui.host import store as own_store
from pages.ui.host.store import JobRegistry, KeptAnswers, Queue
from rauq.errors import InvalidInput, Stopped
from rauq.trace.trace import memory_bytes
from tests.traces import make_trace

SIZE = memory_bytes(make_trace())


def served(visitors, later=()):
    """The order in which jobs get their turn; those of `later` arrive while the first one has it."""
    queue, order, threads, first = Queue(), [], [], threading.Event()

    def work(visitor):
        with queue.turn(threading.Event(), visitor):
            order.append(visitor)
            assert first.wait(30)

    for visitor in (*visitors, *later):
        threads.append(threading.Thread(target=work, args=(visitor,)))
        threads[-1].start()
        with queue.moved:
            assert queue.moved.wait_for(lambda: queue.length == len(threads), 30)
    first.set()
    for thread in threads:
        thread.join(30)
    return "".join(order)


@pytest.mark.parametrize(
    ("before", "later", "order"),
    [
        ("aaa", "", "aaa"),
        ("aaaa", "b", "abaaa"),  # a new visitor waits for one answer of each of those before
        ("aaaabbbb", "c", "abcabab" + "ab"),
        ("abc", "abc", "abcabc"),
        ("aab", "b", "abab"),
    ],
)
def test_visitors_take_turns_and_the_jobs_of_one_keep_their_order(before, later, order):
    assert served(before, later) == order


def test_a_visitor_that_comes_again_waits_for_those_who_came_in_between():
    queue = Queue()
    with ExitStack() as stack:
        stack.enter_context(queue.turn(threading.Event(), "a"))
        again, new = queue._join("a"), queue._join("b")
        assert [again.round, new.round] == [2, 1]
    assert queue._is_next(new)
    assert not queue._is_next(again)


def test_waiting_work_that_fits_is_taken_along_in_the_order_of_turns():
    queue, done = Queue(), []

    def wait(visitor, work):
        with queue.turn(threading.Event(), visitor, work) as is_own:
            done.append((work, is_own))

    with queue.turn(threading.Event(), "a", "a0"):
        jobs = [("a", "a1"), ("a", "a2"), ("b", "b1"), ("c", "other"), ("c", None)]
        threads = [threading.Thread(target=wait, args=job) for job in jobs]
        for count, thread in enumerate(threads, 2):
            thread.start()
            with queue.moved:
                assert queue.moved.wait_for(lambda count=count: queue.length == count, 30)
        with queue.taking_along(lambda work: work not in (None, "other"), 2) as places:
            assert [place.work for place in places] == ["b1", "a1"]
            assert queue.length == 4
            assert done == []
            places[0].done.set()
            threads[2].join(30)
            assert done == [("b1", False)]
        threads[0].join(30)
        assert done == [("b1", False), ("a1", False)]
    for thread in threads:
        thread.join(30)
    assert sorted(done[2:], key=str) == [("a2", True), ("other", True), (None, True)]
    assert queue.length == 0


def test_a_stopped_job_gives_up_its_place():
    queue, stopped = Queue(), threading.Event()
    stopped.set()
    with pytest.raises(Stopped), queue.turn(stopped, "a"):
        pass
    assert queue.length == 0


def test_the_jobs_of_a_visitor_are_bounded_and_those_of_another_are_not_affected(monkeypatch):
    monkeypatch.setenv(hosting.HOSTED_VARIABLE, "1")
    monkeypatch.setattr(hosting, "HOST", replace(hosting.HOST, generations=4, generations_each=2))
    registry = JobRegistry()
    for job in range(2):
        registry.admit(job, "a")
    with pytest.raises(InvalidInput, match="2 generations of your address"):
        registry.admit(2, "a")
    registry.admit(3, "b")
    registry.dismiss(0)
    registry.admit(4, "a")
    registry.admit(5, "b")
    with pytest.raises(InvalidInput, match="4 generations are running or waiting on this host"):
        registry.admit(6, "c")


def test_the_answers_of_whoever_has_most_are_evicted(monkeypatch):
    monkeypatch.setattr(own_store, "MOST_ANSWERS_BYTES", 5 * SIZE)
    answers = KeptAnswers()
    quiet = answers.keep(make_trace(), visitor="a")
    many = [answers.keep(make_trace(), visitor="b") for _ in range(20)]
    assert answers.find(quiet) is not None
    assert [answers.find(name) is not None for name in many] == [False] * 16 + [True] * 4


def test_the_number_of_answers_is_bounded_too(monkeypatch):
    monkeypatch.setattr(own_store, "MOST_ANSWERS", 3)
    answers = KeptAnswers()
    for _ in range(5):
        answers.keep(make_trace())
    assert len(answers.kept) == 3


def test_too_many_answers_are_evicted_from_whoever_has_the_most_of_them(monkeypatch):
    monkeypatch.setattr(own_store, "MOST_ANSWERS", 6)
    answers = KeptAnswers()
    large = answers.keep(make_trace((b" a",) * 200), visitor="a")
    for _ in range(20):
        answers.keep(make_trace(), visitor="b")
    assert answers.find(large) is not None
    assert len(answers.kept) == 6
