"""Logs for other tools are read back by their own clients, which `make test-exports` installs apart."""

import json
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from inspect_ai.log import read_eval_log
from mlflow.tracking import MlflowClient
from wandb.proto import wandb_internal_pb2

from analysis.report.export import export_run, metrics_of, results_table
from rauq.errors import RunError
from tests.analysis.report.made_run import made_run

pytestmark = pytest.mark.filterwarnings("default")  # what the clients warn of is theirs
TEXT = '=1+1,"<b>\n\u2028é\U0001f600'
QUALITY = (1.0, 0.0, np.nan, 0.25, 1.0, 0.0, 0.75, 0.5)
BLOCK = 2**15


@pytest.fixture(autouse=True)
def apart(tmp_path, monkeypatch):
    """Everything that a client writes beside the log goes into a folder of the test."""
    monkeypatch.setenv("WANDB_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def made(tmp_path):
    run = made_run(tmp_path / "run", quality=QUALITY, text=TEXT, references=("a", TEXT))
    values = run.answers.assign(msp=[np.nan, *run.answers["msp"][1:]])
    return replace(run, answers=values, reasons=run.reasons.assign(msp=["too short", *[""] * 7]))


def rows_of(run):
    return results_table(run).to_pylist()


@pytest.mark.parametrize("ending", [".eval", ".json"])
def test_inspect_reads_its_log(ending, made, tmp_path):
    export_run(made, tmp_path / f"log{ending}", "inspect")
    log = read_eval_log(tmp_path / f"log{ending}")
    assert (log.status, log.eval.model, log.eval.dataset.samples) == ("success", TEXT, 9)
    for sample, row in zip(log.samples, rows_of(made), strict=True):
        assert (sample.id, sample.input, sample.target) == (row["number"], row["prompt"], row["references"])
        if row["error"]:
            assert (sample.error.message, sample.scores) == (row["error"], None)
            continue
        assert sample.output.completion == row["answer"]
        for name in ("quality", *made.reasons):
            column = "quality" if name == "quality" else f"uncertainty_{name}"
            reason = "quality_reason" if name == "quality" else f"reason_{name}"
            np.testing.assert_equal(sample.scores[name].value, np.nan if row[column] is None else row[column])
            assert sample.scores[name].explanation == row[reason]
    found = {f"{metric.name}/{one.name}": metric.value for one in log.results.scores for metric in one.metrics.values()}
    metrics = metrics_of(made)
    assert found.pop("mean/quality") == metrics["quality"]
    assert found == {name: value for name, value in metrics.items() if "/" in name}
    assert {one.name: one.unscored_samples for one in log.results.scores}["msp"] == 1


def test_an_unfinished_run_is_no_success_for_inspect(made, tmp_path):
    asked = replace(made.manifest.request, count=20)
    export_run(replace(made, manifest=replace(made.manifest, request=asked)), tmp_path / "log.eval", "inspect")
    assert read_eval_log(tmp_path / "log.eval").status == "started"


def test_mlflow_reads_its_store_to_which_a_run_was_added(made, tmp_path):
    for name in ("first", "second"):
        export_run(replace(made, manifest=replace(made.manifest, name=name)), tmp_path / "out", "mlflow")
    store = f"sqlite:///{tmp_path / 'out' / 'mlflow.db'}"
    client = MlflowClient(store, store)
    found = client.search_runs([client.get_experiment_by_name("rauq").experiment_id])
    assert {run.info.run_name for run in found} == {"first", "second"}
    for run in found:
        assert (run.info.status, run.data.metrics, run.data.params["model"]) == ("FINISHED", metrics_of(made), TEXT)
        table = pd.read_parquet(client.download_artifacts(run.info.run_id, "results.parquet"))
        assert table["uncertainty_rauq"].tolist()[:8] == made.answers["rauq"].tolist()


def test_a_damaged_store_of_mlflow_is_one_line(made, tmp_path):
    (tmp_path / "mlflow.db").write_text("no database")
    with pytest.raises(RunError, match="MLflow cannot write to"):
        export_run(made, tmp_path, "mlflow")


def test_wandb_reads_its_offline_run(made, tmp_path):
    export_run(made, tmp_path / "out", "wandb")
    (folder,) = (tmp_path / "out" / "wandb").glob("offline-run-*")
    (log,) = folder.glob("*.wandb")
    records = [*records_of(log.read_bytes())]
    summary = {
        item.key: json.loads(item.value_json)
        for one in records
        if one.HasField("summary")
        for item in one.summary.update
    }
    assert metrics_of(made).items() <= summary.items()
    (run,) = (one.run for one in records if one.HasField("run"))
    assert (run.project, run.display_name) == ("rauq", made.manifest.name)
    assert {item.key: json.loads(item.value_json) for item in run.config.update}["model"] == TEXT
    (table,) = (folder / "files").glob("media/table/results*.json")
    read = json.loads(table.read_text(encoding="utf-8"))
    assert [dict(zip(read["columns"], row, strict=True)) for row in read["data"]] == rows_of(made)
    saved = {file.path for one in records if one.HasField("files") for file in one.files.files}
    assert "results.parquet" in saved
    assert pd.read_parquet(folder / "files" / "results.parquet")["answer"].tolist()[:8] == [*made.answers["answer"]]


def test_a_folder_that_cannot_be_made_is_one_line(made, tmp_path):
    (tmp_path / "file").touch()
    for to in ("wandb", "mlflow"):
        with pytest.raises(RunError, match=r"cannot be written \(Not a directory\)"):
            export_run(made, tmp_path / "file" / "out", to)


def records_of(content):
    """The records of W&B's log: after 7 bytes, blocks of parts with checksum, length and kind (1 whole, 4 last)."""
    place, held = 7, b""
    while place + 7 <= len(content):
        if BLOCK - place % BLOCK < 7:
            place += BLOCK - place % BLOCK
            continue
        _, length, kind = struct.unpack_from("<IHB", content, place)
        held += content[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):
            yield wandb_internal_pb2.Record.FromString(held)
            held = b""


def test_no_client_leaves_a_file_elsewhere(made, tmp_path):
    before = {*tmp_path.iterdir()}
    for to in ("inspect", "mlflow", "wandb"):
        export_run(made, tmp_path / f"{to}.eval", to)
    data = {tmp_path / "data"}  # W&B stages tables there until they are sent
    assert {*Path.cwd().iterdir()} - before - data == {tmp_path / f"{to}.eval" for to in ("inspect", "mlflow", "wandb")}
