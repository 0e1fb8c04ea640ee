"""Answers of clients are kept in memory: at most so many, none older than asked, and as long as there is room."""

import pytest

from pages.ui.host import clients as module
from pages.ui.host import kept as kept_answers
from pages.ui.host.clients import ClientAnswer, ClientAnswers
from pages.ui.host.kept import KeptAnswers
from rauq.trace.trace import memory_bytes
from tests.traces import make_trace


@pytest.fixture
def clock(monkeypatch):
    """What `time.time` says: a list of one number."""
    now = [1000.0]
    monkeypatch.setattr(module.time, "time", lambda: now[0])
    return now


def keep(answers, *names):
    for name in names:
        answers.keep(
            ClientAnswer(
                name=name, trace=make_trace(), text="a", ending="eos", uncertainty=0.5, query={}, at=module.time.time()
            )
        )


def names(answers):
    return "".join(answer.name for answer in answers.latest())


def test_the_latest_come_first_and_the_oldest_are_dropped():
    kept = KeptAnswers()
    answers = ClientAnswers(most=3, seconds=60, kept=kept)
    keep(answers, *"abcde")
    assert names(answers) == "edc"
    assert list(kept.kept) == list("cde")


def test_old_answers_are_dropped_although_a_page_shows_them(clock):
    kept = KeptAnswers()
    answers = ClientAnswers(most=9, seconds=60, kept=kept)
    keep(answers, "a")
    assert kept.find("a", session="page") is not None
    clock[0] += 50
    keep(answers, "b")
    clock[0] += 20
    answers.expire()
    assert list(kept.kept) == ["b"]
    assert names(answers) == "b"


def test_one_without_room_in_memory_is_not_listed(monkeypatch):
    monkeypatch.setattr(kept_answers, "MOST_ANSWERS_BYTES", 2 * memory_bytes(make_trace()))
    answers = ClientAnswers(most=9, seconds=60, kept=KeptAnswers())
    keep(answers, *"abc")
    assert names(answers) == "cb"
