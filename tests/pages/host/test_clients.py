"""Answers of clients are kept in memory: at most so many, none older than asked, and as long as there is room."""

import math

import pytest

from pages.ui.host import clients as module
from pages.ui.host import kept as kept_answers
from pages.ui.host.clients import ClientAnswers
from pages.ui.host.kept import KeptAnswers
from rauq.trace.trace import memory_bytes
from serve.job import Ended
from tests.traces import make_trace


@pytest.fixture
def clock(monkeypatch):
    """What `time.time` says: a list of one number."""
    now = [1000.0]
    monkeypatch.setattr(module.time, "time", lambda: now[0])
    return now


def ended(text="Tokyo."):
    return Ended(trace=make_trace(), ending="eos", text=text)


def keep(answers, count=1, uncertainty=0.5):
    return [answers.keep(ended(), uncertainty, {}) for _ in range(count)]


def names(answers):
    return [answer.name for answer in answers.latest()]


def test_the_latest_come_first_and_the_oldest_are_dropped():
    kept = KeptAnswers()
    answers = ClientAnswers(most=3, seconds=60, kept=kept)
    given = keep(answers, 5)
    assert names(answers) == given[:1:-1]
    assert list(kept.kept) == given[2:]


def test_old_answers_are_dropped(clock):
    kept = KeptAnswers()
    answers = ClientAnswers(most=9, seconds=60, kept=kept)
    keep(answers)
    clock[0] += 50
    (later,) = keep(answers)
    clock[0] += 20
    assert names(answers) == list(kept.kept) == [later]


def test_one_that_a_page_shows_stays_with_it(clock):
    kept = KeptAnswers()
    answers = ClientAnswers(most=9, seconds=60, kept=kept)
    (name,) = keep(answers)
    assert kept.find(name, session="page") is not None
    clock[0] += 70
    assert names(answers) == []
    assert kept.peek(name) is not None


def test_one_without_room_in_memory_is_not_listed(monkeypatch):
    monkeypatch.setattr(kept_answers, "MOST_ANSWERS_BYTES", 2 * memory_bytes(make_trace()))
    answers = ClientAnswers(most=9, seconds=60, kept=KeptAnswers())
    given = keep(answers, 3)
    assert names(answers) == given[:0:-1]


@pytest.mark.parametrize(
    ("text", "uncertainty", "is_defined"), [("a", 0.5, True), (" ", 0.5, False), ("a", math.nan, False)]
)
def test_an_answer_has_a_score_if_it_has_text(text, uncertainty, is_defined):
    answers = ClientAnswers(most=9, seconds=60, kept=KeptAnswers())
    answers.keep(ended(text), uncertainty, {})
    assert answers.latest()[0].is_defined is is_defined
