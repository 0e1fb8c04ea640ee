"""The results of a run in formats that people keep: one documented table as Parquet or JSONL, and logs of other tools.

`docs/results.md` describes the columns. Logs of inspect_ai, W&B and MLflow are written by their own clients, which are
optional and are not given a network: everything goes to the disk.
"""

import json
import math
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from analysis.quality.judgement import Thresholds
from analysis.runs.opened import Run
from analysis.stats import METRICS, prr, roc_auc
from rauq.errors import InvalidInput, MissingPackage, RunError

Format = Literal["parquet", "jsonl", "inspect", "wandb", "mlflow"]

COLUMNS = pa.schema(
    [
        ("run", pa.string()),
        ("model", pa.string()),
        ("revision", pa.string()),
        ("data", pa.string()),
        ("number", pa.int32()),
        ("id", pa.string()),
        ("group", pa.string()),
        ("prompt", pa.string()),
        ("references", pa.list_(pa.string())),
        ("answer", pa.string()),
        ("error", pa.string()),
        ("num_tokens", pa.int32()),
        ("stop_reason", pa.string()),
        ("quality", pa.float64()),
        ("quality_reason", pa.string()),
        ("unclear", pa.bool_()),
        ("measured_quality", pa.float64()),
        ("corrected", pa.bool_()),
    ]
)
"""The columns that every table of results has; `uncertainty_ID` and `reason_ID` of each method follow."""
UNCERTAINTY, REASON = "uncertainty_", "reason_"

_SCHEMA = 1  # of the table: raised when a column changes its meaning
_METADATA = ("id", "group", "unclear", "corrected", "measured_quality", "num_tokens")  # of a sample of inspect_ai
_FAILED = "the example has no answer: see error"
_INSPECT_ENDINGS = (".eval", ".json")
_PROJECT, _RESULTS = "rauq", "results.parquet"


def export_run(run: Run, path: Path, to: Format) -> None:
    """Write the results of a run, failed examples included, into a new file or folder.

    W&B and MLflow get a folder, which may be one of an earlier export: the run is added.

    Raises:
        InvalidInput: an unknown format, or a path that exists or has the wrong ending.
        MissingPackage: the client of the format is not installed.
        RunError: the run has no results yet, or the path cannot be written.
    """
    if to not in _WRITERS:
        message = f"Unknown format {to!r}; choose one of {', '.join(_WRITERS)} or zip."
        raise InvalidInput(message)
    _check_path(path, to)
    table = results_table(run)
    try:
        _WRITERS[to](run, table, path)
    except OSError as error:
        message = f"{path} cannot be written ({error.strerror or error}). Give another place, or free disk space."
        raise RunError(message) from error


def about_missing(run: Run) -> str:
    """How many examples have no result yet, as a sentence; empty where all have one."""
    missing = run.manifest.request.count - len(run.answers) - len(run.failures)
    if not missing:
        return ""
    return f"{missing:,} of {run.manifest.request.count:,} examples are left out: the run is not finished."


def results_table(run: Run) -> pa.Table:
    """One row for each example that was answered or failed, in the order of the data set.

    Texts are as the run has them. What is not defined is null, with its reason in the column beside it.

    Raises:
        RunError: there is no row.
    """
    numbers = [*run.answers["number"], *run.failures["number"]]
    if not numbers:
        message = f"{run.folder} has no results yet. Resume the run."
        raise RunError(message)
    rows = {**_of_run(run, len(numbers)), **_of_examples(run, numbers), **_of_answers(run)}
    rows |= {name: values for method in run.reasons for name, values in _of_method(run, method).items()}
    methods = [(name, pa.float64() if name.startswith(UNCERTAINTY) else pa.string()) for name in rows]
    fields = [*COLUMNS, *(pa.field(*method) for method in methods if method[0] not in COLUMNS.names)]
    schema = pa.schema(fields, metadata={"rauq_results": str(_SCHEMA)})
    table = pa.table({name: pa.array(rows[name], schema.field(name).type) for name in schema.names}, schema=schema)
    return table.take(np.argsort(numbers, kind="stable"))


def metrics_of(run: Run) -> dict[str, float]:
    """The run in numbers: answers, failures, mean quality, and PRR and ROC-AUC of each method, where they are defined.

    Names are answers, failures, unclear (if any answer is), quality, prr/ID and roc_auc/ID; correct is a quality above
    0.5 for ROC-AUC.
    """
    quality = run.answers["quality"].to_numpy(dtype=float)
    known = quality[np.isfinite(quality)]
    found = {"answers": float(len(run.answers)), "failures": float(len(run.failures))}
    found |= {"unclear": float(count)} if (count := run.answers["unclear"].sum()) else {}
    found["quality"] = float(known.mean()) if known.size else math.nan
    correct = np.where(np.isfinite(quality), quality > Thresholds().roc, np.nan)
    for method in run.reasons if known.size else ():
        uncertainty = run.uncertainty(method)
        if np.any(np.isfinite(uncertainty) & np.isfinite(quality)):
            values = (prr(uncertainty, quality), roc_auc(uncertainty, correct))
            found |= {f"{metric}/{method}": value for metric, value in zip(METRICS, values, strict=True)}
    return {name: value for name, value in found.items() if math.isfinite(value)}


def parquet_bytes(run: Run) -> bytes:
    """The table of results as a Parquet file; errors as in `results_table`."""
    sink = pa.BufferOutputStream()
    pq.write_table(results_table(run), sink)
    return sink.getvalue().to_pybytes()


def jsonl_bytes(run: Run) -> bytes:
    """The table of results as JSON, an object in a line; errors as in `results_table`."""
    return "".join(_lines(results_table(run))).encode()


def _of_run(run: Run, count: int) -> dict[str, list[str]]:
    answerer, request = run.answerer, run.manifest.request
    about = {"run": run.manifest.name, "model": answerer.name, "revision": answerer.revision, "data": request.data}
    return {name: [value] * count for name, value in about.items()}


def _of_examples(run: Run, numbers: list[int]) -> dict[str, list[Any]]:
    asked = [run.examples[number] for number in numbers]
    found = {name: [getattr(example, name) for example in asked] for name in ("id", "group", "prompt", "references")}
    return {"number": numbers, **found}


def _of_answers(run: Run) -> dict[str, list[Any]]:
    """What only answers have, null for failures, and the errors of these."""
    answers, failures = run.answers, len(run.failures)
    plain = ("answer", "num_tokens", "stop_reason", "unclear", "corrected")
    found = {name: [*answers[name], *[None] * failures] for name in plain}
    quality, reasons = _with_reasons(answers["quality"], answers["quality_reason"], failures=failures)
    measured, _ = _with_reasons(answers["measured_quality"], answers["quality_reason"], failures=failures)
    errors = [*[None] * len(answers), *run.failures["error"]]
    return {**found, "error": errors, "quality": quality, "quality_reason": reasons, "measured_quality": measured}


def _of_method(run: Run, method: str) -> dict[str, list[Any]]:
    values, reasons = _with_reasons(run.answers[method], run.reasons[method], failures=len(run.failures))
    return {f"{UNCERTAINTY}{method}": values, f"{REASON}{method}": reasons}


def _with_reasons(values: pd.Series, reasons: pd.Series, *, failures: int) -> tuple[list[Any], list[Any]]:
    """Values (A + failures,), None where one is not finite, and the reasons of those."""
    given = [(value if math.isfinite(value) else None) for value in values]
    why = [
        None if there is not None else reason or ("it is infinite" if math.isinf(value) else "no reason was stored")
        for there, value, reason in zip(given, values, reasons, strict=True)
    ]
    return [*given, *[None] * failures], [*why, *[_FAILED] * failures]


def _lines(table: pa.Table) -> Iterator[str]:
    for row in _rows(table):
        yield f"{json.dumps(row, ensure_ascii=False, allow_nan=False)}\n"


def _rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    for part in table.to_batches(max_chunksize=1000):
        yield from part.to_pylist()


def _check_path(path: Path, to: Format) -> None:
    if to == "inspect" and path.suffix not in _INSPECT_ENDINGS:
        message = f"Got {path.name}; a log of inspect_ai ends in {' or '.join(_INSPECT_ENDINGS)}. Rename it."
        raise InvalidInput(message)
    own = {"wandb": path / "wandb", "mlflow": path / "mlflow.db"}.get(to)
    if os.path.lexists(path) and not (own is not None and own.exists()):
        message = f"{path} exists. Give a new path, or delete it first."
        raise InvalidInput(message)


def _client(name: str) -> Any:  # noqa: ANN401 - a module, which may be missing
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        package = (error.name or name).partition(".")[0]
        message = f"This format needs {package}: pip install -r requirements-exports.txt"
        raise MissingPackage(message) from error


def _whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a new file, which is there under its name once it is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".export-") as folder:
        part = Path(folder) / path.name
        write(part)
        part.replace(path)


def _write_parquet(_run: Run, table: pa.Table, path: Path) -> None:
    _whole(path, lambda part: pq.write_table(table, part))


def _write_jsonl(_run: Run, table: pa.Table, path: Path) -> None:
    def write(part: Path) -> None:
        with part.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(_lines(table))

    _whole(path, write)


def _write_inspect(run: Run, table: pa.Table, path: Path) -> None:
    log = _client("inspect_ai.log")
    metrics, scored = metrics_of(run), ("quality", *run.reasons)
    found = log.EvalLog(
        status="started" if about_missing(run) else "success",
        eval=log.EvalSpec(
            created=run.manifest.created,
            task=run.manifest.name,
            dataset=log.EvalDataset(name=run.manifest.request.data, samples=run.manifest.request.count),
            model=run.answerer.name,
            config=log.EvalConfig(),
            packages=dict(run.manifest.packages),
            metadata=_facts(run),
        ),
        results=log.EvalResults(
            total_samples=run.manifest.request.count,
            completed_samples=len(run.answers),
            scores=[_inspect_score(log, run, name, metrics) for name in scored],
        ),
        samples=[_inspect_sample(log, run, row) for row in _rows(table)],
    )
    _whole(path, lambda part: log.write_eval_log(found, part))


def _inspect_score(log: Any, run: Run, name: str, metrics: Mapping[str, float]) -> Any:  # noqa: ANN401 - of inspect_ai
    defined = int(np.isfinite(run.answers[name].to_numpy(dtype=float)).sum())
    own = {"mean": "quality"} if name == "quality" else {metric: f"{metric}/{name}" for metric in METRICS}
    return log.EvalScore(
        name=name,
        scorer=name,
        scored_samples=defined,
        unscored_samples=len(run.answers) - defined,
        metrics={
            metric: log.EvalMetric(name=metric, value=metrics[key]) for metric, key in own.items() if key in metrics
        },
    )


def _inspect_sample(log: Any, run: Run, row: Mapping[str, Any]) -> Any:  # noqa: ANN401 - of inspect_ai
    model, score = _client("inspect_ai.model"), _client("inspect_ai.scorer").Score
    values = {"quality": (row["quality"], row["quality_reason"])}
    values |= {name: (row[f"{UNCERTAINTY}{name}"], row[f"{REASON}{name}"]) for name in run.reasons}
    failed, answer = row["error"] is not None, row["answer"] or ""
    stop = "max_tokens" if row["stop_reason"] == "length" else "stop"
    asked, answered = model.ChatMessageUser(content=row["prompt"]), model.ChatMessageAssistant(content=answer)
    return log.EvalSample(
        id=row["number"],
        epoch=1,
        input=row["prompt"],
        target=row["references"],
        messages=[asked] if failed else [asked, answered],
        output=model.ModelOutput()
        if failed
        else model.ModelOutput.from_content(row["model"], answer, stop_reason=stop),
        scores=None
        if failed
        else {
            name: score.unscored(explanation=reason) if value is None else score(value=value)
            for name, (value, reason) in values.items()
        },
        error=log.EvalError(message=row["error"], traceback="", traceback_ansi="") if failed else None,
        metadata={name: row[name] for name in _METADATA},
    )


def _write_wandb(run: Run, table: pa.Table, path: Path) -> None:
    wandb = _client("wandb")
    path.mkdir(parents=True, exist_ok=True)
    quiet = wandb.Settings(  # nothing of the machine is logged
        silent=True, console="off", disable_git=True, x_disable_meta=True, x_disable_stats=True
    )
    try:
        with wandb.init(
            mode="offline",
            dir=path,
            project=_PROJECT,
            name=run.manifest.name,
            config=_facts(run),
            reinit="create_new",
            settings=quiet,
        ) as logged:
            rows = [list(row.values()) for row in _rows(table)]
            logged.log({"results": wandb.Table(columns=table.column_names, data=rows)})  # it keeps the first 10,000
            pq.write_table(table, results := Path(logged.dir) / _RESULTS)
            logged.save(str(results), base_path=logged.dir, policy="end")
            logged.summary.update(metrics_of(run))
    except wandb.Error as error:
        message = f"W&B cannot write to {path} ({error}). Give another place."
        raise RunError(message) from error


def _write_mlflow(run: Run, table: pa.Table, path: Path) -> None:
    client_class = _client("mlflow.tracking").MlflowClient
    failures = (_client("mlflow.exceptions").MlflowException, _client("sqlalchemy.exc").SQLAlchemyError)
    path.mkdir(parents=True, exist_ok=True)
    store = f"sqlite:///{path.resolve() / 'mlflow.db'}"
    try:
        client = client_class(tracking_uri=store, registry_uri=store)
        known = client.get_experiment_by_name(_PROJECT)
        place = (path.resolve() / "artifacts").as_uri()
        experiment = known.experiment_id if known else client.create_experiment(_PROJECT, artifact_location=place)
        logged = client.create_run(experiment, run_name=run.manifest.name).info.run_id
        for name, value in _facts(run).items():
            client.log_param(logged, name, value)
        for name, number in metrics_of(run).items():
            client.log_metric(logged, name, number)
        with tempfile.TemporaryDirectory() as folder:
            pq.write_table(table, results := Path(folder) / _RESULTS)
            client.log_artifact(logged, str(results))
        client.set_terminated(logged)
    except failures as error:
        message = f"MLflow cannot write to {path} ({error}). Give another place."
        raise RunError(message) from error


def _facts(run: Run) -> dict[str, str]:
    """What was run, for the logs of other tools."""
    answerer, request = run.answerer, run.manifest.request
    return {
        "model": answerer.name,
        "revision": answerer.revision,
        "kind": answerer.kind,
        "dtype": answerer.dtype,
        "quantisation": answerer.quantisation,
        "adapter": answerer.adapter,
        "engine": answerer.engine,
        "data": request.data,
        "data_sha256": request.data_sha256,
        "quality": request.quality,
        "examples": str(request.count),
        "missing": about_missing(run),
    }


_WRITERS: Mapping[str, Callable[[Run, pa.Table, Path], None]] = MappingProxyType(
    {
        "parquet": _write_parquet,
        "jsonl": _write_jsonl,
        "inspect": _write_inspect,
        "wandb": _write_wandb,
        "mlflow": _write_mlflow,
    }
)
