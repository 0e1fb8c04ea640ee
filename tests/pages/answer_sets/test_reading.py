"""The list of unclear answers: what the browser is sent, what it may say, and what a read-only run says."""

import json

import pytest

from analysis.runs import library
from analysis.runs.files.corrections import read_corrections
from analysis.runs.manifest import CORRECTIONS
from pages.ui.answer_sets import reading
from tests.pages.sets import make, number_of, open_sets, said

UNCLEAR = (1, 4, 8)


@pytest.fixture(autouse=True)
def root(runs):
    make(runs, unclear=UNCLEAR, question="What is {}?", references=("a", "b"))
    return runs


@pytest.fixture(autouse=True)
def _fresh_session():
    """Events are applied outside of a page, where one session serves all tests."""
    yield
    for name in (reading._READ, reading._TURN, "_verdict_problem"):
        reading.st.session_state.pop(name, None)


def open_list(**query):
    return open_sets(run="small", view="answers", listed="unclear", **query)


def cards(page):
    found = [one for one in page.get("bidi_component") if one.proto.component_name.endswith("reading_list")]
    return [json.loads(one.proto.json) for one in found]


def kept(root):
    return {one.number: one.correct for one in read_corrections(root / "small")}


def test_the_first_unclear_answer_is_sent_as_text_with_its_reason():
    page = open_list()
    assert not page.exception
    (card,) = cards(page)
    assert card.pop("sent") > 0
    assert card == {
        "turn": 0,
        "number": 1,
        "left": 3,
        "question": "What is 1?",
        "references": "a | b",
        "answer": "aaaa",
        "reason": "it also names 'a'",
        "last": "",
    }
    assert list(map(number_of, page.dataframe[0].value.iloc)) == list(UNCLEAR)
    assert "3 unclear answers to read" in said(page)


def test_of_many_the_first_are_listed(monkeypatch):
    monkeypatch.setattr(reading, "MOST_LISTED", 2)
    page = open_list()
    assert list(map(number_of, page.dataframe[0].value.iloc)) == list(UNCLEAR[:2])
    assert cards(page)[0]["left"] == 3
    assert "The first 2 are listed." in said(page)


def test_filters_hold_for_the_list_too():
    (card,) = cards(open_list(group="two"))
    assert (card["number"], card["left"]) == (1, 1)


def test_the_choice_is_there_as_long_as_an_answer_is_unclear():
    chosen = "answers_listed"
    assert chosen in [control.key for control in open_sets(run="small", view="answers").get("button_group")]
    for number in UNCLEAR:
        reading._apply("small", reading.Said(number=number, mark="left out"))
    assert chosen not in [control.key for control in open_sets(run="small", view="answers").get("button_group")]
    page = open_list()  # a link, or the list itself
    assert not page.exception
    assert cards(page)[0]["left"] == 0
    assert "No unclear answer is left to read" in said(page)
    table = open_sets(run="small", view="answers").dataframe[0].value
    of_unclear = table[[number_of(row) in UNCLEAR for row in table.iloc]]
    assert set(of_unclear["by hand"]) == {"left out"}
    assert set(of_unclear["why not judged"]) == {"left out by hand"}


def test_what_the_browser_says_is_stored_and_undone(root):
    reading._apply("small", reading.Said(number=1, mark="correct"))
    reading._apply("small", reading.Said(number=4, mark="left out"))
    assert kept(root) == {1: True, 4: None}
    reading._apply("small", reading.Said(number=8, mark="undo"))  # the number shown is not the one that is undone
    assert kept(root) == {1: True}
    reading._apply("small", reading.Said(number=8, mark="undo"))
    reading._apply("small", reading.Said(number=8, mark="undo"))  # nothing is left to undo
    assert kept(root) == {}


def test_a_verdict_that_is_not_stored_is_neither_undone_nor_silent(root):
    (root / "small" / CORRECTIONS).mkdir()  # not a file that can be replaced
    reading._apply("small", reading.Said(number=1, mark="correct"))
    assert reading._read("small") == ()
    assert "_verdict_problem" in reading.st.session_state


def test_a_run_that_came_with_the_app_says_why_and_how_to_make_a_copy(monkeypatch, root):
    monkeypatch.setattr(library, "BUNDLED", "small")
    monkeypatch.setattr(library, "bundled_folder", lambda: root / "small")
    monkeypatch.setattr("analysis.runs.verdicts.bundled_folder", lambda: root / "small")
    page = open_list()
    assert not page.exception
    assert cards(page) == []
    assert list(map(number_of, page.dataframe[0].value.iloc)) == list(UNCLEAR)
    assert "came with the app cannot be changed" in said(page)
    assert "Make a copy on the page Runs" in [link.proto.label for link in page.get("page_link")]


def test_a_run_with_another_scale_says_why_and_offers_no_copy(root):
    make(root, "scale", quality=(5.0, 0.0, 1.0, 2.0), unclear=(1,))
    page = open_sets(run="scale", view="answers", listed="unclear")
    assert not page.exception
    assert cards(page) == []
    assert "not on a scale from 0 to 1" in said(page)
    assert "Make a copy on the page Runs" not in [link.proto.label for link in page.get("page_link")]
