"""A run with methods unknown to this version opens; their values are kept, named, and never ranked."""

import csv

import numpy as np
import pytest
from rich.console import Console

from analysis.cli.score import print_summary
from analysis.report import writing
from analysis.report.results import ReportSettings
from analysis.report.writing import write_report
from analysis.runs.archive import export_zip, import_zip
from analysis.runs.library import list_runs
from analysis.runs.manifest import answers_path
from analysis.runs.methods import about_unknown_methods
from analysis.runs.opened import open_run
from analysis.runs.timings import costs
from analysis.runs.work import work
from rauq.errors import RunError
from tests.analysis.report.made_run import made_run, rename_methods

NOTE = "Methods unknown to this version, kept in the run's table but not ranked: gone_msp."
ALL_GONE = {name: f"gone_{name}" for name in ("rauq", "msp", "perplexity", "mean_token_entropy")}
QUALITY = [1.0, 0.0, 1.0, 0.5, 0.0] * 4


@pytest.fixture
def before(tmp_path):
    (tmp_path / "runs").mkdir()
    return made_run(tmp_path / "runs" / "run", quality=QUALITY)


@pytest.fixture
def old(before):
    return rename_methods(before.folder, msp="gone_msp")


def printed(run):
    console = Console(width=200)
    with console.capture() as capture:
        print_summary(console, run)
    return capture.get()


def test_a_run_with_an_unknown_method_opens_and_keeps_its_column(before, old):
    assert old.methods == ("rauq", "perplexity", "mean_token_entropy")
    assert old.manifest.request.unknown_methods == ("gone_msp",)
    np.testing.assert_array_equal(old.answers["gone_msp"], before.answers["msp"])
    assert list(old.reasons) == ["rauq", "gone_msp", "perplexity", "mean_token_entropy"]
    assert "msp" not in old.answers
    for method in old.methods:  # no column takes the place of another
        np.testing.assert_array_equal(old.answers[method], before.answers[method])


def test_it_is_listed_without_a_fault(old, tmp_path):
    listed = next(run for run in list_runs(tmp_path / "runs") if run.name == "run")
    assert (listed.fault, listed.manifest) == ("", old.manifest)


def test_the_command_line_says_it_and_ranks_the_others_alone(before, old):
    assert "does not have" not in printed(before)
    assert "MSP" in printed(before).partition("Ranking by")[2]
    said = printed(old)
    assert NOTE in said
    ranking = said.partition("Ranking by")[2].partition(NOTE)[0]
    assert "RAUQ" in ranking
    assert "MSP" not in ranking
    assert "gone" not in ranking


def test_a_run_of_unknown_methods_alone_is_summed_up_without_a_ranking(before):
    said = printed(rename_methods(before.folder, **ALL_GONE))
    assert "not ranked: gone_rauq, gone_msp, gone_perplexity, gone_mean_token_entropy." in said
    assert "Answers" in said
    assert "Ranking by" not in said


def test_a_report_keeps_the_column_and_says_it(old, tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "write_pictures", lambda *_: "")
    page = write_report(old, tmp_path / "report", ReportSettings()).page
    assert NOTE.partition("run")[0] in page.read_text(encoding="utf-8")  # what follows has an apostrophe
    with (tmp_path / "report" / "tables" / "answers.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["gone_msp"]) for row in rows] == pytest.approx(old.answers["gone_msp"])
    assert {cost.method for cost in costs(old)} == set(old.methods)


def test_a_report_of_unknown_methods_alone_says_why_there_is_none(before, tmp_path):
    with pytest.raises(RunError, match=r"Nothing to compare.*gone_rauq"):
        write_report(rename_methods(before.folder, **ALL_GONE), tmp_path / "report", ReportSettings())


def test_it_is_exported_and_imported(finished, tmp_path):
    old = rename_methods(finished, degmat_jaccard="gone_degmat")
    with export_zip(finished) as file:
        again = open_run(import_zip(file, tmp_path / "copies", "copy"))
    np.testing.assert_array_equal(again.answers["gone_degmat"], old.answers["gone_degmat"])


def test_what_is_answered_stays_and_the_rest_is_not_answered_without_the_method(finished):
    rename_methods(finished, msp="gone_msp")
    assert work(finished).state == "finished"  # nothing is left to do
    answers_path(finished, 2).unlink()
    with pytest.raises(RunError, match="uses gone_msp, unknown to this version"):
        work(finished)
    assert len(open_run(finished).answers) + len(open_run(finished).failures) == 13 - 4


@pytest.mark.parametrize("name", ["quality", "prompt", "corrected", "number"])
def test_a_method_by_the_name_of_another_column_is_refused(name, before):
    with pytest.raises(RunError, match=f"damaged .*called {name}"):
        rename_methods(before.folder, msp=name)


@pytest.mark.parametrize("name", ["", "MSP", "a b", "<b>", "x" * 65, "../x", "m\nm"])
def test_what_is_no_id_of_a_method_is_refused(name, before):
    with pytest.raises(RunError, match="damaged"):
        rename_methods(before.folder, msp=name)


def test_nothing_is_said_where_all_methods_are_known(before):
    assert about_unknown_methods(before.manifest.request) == ""
