"""Verdicts corrected beside the answer in Inspect, in the table of answers, and on the page Runs."""

import pytest

from analysis.runs import library
from analysis.runs.files.corrections import read_corrections
from analysis.runs.manifest import CORRECTIONS
from pages.ui.inspect import verdict
from pages.ui.inspect.linked_views.reported import Judged
from pages.ui.shared.run_views import verdicts
from tests.pages.reading import interpreted, views
from tests.pages.runs_page import captions as told_of_runs
from tests.pages.runs_page import open_runs
from tests.pages.sets import make, number_of, open_sets, said, seeded

pytestmark = pytest.mark.usefixtures("no_model")


@pytest.fixture(autouse=True)
def root(runs):
    make(runs, references=("a a", "b"), question="What is {}?")
    return runs


def shown(page):
    """The verdict beside the answer."""
    return views(page)["judged"]["verdict"]


def buttons(page):
    return {button.key: not button.disabled for button in page.button if button.key.startswith("verdict_")}


def kept(root):
    return {one.number: one.correct for one in read_corrections(root / "small")}


def test_a_verdict_is_corrected_twice_and_undone_in_inspect(open_app, root):
    name = "run:small:4"
    found = shown(open_app(run="small", number="4"))
    assert (found["verdict"], found["correctAnswer"]) == ("correct", "a a | b")
    assert found["source"] == "of the run small"
    verdict.apply_event(name, Judged(answer=name, verdict="incorrect"))
    page = open_app(run="small", number="4")
    assert not page.exception
    assert (shown(page)["verdict"], shown(page)["source"]) == ("incorrect", "set by you, in the run small")
    assert "quality 0.00" in views(page)["source"]
    assert kept(root) == {4: False}
    verdict.apply_event(name, Judged(answer=name, verdict="correct"))
    assert kept(root) == {4: True}
    verdict.apply_event(name, Judged(answer=name, verdict=None))
    assert kept(root) == {}
    assert shown(open_app(run="small", number="4"))["source"] == "of the run small"


def test_every_figure_of_the_run_counts_the_corrected_verdict():
    before = open_sets(run="small", view="meaning")
    assert "30 correct (quality above 0.9), 15 incorrect" in said(before)
    verdicts.mark_in_run("small", 4, "incorrect")
    page = open_sets(run="small", view="meaning")
    assert "29 correct (quality above 0.9), 16 incorrect" in said(page)
    assert "1 verdict corrected by hand." in said(page)
    assert page.caption[1].value != before.caption[1].value


def test_the_ticked_answer_of_the_table_is_corrected(root):
    query = {"run": "small", "view": "answers"}
    page = open_sets(**query)
    assert set(buttons(page).values()) == {False}
    table = page.dataframe[0].value
    assert set(table["references"]) == {"a a | b"}
    assert "by hand" not in table
    number = number_of(table.iloc[2])
    page = seeded(query, "answers_table", {"rows": [2], "columns": []})
    page = page.button(key="verdict_incorrect").click().run()
    assert not page.exception
    assert kept(root) == {number: False}
    table = page.dataframe[0].value
    assert table.set_index("id")["by hand"][f"id {number}"] == "incorrect"


def test_the_ticked_answer_of_the_table_is_left_out_and_taken_back(root):
    query = {"run": "small", "view": "answers"}
    page = seeded(query, "answers_table", {"rows": [2], "columns": []})
    number = number_of(page.dataframe[0].value.iloc[2])
    page = page.button(key="verdict_left_out").click().run()
    assert not page.exception
    assert kept(root) == {number: None}
    assert page.dataframe[0].value.set_index("id")["by hand"][f"id {number}"] == "left out"
    assert set(buttons(page)) == {"verdict_correct", "verdict_incorrect", "verdict_undo"}
    page.button(key="verdict_undo").click().run()
    assert kept(root) == {}


def test_inspect_says_why_an_answer_is_unclear_and_that_it_was_left_out(open_app, runs):
    make(runs, "unread", unclear=(4,))
    found = shown(open_app(run="unread", number="4"))
    assert (found["verdict"], found["source"]) == (None, "unclear: it also names 'a', in the run unread")
    verdicts.mark_in_run("unread", 4, "left out")
    found = shown(open_app(run="unread", number="4"))
    assert (found["verdict"], found["source"]) == (None, "left out by hand, in the run unread")
    verdict.apply_event("run:unread:4", Judged(answer="run:unread:4", verdict="correct"))
    assert shown(open_app(run="unread", number="4"))["source"] == "set by you, in the run unread"


def test_a_run_that_came_with_the_app_keeps_its_verdicts(monkeypatch, root):
    monkeypatch.setattr(library, "BUNDLED", "small")
    monkeypatch.setattr(library, "bundled_folder", lambda: root / "small")
    monkeypatch.setattr("analysis.runs.verdicts.bundled_folder", lambda: root / "small")
    page = open_sets(run="small", view="answers")
    assert not page.exception
    assert buttons(page) == {}
    assert "came with the app" in " ".join(caption.value for caption in page.caption)


def test_a_failed_correction_is_reported(root):
    query = {"run": "small", "view": "answers"}
    page = seeded(query, "answers_table", {"rows": [2], "columns": []})
    (root / "small" / CORRECTIONS).mkdir()  # not a file that can be replaced
    page = page.button(key="verdict_correct").click().run()
    assert not page.exception
    assert page.error


def test_all_corrections_are_undone_on_the_page_runs_damaged_ones_too(root):
    assert "corrected by hand" not in " ".join(text.value for text in open_runs(run="small").text)
    verdicts.mark_in_run("small", 4, "incorrect")
    page = open_runs(run="small")
    assert "1 verdict corrected by hand" in " ".join(text.value for text in page.text)
    (root / "small" / CORRECTIONS).write_bytes(b"{")
    assert "corrections.json is damaged" in " ".join(text.value for text in open_sets(run="small").text)
    page = open_runs(run="small")
    assert "corrections.json is damaged" in " ".join(text.value for text in page.text)
    page = page.button(key="undo_corrections").click().run()
    assert not page.exception
    assert not (root / "small" / CORRECTIONS).exists()
    assert "undone" in interpreted(page) + told_of_runs(page)


@pytest.mark.parametrize("name", ["small", "another/small", "../another/small"])
def test_a_session_of_a_host_corrects_only_its_own_runs(host, name):
    """A client may send what no button offers; the run of another session has no name in this one."""
    make(host / "another", references=())
    verdicts._correct(name=name, number=4, mark="incorrect")
    assert "not found" in str(verdicts.st.session_state.pop("_verdict_problem"))
    assert read_corrections(host / "another" / "small") == ()
