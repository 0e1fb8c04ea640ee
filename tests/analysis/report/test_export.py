"""Results leave as one documented table, in which every text and number is kept and what is missing has a reason."""

import errno
import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from analysis.cli import main
from analysis.report import export
from analysis.report.export import Format, about_missing, export_run, jsonl_bytes, metrics_of, results_table
from analysis.runs.files.examples import write_examples
from analysis.runs.library import bundled_folder
from analysis.runs.manifest import answers_path, write_manifest
from analysis.runs.opened import open_run
from analysis.runs.verdicts import correct_verdict, leave_out
from analysis.stats import prr
from rauq.errors import InvalidInput, MissingPackage, RunError
from tests.analysis.report.made_run import made_run

DOCUMENT = Path(__file__).parents[3] / "docs" / "results.md"
ATTACK = '=1+1,"<b>\n\r\u2028\x00é\U0001f600'
QUALITY = (1.0, 0.0, np.nan, 0.25)


@pytest.fixture
def made(tmp_path):
    return made_run(tmp_path / "run", quality=QUALITY, text=ATTACK, references=("a", ATTACK))


def rows_of(table):
    return table.to_pylist()


def strict(line):
    return json.loads(line, parse_constant=lambda found: pytest.fail(f"{found} is not JSON"))


def test_both_files_hold_the_same_rows(made, tmp_path):
    parquet, jsonl = tmp_path / "made.parquet", tmp_path / "made.jsonl"
    export_run(made, parquet, "parquet")
    export_run(made, jsonl, "jsonl")
    table = pq.read_table(parquet)
    assert table.schema.metadata[b"rauq_results"] == b"1"
    assert rows_of(table) == [strict(line) for line in jsonl.read_bytes().decode().split("\n")[:-1]]
    assert jsonl.read_bytes() == jsonl_bytes(made)
    assert pd.read_parquet(parquet)["uncertainty_rauq"].equals(
        pd.read_json(jsonl, lines=True, precise_float=True)["uncertainty_rauq"]
    )


def test_texts_and_numbers_are_those_of_the_run(made):
    rows = rows_of(results_table(made))[: len(QUALITY)]
    for name, of_answers in (("prompt", "prompt"), ("answer", "answer"), ("num_tokens", "num_tokens"), ("id", "id")):
        assert [row[name] for row in rows] == made.answers[of_answers].tolist()
    assert {row["references"][1] for row in rows} == {ATTACK}
    assert ATTACK in rows[0]["answer"]
    for method in made.methods:
        assert [row[f"uncertainty_{method}"] for row in rows] == made.answers[method].tolist()
        assert {row[f"reason_{method}"] for row in rows} == {None}


def test_what_is_not_defined_is_null_with_its_reason(made):
    values = made.answers.assign(rauq=[np.nan, np.inf, 1.0, 2.0], msp=[np.nan, 1.0, 1.0, 1.0])
    reasons = made.reasons.assign(rauq=["too short", "", "", ""])
    rows = rows_of(results_table(replace(made, answers=values, reasons=reasons)))
    assert [row["uncertainty_rauq"] for row in rows] == [None, None, 1.0, 2.0, None]
    why = ["too short", "it is infinite", None, None, "the example has no answer: see error"]
    assert [row["reason_rauq"] for row in rows] == why
    assert rows[0]["reason_msp"] == "no reason was stored"
    assert [(row["quality"], row["quality_reason"]) for row in rows[1:3]] == [(0.0, None), (None, "no reference")]


def test_a_failed_example_is_a_row_in_its_place(made):
    answers, failures = made.answers.assign(number=[0, 2, 3, 4]), made.failures.assign(number=[1])
    rows = rows_of(results_table(replace(made, answers=answers, failures=failures)))
    assert [row["number"] for row in rows] == [0, 1, 2, 3, 4]
    assert [row["error"] for row in rows] == [None, "out of memory", None, None, None]
    assert (rows[1]["id"], rows[1]["group"], rows[1]["answer"], rows[1]["num_tokens"]) == ("id 1", "two", None, None)
    assert [row["uncertainty_rauq"] for row in rows if not row["error"]] == made.answers["rauq"].tolist()


def test_a_corrected_verdict_keeps_the_measured_one(made):
    correct_verdict(made, 1, correct=True)
    row = rows_of(results_table(open_run(made.folder)))[1]
    assert (row["quality"], row["measured_quality"], row["corrected"]) == (1.0, 0.0, True)


def test_an_unclear_answer_has_its_flag_until_it_is_read(tmp_path):
    run = made_run(tmp_path / "run", quality=[1.0, 0.0, 1.0], unclear=(1, 2))
    assert [row["unclear"] for row in rows_of(results_table(run))] == [False, True, True, None]
    assert metrics_of(run)["unclear"] == 2
    leave_out(run, 1)
    correct_verdict(run, 2, correct=False)
    found = open_run(run.folder)
    rows = rows_of(results_table(found))[:3]
    assert [(row["unclear"], row["quality"]) for row in rows] == [(False, 1.0), (False, None), (False, 0.0)]
    assert rows[1]["quality_reason"] == "left out by hand"
    assert "unclear" not in metrics_of(found)


def test_the_documented_columns_are_those_of_the_table(made):
    documented = re.findall(r"^\| `(\w+)` \| ([\w ]+) \|", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)
    types = {"list<item: string>": "list of strings"}
    found = [(field.name, types.get(str(field.type), str(field.type))) for field in results_table(made).schema]
    of_methods = [(name.replace("ID", method), kind) for method in made.reasons for name, kind in documented[-2:]]
    assert found == [*documented[:-2], *of_methods]


def test_metrics_are_those_of_the_answers_with_a_quality(tmp_path):
    run = made_run(tmp_path / "run", quality=[1, 0, np.nan, 0.25, 1, 0, 0.75, 0.5])
    found, uncertainty = metrics_of(run), run.uncertainty("rauq")
    assert (found["answers"], found["failures"], found["quality"]) == (8, 1, pytest.approx(0.5))
    assert found["prr/rauq"] == prr(uncertainty, run.answers["quality"].to_numpy())
    correct, wrong = uncertainty[[0, 4, 6]], uncertainty[[1, 3, 5, 7], None]
    assert found["roc_auc/rauq"] == np.mean(wrong > correct)


def test_metrics_without_a_quality_are_left_out(tmp_path):
    assert metrics_of(made_run(tmp_path / "run", quality=[np.nan, np.nan])) == {"answers": 2, "failures": 1}


def test_an_unfinished_run_gives_what_it_has_and_says_what_is_missing(made, tmp_path, capsys):
    more = tuple(replace(made.examples[0], id=f"more {number}") for number in range(3))
    write_examples(made.folder, (*made.examples, *more))
    write_manifest(made.folder, replace(made.manifest, request=replace(made.manifest.request, count=8)))
    out = tmp_path / "part.jsonl"
    assert main.main(["export", str(made.folder), "--to", "jsonl", "--out", str(out)]) == 0
    printed = capsys.readouterr()
    assert "3 of 8 examples are left out: the run is not finished." in printed.err
    assert printed.out == f"{out}\n"
    assert [row["number"] for row in map(strict, out.read_bytes().decode().split("\n")[:-1])] == [0, 1, 2, 3, 4]


def test_a_run_whose_shards_are_lost_is_refused(made, tmp_path):
    answers_path(made.folder, 0).unlink()
    with pytest.raises(RunError, match=r"has no results yet\. Resume the run"):
        export_run(open_run(made.folder), tmp_path / "out", "parquet")


def test_a_run_that_was_not_begun_is_refused(made, tmp_path, capsys):
    write_manifest(made.folder, replace(made.manifest, answerer=None))
    assert main.main(["export", str(made.folder), "--to", "parquet", "--out", str(tmp_path / "out")]) == 1
    assert "has no answers yet: its model was never loaded. Resume the run." in capsys.readouterr().err


def test_a_run_of_failures_alone_is_a_table(tmp_path):
    rows = rows_of(results_table(made_run(tmp_path / "run", quality=[], failures=2)))
    assert [(row["answer"], row["error"]) for row in rows] == [(None, "out of memory")] * 2


@pytest.mark.parametrize("to", get_args(Format))
def test_what_exists_is_not_replaced(made, to, tmp_path):
    there, dangling = tmp_path / "there.eval", tmp_path / "dangling.eval"
    there.write_text("mine")
    dangling.symlink_to(tmp_path / "nowhere")
    for path in (there, dangling):
        with pytest.raises(InvalidInput, match=r"exists\. Give a new path, or delete it first"):
            export_run(made, path, to)
    assert there.read_text() == "mine"


def test_unknown_formats_and_endings_are_refused(made, tmp_path):
    with pytest.raises(InvalidInput, match=r"Unknown format 'csv'; choose one of parquet, jsonl, inspect, wandb, mlf"):
        export_run(made, tmp_path / "out", "csv")
    with pytest.raises(InvalidInput, match=r"Got out\.log; a log of inspect_ai ends in \.eval or \.json\. Rename it"):
        export_run(made, tmp_path / "out.log", "inspect")


@pytest.mark.parametrize("to", ["inspect", "wandb", "mlflow"])
def test_a_missing_client_is_one_line_that_says_what_to_install(to, made, tmp_path, monkeypatch):
    package = {"inspect": "inspect_ai"}.get(to, to)
    for name in (package, "inspect_ai.log", "mlflow.tracking"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingPackage, match=f"^This format needs {package}: pip install -r requirements-exports.txt$"):
        export_run(made, tmp_path / "out.eval", to)
    assert not (tmp_path / "out.eval").exists()


@pytest.mark.parametrize("to", ["parquet", "jsonl"])
def test_a_place_that_cannot_be_written_is_one_line(made, to, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match=r"cannot be written \((File exists|Not a directory)\)\. Give"):
        export_run(made, tmp_path / "file" / "out", to)


def test_a_full_disk_leaves_no_half_of_a_file(made, tmp_path, monkeypatch):
    def fill(_table, path):
        path.write_bytes(b"PAR1")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(export.pq, "write_table", fill)
    (tmp_path / "out").mkdir()
    with pytest.raises(RunError, match="No space left on device"):
        export_run(made, tmp_path / "out" / "made.parquet", "parquet")
    assert list((tmp_path / "out").iterdir()) == []


def test_the_bundled_run_leaves_whole():
    run = open_run(bundled_folder())
    rows = [strict(line) for line in jsonl_bytes(run).decode().splitlines()]
    assert len(rows) == run.manifest.request.count == 814
    assert about_missing(run) == ""
    assert sum(row["reason_sar_facts"] is not None for row in rows) == 174
    assert metrics_of(run)["prr/rauq"] == prr(run.uncertainty("rauq"), run.answers["quality"].to_numpy())
