"""How well detectors rank answers that they were not fitted on: the result, and its file beside a run."""

import json
import math
import reprlib
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from analysis.detectors.evaluation.held_out import Split
from analysis.methods.comparison import Metric
from analysis.runs.manifest import SUPERVISED, content_of, write_whole
from analysis.runs.opened import Run
from analysis.stats import Estimate
from analysis.typed_json import parsed
from rauq.errors import RunError
from rauq.layout import ANALYSIS_COMMAND
from rauq.trace.trace import Kind

SCHEMA = 1
LARGEST = 4 * 2**20  # bytes; a table of 20 columns takes about 100,000
TEXT = "text"  # id of the text classifier
MEAN, ALL_ANSWERS = "Mean", "all answers"

_Text = Annotated[str, Field(max_length=1_000)]
_Count = Annotated[int, Field(ge=0, le=10**9)]
_Crc32 = Annotated[int, Field(ge=0, lt=2**32)]
_MOST_ROWS, _MOST_COLUMNS, _MOST_TABLES, _MOST_RUNS = 64, 64, 16, 64


@dataclass(frozen=True, kw_only=True)
class Row:
    """How a method ranks the scored answers: one estimate for each column of its table.

    Of a detector also `minus_text` and `minus_rauq`, its paired differences from the text classifier and from RAUQ, and
    `shuffled`, the same detector fitted on shuffled labels; () for what is not a detector. `settings`: those that its
    search chose.
    """

    id: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
    estimates: tuple[Estimate, ...]
    minus_text: tuple[Estimate, ...] = ()
    minus_rauq: tuple[Estimate, ...] = ()
    shuffled: tuple[Estimate, ...] = ()
    settings: _Text = ""

    @property
    def is_detector(self) -> bool:
        """Whether the method is fitted, and compared with the text classifier."""
        return bool(self.minus_text)

    def is_marked_at(self, place: int) -> bool:
        """Whether it is a detector that does not rank significantly better than the text classifier in a column."""
        return self.is_detector and not math.isnan(self.estimates[place].value) and not self.minus_text[place].low > 0


@dataclass(frozen=True, kw_only=True)
class SplitTable:
    """All methods under one split, by one metric.

    `columns`: data sets or families, then their mean. `dropped`: training answers left out since their question is
    scored. `reason`: why there are no rows, "" where there are.
    """

    split: Split
    metric: Metric
    columns: tuple[_Text, ...]
    rows: Annotated[tuple[Row, ...], Field(max_length=_MOST_ROWS)]
    dropped: _Count = 0
    reason: _Text = ""

    @property
    def detectors(self) -> tuple[Row, ...]:
        """The rows of detectors."""
        return tuple(row for row in self.rows if row.is_detector)

    @property
    def main_columns(self) -> tuple[int, ...]:
        """The places of what stands for the split: the last column, and that of all answers where there is one."""
        last = len(self.columns) - 1
        return (last, *(place for place in range(last) if self.columns[place] == ALL_ANSWERS))

    def is_marked(self, row: Row) -> bool:
        """Whether a row is a detector that is not significantly better than the text in one of the main columns."""
        return any(row.is_marked_at(place) for place in self.main_columns)

    def row(self, method: str) -> Row | None:
        """The row of a method, None where there is none."""
        return next((row for row in self.rows if row.id == method), None)


@dataclass(frozen=True, kw_only=True)
class EvaluatedRun:
    """A run that was used: when it was made, how many of its answers, and a checksum of their quality."""

    name: _Text
    data: _Text
    created: _Text
    answers: _Count
    quality_crc32: _Crc32


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """Tables for each split and metric, of the answers of one model; correct is quality above `threshold`."""

    runs: Annotated[tuple[EvaluatedRun, ...], Field(min_length=1, max_length=_MOST_RUNS)]
    model: _Text
    revision: _Text
    kind: Kind
    threshold: float
    full: bool
    seed: int
    tables: Annotated[tuple[SplitTable, ...], Field(max_length=_MOST_TABLES)]

    def of_metric(self, metric: Metric) -> tuple[SplitTable, ...]:
        """The tables by one metric."""
        return tuple(table for table in self.tables if table.metric == metric)


def evaluated_run(run: Run, answers: int) -> EvaluatedRun:
    """What identifies a run and its verdicts."""
    return EvaluatedRun(
        name=run.manifest.name,
        data=run.manifest.request.data,
        created=run.manifest.created,
        answers=answers,
        quality_crc32=_quality_crc32(run),
    )


def about_changes(evaluation: Evaluation, run: Run) -> str:
    """What has changed in a run since it was evaluated, in a sentence; "" where nothing has."""
    named = (run.manifest.created, run.manifest.request.data)
    own = next((one for one in evaluation.runs if (one.created, one.data) == named), None)
    if own is None:
        return "These tables are of another run."
    if own.quality_crc32 != _quality_crc32(run):
        return "Answers or verdicts of this run have changed since these tables were made."
    return ""


def _quality_crc32(run: Run) -> int:
    return zlib.crc32(np.ascontiguousarray(run.answers["quality"].to_numpy(dtype=np.float64)).tobytes())


def write_evaluation(path: Path, evaluation: Evaluation) -> None:
    """Write the result as JSON, whole or not at all.

    Raises:
        RunError: it cannot be written.
    """
    text = json.dumps({"schema": SCHEMA, "evaluation": asdict(evaluation)}, indent=1)
    write_whole(path, lambda temporary: temporary.write_text(f"{text}\n", encoding="utf-8"))


def read_evaluation(folder: Path) -> Evaluation | None:
    """Read the result beside a run; None where there is no file.

    Raises:
        RunError: the file is damaged or of another schema.
    """
    try:
        found = json.loads(content_of(folder / SUPERVISED, largest=LARGEST))
        if found["schema"] != SCHEMA:
            message = f"schema {reprlib.repr(found['schema'])}, and this version reads {SCHEMA}"
            raise ValueError(message)  # noqa: TRY301 - all that is wrong with the file is told alike
        evaluation = parsed(Evaluation, json.dumps(found["evaluation"]))
        _check(evaluation)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        message = (
            f"The tables of supervised methods of {folder.name} cannot be read: {SUPERVISED} is damaged ({error}). "
            f"Make it again: {ANALYSIS_COMMAND} supervised RUN --out DIR."
        )
        raise RunError(message) from error
    return evaluation


def _check(evaluation: Evaluation) -> None:
    """What no single field tells."""
    for table in evaluation.tables:
        if len(table.columns) > _MOST_COLUMNS or (table.rows and not table.columns):
            message = f"a table has {len(table.columns)} columns"
            raise ValueError(message)
        for row in table.rows:
            _check_row(row, len(table.columns))


def _check_row(row: Row, columns: int) -> None:
    of_detectors = (row.minus_text, row.minus_rauq, row.shuffled)
    widths = [len(row.estimates), *(map(len, of_detectors) if any(of_detectors) else ())]
    if set(widths) != {columns}:
        message = f"the row {row.id} has {widths} cells for {columns} columns"
        raise ValueError(message)
    for one in (*row.estimates, *row.minus_text, *row.minus_rauq, *row.shuffled):
        if not _fits(one):
            message = f"the row {row.id} has a cell that is neither a number with its interval nor undefined"
            raise ValueError(message)


def _fits(estimate: Estimate) -> bool:
    if min(estimate.n, estimate.excluded) < 0 or max(len(estimate.reason), len(estimate.no_interval)) > 1_000:
        return False
    return math.isnan(estimate.value) == bool(estimate.reason) and not any(
        map(math.isinf, (estimate.value, estimate.low, estimate.high))
    )
