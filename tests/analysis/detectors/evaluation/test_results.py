"""The record beside a run: read as it was written, refused where it is damaged, and told apart when the run changed."""

import json
from dataclasses import replace

import numpy as np
import pytest

from analysis.detectors.evaluation.evaluate import evaluate
from analysis.detectors.evaluation.results import LARGEST, about_changes, read_evaluation, write_evaluation
from analysis.runs.manifest import SUPERVISED, foreign
from rauq.errors import RunError
from tests.analysis.detectors.evaluation.made_up import Linear, asked_run

QUALITY = [float(place % 3 > 0) for place in range(60)]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return asked_run(tmp_path_factory.mktemp("results") / "run", quality=QUALITY)


@pytest.fixture(scope="module")
def found(run):
    return evaluate([run], [Linear()])


@pytest.fixture
def record(run, found):
    path = run.folder / SUPERVISED
    write_evaluation(path, found)
    yield path
    path.unlink()


def test_the_record_is_read_as_it_was_written(run, found, record):
    assert repr(read_evaluation(run.folder)) == repr(found)
    assert foreign(run.folder) == []
    assert record.stat().st_size < 100_000


@pytest.mark.parametrize("crc32", [0, 2**32 - 1])
def test_any_checksum_of_the_qualities_is_read(run, found, crc32):
    own = replace(found, runs=(replace(found.runs[0], quality_crc32=crc32),))
    write_evaluation(run.folder / SUPERVISED, own)
    assert read_evaluation(run.folder).runs == own.runs
    (run.folder / SUPERVISED).unlink()


def test_without_a_record_there_is_none(run):
    assert read_evaluation(run.folder) is None


def first_row(evaluation):
    return evaluation["tables"][0]["rows"][0]


def drop_cell(evaluation):
    first_row(evaluation)["estimates"].pop()


def drop_differences(evaluation):
    first_row(evaluation)["minus_rauq"] = []


DAMAGES = {
    "another schema": lambda whole: whole.update(schema=99),
    "no evaluation": lambda whole: whole.pop("evaluation"),
    "unknown field": lambda whole: whole["evaluation"].update(more=1),
    "text for a number": lambda whole: first_row(whole["evaluation"])["estimates"][0].update(value="0.5"),
    "number with a reason": lambda whole: first_row(whole["evaluation"])["estimates"][0].update(reason="no"),
    "undefined without a reason": lambda whole: first_row(whole["evaluation"])["estimates"][0].update(value=np.nan),
    "infinite": lambda whole: first_row(whole["evaluation"])["estimates"][0].update(value=np.inf),
    "negative count": lambda whole: first_row(whole["evaluation"])["estimates"][0].update(n=-1),
    "missing cell": lambda whole: drop_cell(whole["evaluation"]),
    "missing differences": lambda whole: drop_differences(whole["evaluation"]),
    "no columns": lambda whole: whole["evaluation"]["tables"][0].update(columns=[]),
    "too many tables": lambda whole: whole["evaluation"].update(tables=whole["evaluation"]["tables"] * 20),
    "hostile id": lambda whole: first_row(whole["evaluation"]).update(id="<img src=x>"),
    "long text": lambda whole: whole["evaluation"].update(model="x" * 2_000),
    "another split": lambda whole: whole["evaluation"]["tables"][0].update(split="none"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_record_is_refused(damage, run, record):
    whole = json.loads(record.read_text())
    DAMAGES[damage](whole)
    record.write_text(json.dumps(whole))
    with pytest.raises(RunError, match="Make it again: python -m analysis supervised"):
        read_evaluation(run.folder)


@pytest.mark.parametrize(
    "text", ["", "[]", "{", "[" * 100_000, "null", '{"schema": 1, "evaluation": 3}', " " * (LARGEST + 1)]
)
def test_other_files_are_refused(text, run, record):
    record.write_text(text)
    with pytest.raises(RunError, match="damaged"):
        read_evaluation(run.folder)


def test_changes_of_the_run_are_told(run, found):
    assert about_changes(found, run) == ""
    changed = replace(run, answers=run.answers.assign(quality=1.0))
    assert "have changed since" in about_changes(found, changed)
    other = replace(run, manifest=replace(run.manifest, created="2031-01-01"))
    assert "of another run" in about_changes(found, other)
