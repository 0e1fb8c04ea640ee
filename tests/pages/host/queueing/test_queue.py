"""Visitors take turns at a model; waiting work that fits is taken along; those who have left come last."""

import threading
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
import pytest

from pages.ui.host.queueing.queue import Queue
from rauq.errors import Stopped


@dataclass(eq=False)
class Work:
    name: str
    absent: bool = False


A0, A1, A2, B1, OTHER = map(Work, ("a0", "a1", "a2", "b1", "other"))


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
        assert [again.round, new.round] == [1, 0]
    assert queue._is_next(new)
    assert not queue._is_next(again)


@pytest.mark.parametrize("waiting", [1, 5, 40])
def test_a_visitor_that_comes_again_after_the_answer_is_overtaken_by_nobody_who_comes_later(waiting):
    queue = Queue()
    first = queue._join("again")
    for number in range(waiting):
        queue._join(f"first {number}")
    queue._start(first)
    queue._leave(first)
    again, before = queue._join("again"), 0
    while (place := queue.line()[0]) is not again:
        queue._start(place)
        for number in range(3):
            queue._join(f"new {before} {number}")
        queue._leave(place)
        before += 1
    assert before == waiting


@pytest.mark.parametrize("visitors", [1, 4, 30])
@pytest.mark.parametrize("jobs", [2, 30])
def test_one_who_asks_for_many_waits_for_some_of_those_who_come_later_and_not_for_all(jobs, visitors):
    queue, served = Queue(), []
    for _ in range(jobs):
        queue._join("many")
    for number in range(visitors):
        queue._join(f"first {number}")
    while len([visitor for visitor in served if visitor == "many"]) < jobs:
        place = queue.line()[0]
        queue._start(place)
        queue._join(f"new {len(served)}")  # as many come as are answered
        queue._leave(place)
        served.append(place.visitor)
    turns = [place for place, visitor in enumerate(served) if visitor == "many"]
    assert np.diff(turns).min() > visitors
    assert np.diff(turns).max() <= 2 * (visitors + jobs) + 3  # one more waits after each of its turns


def test_what_is_known_of_a_visitor_goes_with_the_last_of_its_jobs():
    queue = Queue()
    with queue.turn(threading.Event(), "a", A0), queue.taking_along(lambda _work: True, 8):
        again = queue._join("a")
        assert queue.last == {"a": 1.0}
    queue._start(again)
    queue._leave(again)
    assert queue.last == {}


def test_waiting_work_that_fits_is_taken_along_in_the_order_of_turns():
    queue, done = Queue(), []

    def wait(visitor, work):
        with queue.turn(threading.Event(), visitor, work) as is_own:
            done.append((work, is_own))

    with queue.turn(threading.Event(), "a", A0):
        jobs = [("a", A1), ("a", A2), ("b", B1), ("c", OTHER), ("c", None)]
        threads = [threading.Thread(target=wait, args=job) for job in jobs]
        for count, thread in enumerate(threads, 2):
            thread.start()
            with queue.moved:
                assert queue.moved.wait_for(lambda count=count: queue.length == count, 30)
        with queue.taking_along(lambda work: work not in (None, OTHER), 2) as places:
            assert [place.work for place in places] == [B1, A1]
            assert queue.length == 4
            assert done == []
            places[0].done.set()
            threads[2].join(30)
            assert done == [(B1, False)]
        threads[0].join(30)
        assert done == [(B1, False), (A1, False)]
    for thread in threads:
        thread.join(30)
    assert len(done) == 5
    assert set(done[2:]) == {(A2, True), (OTHER, True), (None, True)}
    assert queue.length == 0


def test_a_stopped_job_gives_up_its_place():
    queue, stopped = Queue(), threading.Event()
    stopped.set()
    with pytest.raises(Stopped), queue.turn(stopped, "a"):
        pass
    assert queue.length == 0


def test_those_whose_visitor_has_left_come_last_and_keep_their_order():
    queue = Queue()
    works = [Work("left", absent=True), Work("here"), Work("left too", absent=True), Work("new")]
    for visitor, work in zip("abcd", works[:3], strict=False):
        queue._join(visitor, work)
    assert [place.work.name for place in queue.line("d", works[3])] == ["here", "new", "left", "left too"]
    assert len(queue.line()) == 3
    works[0].absent = False
    assert queue.line()[0].work is works[0]
