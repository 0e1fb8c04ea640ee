"""A run read back: which of its shards are whole, and their answers as one table."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from safetensors import SafetensorError, safe_open

from analysis.datasets.example import Example
from analysis.runs.corrections import Correction, fits, read_corrections
from analysis.runs.create import read_examples
from analysis.runs.files import check_bytes
from analysis.runs.manifest import MANIFEST, Answerer, Manifest, read_manifest
from analysis.runs.shard import ALIGNMENTS, LIGHT, NUM_BANDS, OFFSETS, answers_path, read_columns, traces_path
from rauq.errors import RunError
from rauq.scoring.settings import Settings, window

UNREADABLE = (OSError, pa.ArrowException, SafetensorError, ValueError, KeyError)


@dataclass(frozen=True)
class Shard:
    """A shard that is whole: its number, its row in the run's table, and how many of its answers have a trace."""

    number: int
    start: int
    size: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Run:
    """The answers of a run, A of them, in the order of its data set.

    `answers` has a row for each answered example, `failures` one for each that failed; the columns are those of a
    shard and of the examples, and one of each method that was asked for, by its id, whether this version has it or
    not. `quality` is 1 or 0 where the user `corrected` the verdict, and `measured_quality` is what the measure says.
    `reasons` (A x methods asked for) say why one is nan, "" where it is not. `shards` are those that are whole, and
    `faults` say what is wrong with others. `outdated_corrections`: how many are of answers that are no longer there.
    """

    folder: Path
    manifest: Manifest
    answerer: Answerer
    examples: tuple[Example, ...]
    answers: pd.DataFrame
    reasons: pd.DataFrame
    failures: pd.DataFrame
    shards: tuple[Shard, ...]
    faults: tuple[str, ...]
    outdated_corrections: int = 0

    @property
    def methods(self) -> tuple[str, ...]:
        """The ids of the methods whose uncertainties were stored with the answers, as far as this version has them."""
        return self.manifest.request.known_methods

    @property
    def stored_layers(self) -> tuple[int, ...]:
        """The layers whose weights are kept token by token."""
        return layers_to_store(self.manifest, self.answerer)

    def uncertainty(self, method: str) -> np.ndarray:
        """What a method gave of each answer (A,); nan where the run was not asked for it."""
        return self.answers.get(method, pd.Series(np.nan, self.answers.index)).to_numpy(dtype=float)

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each answer (A,), thinking included."""
        return self.answers["num_tokens"].to_numpy(dtype=np.int64)

    @property
    def part_starts(self) -> np.ndarray:
        """The first token after the thinking of each answer (A,), 0 without thinking: where its answer part begins."""
        return self.answers["thinking_stop"].to_numpy(dtype=np.int64)


def layers_to_store(manifest: Manifest, answerer: Answerer) -> tuple[int, ...]:
    """The layers whose weights a run keeps token by token: the paper's window, or all."""
    settings = Settings(layers=manifest.request.stored_layers)
    return window(settings, captured=answerer.layers, num_layers=answerer.num_layers)


def open_run(folder: Path) -> Run:
    """Read what a run has so far; shards that are missing or broken are left out, and said.

    Raises:
        RunError: the folder is no run, its manifest, examples or corrected verdicts are damaged, or no model was
            loaded for it yet.
    """
    manifest = read_manifest(folder)
    if manifest.answerer is None:
        message = f"{folder} has no answers yet: its model was never loaded. Resume the run."
        raise RunError(message)
    examples = read_examples(folder)
    if len(examples) != manifest.request.count:
        message = (
            f"{folder} has {len(examples)} examples, not {manifest.request.count}. Restore them from a copy of the run."
        )
        raise RunError(message)
    tables, shards, faults, start = [], [], [], 0
    for number in range(manifest.num_shards):
        try:
            table = read_table(folder, manifest, manifest.answerer, number)
        except RunError as error:
            faults.append(str(error))
            continue
        size = int((table["error"] == "").sum())
        tables.append(table)
        shards.append(Shard(number, start, size))
        start += size
    rows = pd.concat([LIGHT.empty_table().to_pandas(), *tables], ignore_index=True)
    joined = rows.join(_of_examples(examples), on="number")
    answered = joined["error"] == ""
    answers, outdated = _corrected(joined[answered].reset_index(drop=True), read_corrections(folder))
    values, reasons = (_by_method(answers.pop(name), manifest.request.methods) for name in ("values", "reasons"))
    if taken := set(values) & set(answers):
        message = (
            f"{folder / MANIFEST} is damaged (a method is called {min(taken)}). Restore it from a copy of the run."
        )
        raise RunError(message)
    return Run(
        folder=folder,
        manifest=manifest,
        answerer=manifest.answerer,
        examples=examples,
        answers=answers.join(values.astype(float)),
        reasons=reasons,
        failures=joined.loc[~answered, ["number", "id", "prompt", "error"]].reset_index(drop=True),
        shards=tuple(shards),
        faults=tuple(faults),
        outdated_corrections=outdated,
    )


def read_table(folder: Path, manifest: Manifest, answerer: Answerer, shard: int) -> pd.DataFrame:
    """Read the table of a shard, and see whether its arrays are there and belong to it.

    Raises:
        RunError: one of the files is missing, broken or of other examples.
    """
    path = answers_path(folder, shard)
    numbers = manifest.numbers(shard)
    if not path.exists():
        message = f"The answers {numbers.start} to {numbers.stop - 1} are missing: resume the run to compute them."
        raise RunError(message)
    try:
        written, traces = path.read_bytes(), traces_path(folder, shard)
        table = read_columns(pa.BufferReader(written), LIGHT).to_pandas()
        _check_rows(table, numbers, manifest.request.methods)
        lengths = table.loc[table["error"] == "", "num_tokens"]
        with safe_open(traces, framework="np") as arrays:
            check_bytes(traces, arrays.metadata(), written)
            _check_arrays(arrays, lengths.to_numpy(dtype=np.int64), layers_to_store(manifest, answerer), answerer)
    except UNREADABLE as error:
        message = (
            f"Shard {shard} of {folder.name} is broken ({error}): the answers {numbers.start} to {numbers.stop - 1} "
            "are left out. Resume the run to answer them again."
        )
        raise RunError(message) from error
    return table


def _check_rows(table: pd.DataFrame, numbers: range, methods: tuple[str, ...]) -> None:
    if table["number"].tolist() != list(numbers):
        message = f"its examples are not {numbers.start} to {numbers.stop - 1}"
        raise ValueError(message)
    if table["error"].isna().any() or not (table.loc[table["error"] == "", "num_tokens"] >= 1).all():
        message = "it has an answer without a token"
        raise ValueError(message)
    thinking = table.loc[table["error"] == "", ["thinking_start", "thinking_stop", "num_tokens"]].to_numpy()
    start, stop, count = thinking.T
    if not (((start == 0) & (stop == 0)) | ((start >= 0) & (start < stop) & (stop <= count))).all():
        message = "it has an answer whose thinking span is outside the answer"
        raise ValueError(message)
    lists = table.loc[table["error"] == "", ["values", "reasons"]]
    if lists.isna().any(axis=None) or (lists.map(len) != len(methods)).any(axis=None):
        message = f"it has other uncertainties than {', '.join(methods)}"
        raise ValueError(message)


def _check_arrays(arrays: Any, lengths: np.ndarray, stored: tuple[int, ...], answerer: Answerer) -> None:  # noqa: ANN401 - safetensors has no type for it
    """Only the header of the file is read here."""
    num_tokens, num_bands = int(lengths.sum()), NUM_BANDS * len(stored) * answerer.num_heads
    means = [len(ALIGNMENTS), len(OFFSETS), len(lengths), len(answerer.layers), answerer.num_heads]
    expected = {
        "bands": ("F16", [(num_tokens + len(lengths)) * num_bands]),
        "logprobs": ("F32", [num_tokens]),
        "entropies": ("F32", [num_tokens]),
        "means": ("F16", means),
        "picks": ("I16", [len(ALIGNMENTS), len(lengths), len(answerer.layers)]),
        "fact_means": ("F16", means),
        "fact_counts": ("I32", [len(OFFSETS), len(lengths)]),
    }
    there = set(arrays.keys())
    needed = {"bands", "logprobs", "entropies", *(["means"] if len(lengths) else [])}
    for name, (dtype, shape) in expected.items():
        if name in there | needed:
            found = arrays.get_slice(name)
            if (found.get_dtype(), found.get_shape()) != (dtype, shape):
                message = f"{name} is {found.get_dtype()} of shape {found.get_shape()}, not {dtype} of {shape}"
                raise ValueError(message)
    if ("fact_means" in there) != ("fact_counts" in there):
        message = "it has only one of fact_means and fact_counts"
        raise ValueError(message)


def _corrected(answers: pd.DataFrame, corrections: tuple[Correction, ...]) -> tuple[pd.DataFrame, int]:
    """The answers with the user's corrections applied, and how many corrections fit none of them."""
    rows = {number: row for row, number in enumerate(answers["number"])}
    texts = answers["answer"].tolist()
    used = [one for one in corrections if one.number in rows and fits(one, texts[rows[one.number]])]
    places = [rows[one.number] for one in used]
    found = answers.assign(measured_quality=answers["quality"], corrected=False)
    found.loc[places, "quality"] = [float(one.correct) for one in used]
    found.loc[places, "quality_reason"] = ""
    found.loc[places, "corrected"] = True
    return found, len(corrections) - len(used)


def _by_method(column: pd.Series, methods: tuple[str, ...]) -> pd.DataFrame:
    """A column for each method out of one of lists (A,)."""
    return pd.DataFrame(column.tolist(), columns=methods, index=column.index)


def _of_examples(examples: tuple[Example, ...]) -> pd.DataFrame:
    """What the table says of the examples themselves, by their number."""
    wanted = ["id", "group", "stratum", "error_label", "prompt", "references"]
    rows = [asdict(example) for example in examples]
    return pd.DataFrame({name: [row[name] for row in rows] for name in wanted})
