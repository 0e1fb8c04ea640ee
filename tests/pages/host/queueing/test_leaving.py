"""Answers whose visitors have left make room for those who wait, and for nobody else."""

import threading
from dataclasses import dataclass, field

import pytest

from pages.ui.host.queueing import leaving
from pages.ui.host.queueing.leaving import GONE_SECONDS, stop_left


@dataclass(eq=False)
class Job:
    sessions: set[str]
    waiting: bool
    shown: float = 100.0
    absent: bool = False
    left: bool = False
    cancel: threading.Event = field(default_factory=threading.Event)


@pytest.fixture
def at(monkeypatch):
    def set_clock(now):
        monkeypatch.setattr(leaving.time, "monotonic", lambda: now)

    return set_clock


def stopped(jobs, connected):
    stop_left(jobs, set(connected).__contains__)
    return [job.cancel.is_set() for job in jobs]


def test_a_waiting_answer_leaves_the_queue_some_seconds_after_its_visitor(at):
    job = Job({"gone"}, waiting=True)
    at(100 + GONE_SECONDS)
    assert stopped([job], ()) == [False]
    assert job.absent
    at(101 + GONE_SECONDS)
    assert stopped([job], ()) == [True]


def test_one_that_is_shown_again_in_time_stays(at):
    job = Job({"gone"}, waiting=True)
    at(105)
    stopped([job], ())
    job.sessions.add("again")
    at(109)
    assert stopped([job], {"again"}) == [False]
    assert not job.absent
    at(109 + GONE_SECONDS)
    assert stopped([job], ()) == [False]


@pytest.mark.parametrize(("connected", "expected"), [({"waits"}, True), ((), False)])
def test_a_running_answer_without_a_visitor_ends_only_if_somebody_who_is_here_waits(at, connected, expected):
    running, waits = Job({"gone"}, waiting=False), Job({"waits"}, waiting=True, shown=110)
    at(101 + GONE_SECONDS)
    assert stopped([running, waits], connected) == [expected, False]
