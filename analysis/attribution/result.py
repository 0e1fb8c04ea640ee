"""RAUQ with LIG against RAUQ on the same answers: PRR, the paired difference, completeness and cost (Table 20)."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np

from analysis.attribution.answers import LigAnswer, Request
from analysis.exports.csv_text import csv_rows
from analysis.methods.comparison import ALL, Group, Ranking, difference, judged, ranking
from analysis.quality.judgement import Thresholds
from analysis.runs.manifest import write_whole
from analysis.runs.opened import Run
from analysis.runs.timings import generation_seconds
from analysis.stats import Estimate, spearman
from rauq.errors import InvalidInput
from rauq.trace.attribution import LARGEST_ERROR

NOTE = (
    "The paper says only that LIG is computed at the attention output projection and cut into one segment a head, and "
    "its public code attributes the token embeddings instead, so its Table 20 cannot be reproduced. Baseline, path, "
    "normalisation and steps are choices of this project, listed in rauq/capture/attribution.py."
)
COLUMNS = {"rauq": "RAUQ", "rauq_same_layers": "RAUQ, same layers", "rauq_lig": "RAUQ (LIG)"}
LIG = "rauq_lig"


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Seconds of an answer: its generation in the run, RAUQ from its attention, and its attribution; nan if unknown."""

    generation: float
    rauq: float
    attribution: float


@dataclass(frozen=True, kw_only=True)
class Completeness:
    """Completeness errors in nats: the median of the answers' medians, the largest, and answers with one above 0.05."""

    median: float
    largest: float
    above_bound: int


@dataclass(frozen=True, kw_only=True)
class LigResult:
    """Of n answers: `prr` by the columns of the table, and RAUQ (LIG) minus each of the others, paired.

    `rank_correlation`: Spearman's, of RAUQ (LIG) with RAUQ on the same layers.
    """

    request: Request
    data: str
    quality: str
    answers: int
    prr: Mapping[str, Estimate]
    differences: Mapping[str, Estimate]
    rank_correlation: float
    completeness: Completeness
    cost: Cost
    note: str = NOTE


def compare_answers(run: Run, request: Request, answers: Sequence[LigAnswer], *, resamples: int = 1000) -> LigResult:
    """Compare the three uncertainties by PRR; intervals are of `resamples` bootstrap resamples, the same for all."""
    columns = {name: np.array([getattr(one, name) for one in answers], dtype=float) for name in COLUMNS}
    quality = np.array([one.quality for one in answers], dtype=float)
    group = Group(ALL, np.arange(len(answers)))
    among = judged(group, quality, metric="prr", thresholds=Thresholds(), count=resamples)
    ranked = {name: ranking(column, among) for name, column in columns.items()}
    pairs: dict[str, tuple[np.ndarray, Ranking]] = {name: (columns[name], ranked[name]) for name in COLUMNS}
    return LigResult(
        request=request,
        data=run.manifest.request.data,
        quality=run.manifest.request.quality,
        answers=len(answers),
        prr={name: one.estimate for name, one in ranked.items()},
        differences={name: difference(pairs[LIG], pairs[name], among).estimate for name in COLUMNS if name != LIG},
        rank_correlation=spearman(columns[LIG], columns["rauq_same_layers"]),
        completeness=_completeness(answers),
        cost=Cost(
            generation=generation_seconds(run),
            rauq=_mean([one.rauq_seconds for one in answers]),
            attribution=_mean([one.seconds for one in answers]),
        ),
    )


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """RAUQ (LIG) of the n answers that two folders have in common: absolute differences, and rankings.

    `rank_correlation`: Spearman's. `prr` are of each folder's values on these answers, and `difference` is the second
    minus the first, paired.
    """

    answers: int
    median: float
    largest: float
    rank_correlation: float
    prr: tuple[Estimate, Estimate]
    difference: Estimate


def agreement(first: Sequence[LigAnswer], second: Sequence[LigAnswer], *, resamples: int = 1000) -> Agreement:
    """Compare attributions of the same answers at other steps or layers.

    Raises:
        InvalidInput: no answer of both has a value.
    """
    values, others = ({one.row: one for one in answers if math.isfinite(one.rauq_lig)} for answers in (first, second))
    shared = sorted(values.keys() & others.keys())
    if not shared:
        message = "The two folders have no attributed answer in common. Make them with --limit values that share rows."
        raise InvalidInput(message)
    pair = tuple(np.array([found[row].rauq_lig for row in shared]) for found in (values, others))
    quality = np.array([values[row].quality for row in shared])
    among = judged(Group(ALL, np.arange(len(shared))), quality, metric="prr", thresholds=Thresholds(), count=resamples)
    one, two = (ranking(column, among) for column in pair)
    apart = np.abs(pair[0] - pair[1])
    return Agreement(
        answers=len(shared),
        median=float(np.median(apart)),
        largest=float(apart.max()),
        rank_correlation=spearman(*pair),
        prr=(one.estimate, two.estimate),
        difference=difference((pair[1], two), (pair[0], one), among).estimate,
    )


def _completeness(answers: Sequence[LigAnswer]) -> Completeness:
    medians, largest = (np.array([getattr(one, name) for one in answers]) for name in ("median_error", "max_error"))
    known = np.isfinite(largest)
    if not known.any():
        return Completeness(median=math.nan, largest=math.nan, above_bound=0)
    return Completeness(
        median=float(np.median(medians[known])),
        largest=float(largest[known].max()),
        above_bound=int((largest[known] > LARGEST_ERROR).sum()),
    )


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return math.fsum(known) / len(known) if known else math.nan


def write_result(folder: Path, result: LigResult, answers: Sequence[LigAnswer]) -> None:
    """Write `answers.csv`, a row for each answer, `table_20.csv` in the paper's layout, and `result.json`.

    Raises:
        RunError: they cannot be written.
    """
    names = [field.name for field in fields(LigAnswer)]
    _write(folder / "answers.csv", csv_rows(names, ([getattr(one, name) for name in names] for one in answers)))
    _write(folder / "table_20.csv", table_20(result))
    _write(folder / "result.json", json.dumps(_without_nan(asdict(result)), indent=1, allow_nan=False) + "\n")


def table_20(result: LigResult) -> str:
    """The layout of the paper's Table 20 as CSV: a row a method, its PRR on the data set, and what it costs."""
    cost = result.cost
    seconds = {"rauq": cost.rauq, "rauq_same_layers": cost.rauq, LIG: cost.attribution}
    generation = cost.generation or math.nan  # too short to measure
    rows = (
        (COLUMNS[name], found.value, found.low, found.high, seconds[name], seconds[name] / generation)
        for name, found in result.prr.items()
    )
    names = ("method", result.data, "low", "high", "seconds per answer", "overhead over generation")
    return csv_rows(names, rows)


def _without_nan(value: object) -> object:
    """JSON has no nan: null stands for what is undefined."""
    if isinstance(value, Mapping):
        return {name: _without_nan(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _write(path: Path, text: str) -> None:
    write_whole(path, lambda temporary: temporary.write_text(text, encoding="utf-8", newline=""))
