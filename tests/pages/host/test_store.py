"""What the process keeps for all sessions: visitors share the places for generations and the room for answers."""

from dataclasses import replace

import pytest

from pages.ui.host import hosting
from pages.ui.host import kept as kept_answers
from pages.ui.host.jobs import Job
from pages.ui.host.kept import KeptAnswers
from pages.ui.host.request import Request
from pages.ui.host.store import JobRegistry
from rauq.errors import InvalidInput
from rauq.trace.trace import memory_bytes
from tests.traces import make_trace

REQUEST = Request(model=hosting.ModelChoice(), prompt="Where?")
SIZE = memory_bytes(make_trace())


def test_the_jobs_of_a_visitor_are_bounded_and_those_of_another_are_not_affected(monkeypatch):
    monkeypatch.setenv(hosting.HOSTED_VARIABLE, "1")
    monkeypatch.setattr(hosting, "HOST", replace(hosting.HOST, generations=4, generations_each=2))
    registry, asked = JobRegistry(), [Job(REQUEST) for _ in range(7)]
    for job in asked[:2]:
        registry.admit(job, "a")
    with pytest.raises(InvalidInput, match="2 generations of your address"):
        registry.admit(asked[2], "a")
    registry.admit(asked[3], "b")
    registry.dismiss(asked[0])
    registry.admit(asked[4], "a")
    registry.admit(asked[5], "b")
    with pytest.raises(InvalidInput, match="4 generations are running or waiting on this host"):
        registry.admit(asked[6], "c")


def test_where_all_places_are_taken_the_job_whose_visitor_left_first_makes_room(monkeypatch):
    monkeypatch.setenv(hosting.HOSTED_VARIABLE, "1")
    monkeypatch.setattr(hosting, "HOST", replace(hosting.HOST, generations=4))
    here, running = Job(REQUEST), Job(REQUEST, waiting=False, absent=True, shown=1.0)
    late, early = (Job(REQUEST, absent=True, shown=shown) for shown in (3.0, 2.0))
    registry = JobRegistry()
    for job in (here, running, late, early):
        registry.admit(job, "a")
    newcomers = [Job(REQUEST) for _ in range(3)]
    for job in newcomers[:2]:
        registry.admit(job, "b")
    assert [job.left for job in (here, running, late, early)] == [False, False, True, True]
    assert [job.cancel.is_set() for job in (here, running, late, early)] == [False, False, True, True]
    assert set(registry.jobs) == {here, running, *newcomers[:2]}
    with pytest.raises(InvalidInput, match="4 generations"):
        registry.admit(newcomers[2], "b")


def test_the_answers_of_whoever_has_most_are_evicted(monkeypatch):
    monkeypatch.setattr(kept_answers, "MOST_ANSWERS_BYTES", 5 * SIZE)
    answers = KeptAnswers()
    quiet = answers.keep(make_trace(), visitor="a")
    many = [answers.keep(make_trace(), visitor="b") for _ in range(20)]
    assert answers.find(quiet) is not None
    assert [answers.find(name) is not None for name in many] == [False] * 16 + [True] * 4


def test_the_number_of_answers_is_bounded_too(monkeypatch):
    monkeypatch.setattr(kept_answers, "MOST_ANSWERS", 3)
    answers = KeptAnswers()
    for _ in range(5):
        answers.keep(make_trace())
    assert len(answers.kept) == 3


def test_too_many_answers_are_evicted_from_whoever_has_the_most_of_them(monkeypatch):
    monkeypatch.setattr(kept_answers, "MOST_ANSWERS", 6)
    answers = KeptAnswers()
    large = answers.keep(make_trace((b" a",) * 200), visitor="a")
    for _ in range(20):
        answers.keep(make_trace(), visitor="b")
    assert answers.find(large) is not None
    assert len(answers.kept) == 6
