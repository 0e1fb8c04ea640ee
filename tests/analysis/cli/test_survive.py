"""The command `survive`: a file without a model, a run, and a page that runs nothing of what it shows."""

import csv

import numpy as np
import pytest

from benchmarks.survival import simulated_answers
from rauq.cli.main import main
from tests.analysis.report.made_run import made_run
from tests.hostile import ATTACK

NUM = 60
COLUMNS = "prompt=question,answer=answer,incorrect=incorrect,group=topic"


@pytest.fixture
def table(tmp_path):
    answers, risk = simulated_answers(np.random.default_rng(3), NUM)
    rows = zip(answers.questions, answers.texts, answers.incorrect.astype(int), answers.groups, risk, strict=True)
    path = tmp_path / "scores.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("question", "answer", "incorrect", "topic", ATTACK), *rows])
    return path


def test_a_column_of_a_file_is_judged_and_written_without_a_model(table, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("analysis.survival.export.write_pictures", lambda *_: "")
    out = tmp_path / "out"
    assert main(["survive", str(table), "--signal", ATTACK, "--columns", COLUMNS, "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "beyond the controls" in said
    assert "Beyond words, length and group, " in said
    page = (out / "index.html").read_text(encoding="utf-8")
    assert "<img" not in page.partition("<body>")[2].partition("<script")[0]
    assert "default-src &#39;none&#39;" in page
    with (out / "survival_1.csv").open(encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    assert rows[-1]["control"] == "beyond the controls"
    assert "\\begin{table}" in (out / "survival_1.tex").read_text(encoding="utf-8")


def test_methods_of_a_run_are_judged_and_planted_ones_on_demand(tmp_path, capsys):
    run = made_run(tmp_path / "made", quality=[float(number % 3 > 0) for number in range(45)])
    assert main(["survive", str(run.folder), "--signal", "rauq", "--planted"]) == 0
    said = capsys.readouterr().out
    assert "minus constant attention" in said
    assert "of 200 random signals survive; at most 10 may." in said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--signal", "nothing", "--columns", COLUMNS], "no column 'nothing'"),
        (["--signal", ATTACK, "--columns", "prompt=question,answer=answer"], "says which answers are incorrect"),
    ],
)
def test_what_cannot_be_judged_says_why(table, options, message, capsys):
    assert main(["survive", str(table), *options]) != 0
    assert message in capsys.readouterr().err


def test_a_folder_of_no_run_and_columns_of_a_run_are_refused(tmp_path, capsys):
    assert main(["survive", str(tmp_path), "--signal", "rauq"]) != 0
    assert "is the folder of no run" in capsys.readouterr().err
    run = made_run(tmp_path / "made", quality=[float(number % 3 > 0) for number in range(45)])
    assert main(["survive", str(run.folder), "--signal", "rauq", "--columns", COLUMNS]) != 0
    assert "--columns is for files" in capsys.readouterr().err
