"""The page says which questions were joined, and a switch that is kept with the run treats them as different ones."""

from dataclasses import replace

from analysis.runs.files.corrections import are_apart
from analysis.runs.files.examples import write_examples
from tests.analysis.report.made_run import made_run
from tests.pages.runs_page import HOSTILE, open_runs


def test_joined_questions_are_listed_and_the_switch_outlives_a_reload(runs):
    runs.mkdir()
    run = made_run(runs / "made", quality=[1.0, 0.0, 1.0, 0.0], failures=0)
    asked = (HOSTILE, f"Q: {HOSTILE}\nA:", "Who wrote Emma?", "Who wrote Emma?")
    write_examples(run.folder, tuple(replace(one, question=own) for one, own in zip(run.examples, asked, strict=True)))
    page = open_runs(run="made")
    assert not page.exception
    assert [one.label for one in page.expander] == ["2 near-duplicate questions count as 1 question."]
    assert page.dataframe[0].value["questions"].tolist() == [2]
    page.toggle(key="questions_apart_made").set_value(True).run()
    assert are_apart(run.folder)
    page = open_runs(run="made")
    assert page.toggle(key="questions_apart_made").value
    assert [one.label for one in page.expander] == ["2 near-duplicate questions count as different questions."]
    page.toggle(key="questions_apart_made").set_value(False).run()
    assert not are_apart(run.folder)


def test_without_near_duplicates_nothing_is_said(runs):
    runs.mkdir()
    made_run(runs / "made", quality=[1.0, 0.0], failures=0, question="Who is {}?")
    page = open_runs(run="made")
    assert not page.exception
    assert not page.expander
    assert not page.toggle
