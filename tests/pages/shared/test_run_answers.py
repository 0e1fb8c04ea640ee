"""An answer of a run in Inspect and in Compare: found by its name."""

import pytest

import rauq
from analysis.runs import library
from analysis.runs.opened import open_run
from analysis.runs.traces import trace
from pages.ui.shared import answers
from tests.pages.comparing import open_compare, strips
from tests.pages.reading import interpreted, unfold, views
from tests.pages.sets import make
from tests.traces import make_trace

pytestmark = pytest.mark.usefixtures("no_model", "small")


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    make(root)
    make(root, "other", text="b")
    return root


def test_a_link_opens_an_answer_of_a_run_without_a_model(open_app, small):
    page = open_app(run="small", number="4", layer="3")
    assert not page.exception
    drawn, score = views(page), rauq.score(trace(open_run(small / "small"), 4))
    assert f"Uncertainty {score.uncertainty:.2f}" in drawn["uncertainty"]
    assert "Uncertainty" not in drawn["detail"]
    assert "Answer 4 of the run small; quality 1.00; fact token: 6." in drawn["source"]
    assert drawn["selection"]["layer"] == 3
    assert page.query_params == {"run": "small", "number": "4", "layer": "3"}


@pytest.mark.parametrize(
    ("run", "number"), [("small", "45"), ("small", "x"), ("small", ""), ("gone", "0"), ("../small", "0"), ("", "0")]
)
def test_a_missing_answer_is_reported(open_app, run, number):
    page = open_app(run=run, number=number, view="best")
    assert not page.exception
    assert "was not found in a run" in interpreted(page)
    assert page.query_params == {}


def test_a_broken_run_is_an_error_and_the_form_stays(open_app, monkeypatch, tmp_path):
    monkeypatch.setenv(library.FOLDER_VARIABLE, str(tmp_path / "broken"))
    make(tmp_path / "broken")
    (tmp_path / "broken" / "small" / "examples.parquet").write_bytes(b"")
    page = open_app(run="small", number="0")
    assert not page.exception
    assert page.error[0].value == "This run cannot be used"
    assert page.button(key="run").label == "Generate"


def test_the_way_back_keeps_the_view_and_leaves_what_was_selected():
    query = {"run": "small", "number": "4", "view": "best", "layer": "3", "head": "1", "token": "2", "alpha": "0.4"}
    assert answers.way_back(query) == {"run": "small", "view": "best", "layer": "3", "alpha": "0.4"}


def test_another_answer_takes_its_place_in_the_url(open_app):
    page = open_app(run="small", number="4", view="best", tokens="fact")
    content = make_trace().to_bytes()
    page = unfold(page, "open_trace")
    page.file_uploader(key="_upload").upload("trace.safetensors", content).run()
    assert set(page.query_params) == {"kept"}


def test_compare_finds_an_answer_of_a_run(small):
    page = open_compare(a="run:small:4", b="run:small:7")
    assert not page.exception
    run = open_run(small / "small")
    scores = [rauq.score(trace(run, row)).uncertainty for row in (4, 7)]
    assert [side["uncertainty"] for side in strips(page)["sides"]] == [f"{score:.2f}" for score in scores]
