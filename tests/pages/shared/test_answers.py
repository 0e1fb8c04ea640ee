"""Answers have names that cannot be guessed; the oldest are evicted, and a session lists only its own."""

from dataclasses import replace

import numpy as np
import pytest
import streamlit as st

from pages.ui.host import kept as kept_answers
from pages.ui.host import store as own_store
from pages.ui.host.kept import KeptAnswers
from pages.ui.shared import answers
from rauq.trace.trace import memory_bytes
from tests.traces import make_trace

SIZE = memory_bytes(make_trace())


@pytest.fixture(autouse=True)
def store(monkeypatch):
    fresh = KeptAnswers()
    monkeypatch.setattr(own_store.store(), "answers", fresh)
    return fresh


@pytest.fixture(autouse=True)
def enter(monkeypatch):
    """Enter a session: what it remembers is a mapping of its own."""

    def enter(session):
        monkeypatch.setattr(st, "session_state", session)

    enter({})
    return enter


def room_for(monkeypatch, count):
    monkeypatch.setattr(kept_answers, "MOST_ANSWERS_BYTES", count * SIZE)


def test_an_answer_is_found_by_its_name():
    first, second = make_trace(), make_trace()
    names = answers.keep(first), answers.keep(second)
    assert [answers.find(name) for name in names] == [first, second]


def test_names_are_long_and_never_the_same():
    trace = make_trace()
    names = [answers.keep(replace(trace)) for _ in range(500)]
    assert len(set(names)) == len(names)
    assert {len(name) for name in names} == {16}  # of 64 letters: 96 bits
    letters = np.array([list(name) for name in names])
    assert all(len(set(column)) > 40 for column in letters.T)  # no place of it is a counter or a clock
    assert all(name.isascii() and name.replace("-", "").replace("_", "").isalnum() for name in names)


def test_an_answer_that_is_kept_twice_has_one_name_and_is_listed_once(store):
    first, second = make_trace(), make_trace()
    names = [answers.keep(trace) for trace in (first, second, first)]
    assert names[0] == names[2]
    assert [kept.trace for kept in store.kept.values()] == [second, first]
    assert list(answers.mine()) == [names[0], names[1]]


@pytest.mark.parametrize("name", ["", "gone", "example:one", "../..", "\ud800", "a" * 10**6])
def test_an_unknown_name_finds_nothing(name):
    answers.keep(make_trace())
    assert answers.find(name) is None


def test_the_least_recently_used_is_evicted(monkeypatch):
    room_for(monkeypatch, 3)
    names = [answers.keep(make_trace(seed=seed)) for seed in range(3)]
    assert all(map(answers.find, names))
    answers.find(names[0])
    later = answers.keep(make_trace())
    assert answers.find(names[1]) is None
    assert all(map(answers.find, (names[0], names[2], later)))


def test_the_bound_holds_after_every_answer_and_the_latest_stays(monkeypatch, store):
    room_for(monkeypatch, 5)
    rng = np.random.default_rng(0)
    for _ in range(60):
        trace = make_trace((b" a",) * int(rng.integers(1, 40)))
        name = answers.keep(trace)
        held = sum(memory_bytes(kept.trace) for kept in store.kept.values())
        assert held <= 5 * SIZE or [kept.trace for kept in store.kept.values()] == [trace]
        assert answers.find(name) is trace


def test_one_larger_than_all_the_room_is_kept_alone(monkeypatch, store):
    room_for(monkeypatch, 0.5)
    for seed in range(3):
        latest = make_trace(seed=seed)
        name = answers.keep(latest)
        assert {name: kept.trace for name, kept in store.kept.items()} == {name: latest}


def test_a_session_lists_its_own_answers_the_latest_first(enter):
    first, second = {}, {}
    enter(first)
    mine = [answers.keep(make_trace(seed=seed)) for seed in range(3)]
    enter(second)
    assert answers.mine() == {}
    others = answers.keep(make_trace())
    assert list(answers.mine()) == [others]
    assert answers.find(mine[0]) is not None  # by its name, as a link gives it
    enter(first)
    assert list(answers.mine()) == mine[::-1]
    assert list(answers.mine().values()) == [answers.find(name) for name in reversed(mine)]


def test_evicted_answers_are_not_listed(monkeypatch):
    room_for(monkeypatch, 2)
    names = [answers.keep(make_trace(seed=seed)) for seed in range(4)]
    assert list(answers.mine()) == [names[3], names[2]]


def test_a_list_stays_short():
    names = [answers.keep(make_trace()) for _ in range(30)]
    assert list(answers.mine()) == names[:-13:-1]
    assert answers.find(names[0]) is not None
