"""Every page that shows a figure of a run says how many of its answers are unclear, and nothing where none is."""

import pytest
from rich.console import Console

from analysis.cli.score import print_summary
from analysis.report import writing
from analysis.report.results import ReportSettings
from analysis.runs.opened import open_run
from analysis.runs.reference import reference_scores
from analysis.runs.verdicts import correct_verdict, leave_out
from pages.ui.answer_sets.choices import TITLES as SETS
from pages.ui.inspect.reference import Reference, judged_payload
from pages.ui.methods.choices import OWN_SCORES
from pages.ui.methods.choices import TITLES as METHODS
from rauq.scoring.score import score
from tests.answers import random_trace
from tests.pages.reading import open_page
from tests.pages.runs_page import open_runs
from tests.pages.sets import make, said

UNCLEAR = (3, 7, 12)
TOLD = "3 unclear answers are not counted."
BOUNDS = "with all 3 unclear answers taken as correct: "
VIEWS = [("answer_sets", view) for view in SETS] + [
    ("methods", view) for view in METHODS if view != OWN_SCORES
]  # of no run
BESIDE_HEADLINES = {("answer_sets", "heads"), ("answer_sets", "meaning"), ("methods", "ranking"), ("methods", "scores")}


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    root = tmp_path_factory.mktemp("shared")
    make(root, "some", unclear=UNCLEAR)
    make(root, "none")
    return root


def texts(page):
    return f"{said(page)} {' '.join(str(text.value) for text in page.text)}"


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("page", "view"), VIEWS)
def test_every_view_of_a_run_counts_them_and_none_speaks_of_them_without_any(page, view):
    shown = open_page(page, run="some", view=view)
    assert not shown.exception
    assert TOLD in texts(shown)
    assert (BOUNDS in texts(shown)) == ((page, view) in BESIDE_HEADLINES)
    assert "unclear" not in texts(open_page(page, run="none", view=view)).casefold()


@pytest.mark.usefixtures("small")
def test_the_page_of_runs_counts_every_outcome_and_leads_to_the_list():
    page = open_runs(run="some")
    assert "45 answers: 29 correct, 13 incorrect, 3 unclear" in texts(page)
    assert "Read the unclear ones" in [link.proto.label for link in page.get("page_link")]
    assert "45 answers: 30 correct, 15 incorrect" in texts(open_runs(run="none"))


def test_what_a_score_is_compared_with_counts_them(shared):
    trace = random_trace(5, seed=1, num_layers=6, num_heads=4)
    for name, told in (("some", True), ("none", False)):
        scores = reference_scores(open_run(shared / name))
        standing = judged_payload(trace, score(trace), Reference(scores=scores, name=name))["standing"]
        assert (TOLD in standing["how"]) == told
        if told:  # 32 of 45, and 29 of 45
            assert standing["how"].endswith(f"Share correct {BOUNDS}71 %; taken as incorrect: 64 %.")


def test_a_report_counts_them_in_every_caption(shared, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(writing, "write_pictures", lambda figures, _: drawn.extend(figures) or "")
    page = writing.write_report(open_run(shared / "some"), tmp_path, ReportSettings()).page
    html, tables = page.read_text(encoding="utf-8"), tmp_path / "tables"
    own = [path.read_text(encoding="utf-8") for path in tables.glob("*.tex") if path.stem != "published"]
    assert all(TOLD in text for text in (*own, *(figure.caption for figure in drawn)))
    assert html.count(TOLD) == 1 + len(own) + len(drawn)  # the overview says it too
    assert BOUNDS in html
    assert "unclear as correct" in (tables / "methods_prr.csv").read_text(encoding="utf-8").splitlines()[0]


def test_the_command_line_counts_them(shared):
    for name, told in (("some", True), ("none", False)):
        console = Console(record=True, width=200)
        print_summary(console, open_run(shared / name))
        text = console.export_text()
        assert (TOLD in text, BOUNDS in text) == (told, told)
        assert ("45 answers: 29 correct, 13 incorrect, 3 unclear." in text) == told


def test_answers_that_are_read_are_not_told_of(tmp_path):
    run = make(tmp_path / "runs", unclear=UNCLEAR)
    correct_verdict(run, 3, correct=True)
    correct_verdict(run, 7, correct=False)
    leave_out(run, 12)
    console = Console(record=True, width=200)
    print_summary(console, open_run(run.folder))
    text = console.export_text()
    assert "45 answers: 30 correct, 14 incorrect, 1 left out by hand." in text
    assert "not counted" not in text
