"""From a model and a labelled file to its heads: the entry on Answer sets, the form, and what opens in the end."""

import pytest

from analysis.runs.job import Status, only_job, start_job, write_status
from analysis.runs.library import BUNDLED
from tests.analysis.report.made_run import made_run
from tests.jobs import ended
from tests.pages.reading import choose, open_page
from tests.pages.runs_page import captions, keys, new_run, open_runs, said, upload

TITLE = "Find the uncertainty heads of my model"
LABELLED = b"prompt,answer,correct\n" + b"".join(
    f"Q: Where is {place}? A:,{place} is in Japan.,{verdict}\n".encode()
    for place, verdict in (("Kyoto", "yes"), ("Porto", "no"), ("Osaka", "yes"))
)

pytestmark = pytest.mark.usefixtures("runs")


def open_form():
    return open_runs(view="new", goal="heads")


def entries(page):
    return [link.proto.query_string for link in page.get("page_link") if "goal" in link.proto.query_string]


def test_answer_sets_leads_to_the_form_with_and_without_a_run(runs):
    assert entries(open_page("answer_sets")) == ["view=new&goal=heads"]
    runs.mkdir()
    made_run(runs / "small", quality=[1.0, 0.0])
    assert entries(open_page("answer_sets", run="small")) == ["view=new&goal=heads"]
    assert entries(open_page("answer_sets", run="small", view="gap")) == []


def test_the_form_says_what_it_needs_and_how_long_it_takes():
    page = open_form()
    assert [title.value for title in page.title] == [TITLE]
    assert "whether it is correct, which the model only reads" in captions(page)
    assert "about 2 minutes for 300 short answers" in captions(page)
    assert [title.value for title in open_runs(view="new").title] == ["New run"]


def test_rows_without_labels_are_said_and_few_ones_too():
    assert "No row has a reference or a label" in said(upload(open_form(), b"prompt\nWhere is Kyoto?\n"))
    assert "3 rows have a reference or a label. With fewer than 100" in said(upload(open_form(), LABELLED))
    assert "reference or a label" not in said(upload(open_runs(view="new"), LABELLED))


def test_labelled_answers_are_read_and_their_heads_open_once_the_run_is_finished(monkeypatch):
    monkeypatch.setattr("pages.ui.host.session_runs.start_job", lambda folder, **_: (start_job(folder), ended(folder)))
    page = choose(open_form(), "model", "atlas")
    page = upload(page, LABELLED)
    page = page.button(key="start_run").click().run()
    assert not page.error
    assert page.query_params == {"run": "places-atlas"}
    assert next(group for group in page.get("button_group") if group.key == "answers_view").value == "heads"
    assert "n = 3 answers: 2 correct" in captions(page)


def test_a_finished_run_opens_its_heads_only_on_request(runs):
    runs.mkdir()
    made_run(runs / "small", quality=[1.0, 0.0])
    page = open_runs(run="small", goal="heads")
    assert page.query_params == {"run": "small", "goal": "heads"}
    assert "open_heads" in keys(page)
    page = page.button(key="open_heads").click().run()
    assert page.query_params == {"run": "small"}
    assert page.get("plotly_chart")


def test_a_run_at_work_says_that_its_heads_will_open_and_a_stopped_one_does_not(runs):
    runs.mkdir()
    folder = new_run(runs / "small")
    with only_job(folder):
        write_status(folder, Status(state="answering", total=3))
        page = open_runs(run="small", goal="heads")
        assert "Heads opens once the run is finished." in captions(page)
        assert "open_heads" not in keys(page)
    page = open_runs(run="small", goal="heads")
    assert not page.exception
    assert "open_heads" not in keys(page)
    assert "resume_small" in keys(page)


def test_heads_open_for_a_page_that_was_opened_while_the_job_worked(runs):
    runs.mkdir()
    folder = made_run(runs / "small", quality=[1.0, 0.0]).folder
    with only_job(folder):
        write_status(folder, Status(state="answering", total=3, saved=1))
        page = open_runs(run="small", goal="heads")
        assert page.query_params["goal"] == "heads"
    write_status(folder, Status(state="finished", total=3, saved=3))
    assert page.run().query_params == {"run": "small"}


def test_another_run_has_no_goal(runs):
    runs.mkdir()
    for name in ("small", BUNDLED):
        made_run(runs / name, quality=[1.0, 0.0])
    page = open_runs(run="small", goal="heads")
    page = page.button(key=f"details_{BUNDLED}").click().run()
    assert page.query_params == {"run": BUNDLED}
    assert "open_heads" not in keys(page)
    page = page.button(key="new_run").click().run()
    assert page.query_params["view"] == "new"
    assert "goal" not in page.query_params
