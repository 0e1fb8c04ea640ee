"""RAUQ (LIG) on answers of a run, kept in a folder, and compared with RAUQ on the same answers (Table 20).

The folder has `request.json`, written first, and `answers.jsonl`, a line for each answer as soon as it is attributed:
the same command continues where it was stopped. The result is PRR, the paired difference, completeness and cost, and
how far it is from that of another folder.
"""

import json
import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import numpy as np
from pydantic import Field

from analysis.exports.csv_text import csv_rows
from analysis.methods.comparison import ALL, Judged, Ranking, difference, groups_of, judged, ranking
from analysis.quality.judgement import Thresholds
from analysis.runs.manifest import cannot_write, content_of, write_whole
from analysis.runs.opened import Run
from analysis.runs.timings import generation_seconds
from analysis.runs.traces import traces_in
from analysis.stats import Estimate, spearman
from analysis.typed_json import parsed
from rauq.errors import InvalidInput, OutOfMemory, RunError
from rauq.scoring.score import score
from rauq.scoring.settings import Settings
from rauq.trace.attribution import LARGEST_ERROR, Side
from rauq.trace.trace import Trace

if TYPE_CHECKING:
    from rauq.model.language_model import LanguageModel

REQUEST, ANSWERS = "request.json", "answers.jsonl"
_LARGEST = 64 * 2**20  # bytes: a line has about 300

_Result = TypeVar("_Result")
_Index = Annotated[int, Field(ge=0)]


@dataclass(frozen=True, kw_only=True)
class Request:
    """Which answers of a run are attributed, by their row in its table, and how (`LanguageModel.attribute`)."""

    run: str
    created: str
    model: str
    revision: str
    layers: Annotated[tuple[_Index, ...], Field(min_length=1)]
    steps: Annotated[int, Field(ge=1)]
    side: Side
    positive: bool
    rows: Annotated[tuple[_Index, ...], Field(min_length=1)]

    @property
    def settings(self) -> Settings:
        """The paper's setting on these layers alone."""
        return Settings(layers=self.layers)


@dataclass(frozen=True, kw_only=True)
class LigAnswer:
    """One answer: RAUQ in full, on the attributed layers alone, and RAUQ (LIG) on these.

    `seconds` are those of the attribution, `rauq_seconds` those of RAUQ in full, from attention that is there.
    `median_error` and `max_error`: completeness errors, in nats. `reason`: why RAUQ (LIG) is nan; "" where it is not.
    """

    row: _Index
    id: str
    quality: float
    num_tokens: _Index
    rauq: float
    rauq_same_layers: float
    rauq_seconds: float
    rauq_lig: float = math.nan
    seconds: float = math.nan
    median_error: float = math.nan
    max_error: float = math.nan
    reason: str = ""


def request_for(
    run: Run, layers: tuple[int, ...], *, steps: int, side: Side, positive: bool, limit: int | None
) -> Request:
    """The request for at most `limit` of the judged answers, evenly spaced in the order of the run.

    Raises:
        InvalidInput: no answer has a quality, a limit below 1, or layers that the run does not keep token by token.
    """
    known = np.flatnonzero(np.isfinite(run.answers["quality"].to_numpy(dtype=float)))
    if not known.size or (limit is not None and limit < 1):
        message = f"Got limit={limit} of {known.size} answers with a quality. Both must be at least 1."
        raise InvalidInput(message)
    if missing := sorted(set(layers) - set(run.stored_layers)):
        kept = ", ".join(map(str, run.stored_layers))
        message = f"This run does not keep the attention of layer {missing[0]} to compare with. It keeps {kept}."
        raise InvalidInput(message)
    places = np.linspace(0, known.size - 1, min(limit or known.size, known.size)).round().astype(int)
    return Request(
        run=run.manifest.name,
        created=run.manifest.created,
        model=run.answerer.name,
        revision=run.answerer.revision,
        layers=tuple(layers),
        steps=steps,
        side=side,
        positive=positive,
        rows=tuple(known[places].tolist()),
    )


def begin(folder: Path, request: Request) -> tuple[LigAnswer, ...]:
    """Write the request of a new folder, or read the answers that a folder of the same request has.

    Raises:
        RunError: the folder is of another request, or it cannot be read or written.
    """
    path = folder / REQUEST
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(folder, error) from error
    if not path.exists():
        text = json.dumps(asdict(request), indent=1)
        write_whole(path, lambda temporary: temporary.write_text(text + "\n", encoding="utf-8"))
    elif _read_request(path) != request:
        message = f"{folder} has answers of another run, or with other layers, steps or limit. Give another --out."
        raise RunError(message)
    return read_answers(folder)


def read_folder(folder: Path) -> tuple[Request, tuple[LigAnswer, ...]]:
    """The request and the answers of a folder that the command has made.

    Raises:
        RunError: it is none, or it cannot be read.
    """
    return _read_request(folder / REQUEST), read_answers(folder)


def _read_request(path: Path) -> Request:
    try:
        return parsed(Request, content_of(path, largest=_LARGEST))
    except (OSError, ValueError) as error:
        message = f"{path} cannot be read ({error}). Give another --out."
        raise RunError(message) from error


def read_answers(folder: Path) -> tuple[LigAnswer, ...]:
    """The answers of a folder by their row; invalid lines are left out, such as half a line left by a kill.

    Raises:
        RunError: they cannot be read.
    """
    path = folder / ANSWERS
    try:
        lines = content_of(path, largest=_LARGEST).decode(errors="replace").splitlines() if path.exists() else []
    except (OSError, ValueError) as error:
        message = f"{path} cannot be read ({error}). Give another --out."
        raise RunError(message) from error
    found = {one.row: one for one in map(_answer, lines) if one is not None}
    return tuple(found[row] for row in sorted(found))


def _answer(line: str) -> LigAnswer | None:
    try:
        return parsed(LigAnswer, line)
    except ValueError:
        return None


def add_answer(folder: Path, answer: LigAnswer) -> None:
    """Append one answer on a new line, since a killed process may have left half a line.

    Raises:
        RunError: it cannot be written.
    """
    path = folder / ANSWERS
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(f"\n{json.dumps(asdict(answer))}\n")
    except OSError as error:
        raise cannot_write(path, error) from error


def traces_of(run: Run, rows: Collection[int]) -> Iterator[tuple[int, Trace]]:
    """These rows of a run's table as traces, in order.

    Raises:
        RunError: a shard can no longer be read.
    """
    for shard in run.shards:
        if any(shard.start <= row < shard.start + shard.size for row in rows):
            for row, trace in enumerate(traces_in(run, shard), start=shard.start):
                if row in rows:
                    yield row, trace


def attribute_answers(lm: "LanguageModel", run: Run, request: Request, rows: Collection[int]) -> Iterator[LigAnswer]:
    """Attribute these rows one by one; an answer that does not fit into memory is nan with that reason.

    Raises:
        InvalidInput: the model is not the run's.
        RunError: a shard can no longer be read.
    """
    for row, trace in traces_of(run, rows):
        yield _attributed(lm, run, request, row, trace)


def _attributed(lm: "LanguageModel", run: Run, request: Request, row: int, trace: Trace) -> LigAnswer:
    full, rauq_seconds = _timed(lambda: score(trace).uncertainty)
    same = score(trace, request.settings).uncertainty
    how: Any = {"layers": request.layers, "steps": request.steps, "side": request.side, "positive": request.positive}
    answer = LigAnswer(
        row=row,
        id=str(run.answers["id"].iloc[row]),
        quality=float(run.answers["quality"].iloc[row]),
        num_tokens=len(trace.answer_ids),
        rauq=full,
        rauq_same_layers=same,
        rauq_seconds=rauq_seconds,
    )
    try:
        found, seconds = _timed(lambda: lm.attribute(trace, **how))
    except OutOfMemory as error:
        return replace(answer, reason=str(error))
    lig = score(found, request.settings)
    errors = (math.nan, math.nan) if found.attribution is None else found.attribution.errors
    return replace(
        answer,
        rauq_lig=lig.uncertainty,
        seconds=seconds,
        median_error=errors[0],
        max_error=errors[1],
        reason=lig.reasons.uncertainty,
    )


def _timed(compute: Callable[[], _Result]) -> tuple[_Result, float]:
    begun = time.perf_counter()
    uncertainty = compute()
    return uncertainty, time.perf_counter() - begun


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


def compare_answers(run: Run, request: Request, answers: Sequence[LigAnswer]) -> LigResult:
    """Compare the three uncertainties by PRR."""
    columns = {name: np.array([getattr(answer, name) for answer in answers], dtype=float) for name in COLUMNS}
    quality = np.array([answer.quality for answer in answers], dtype=float)
    among = _judged(quality, run.clusters[[answer.row for answer in answers]])
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
            generation=generation_seconds(run.folder),
            rauq=_mean([answer.rauq_seconds for answer in answers]),
            attribution=_mean([answer.seconds for answer in answers]),
        ),
    )


def _judged(quality: np.ndarray, clusters: np.ndarray) -> Judged:
    group = groups_of([ALL] * len(quality), clusters=clusters)[0]
    return judged(group, quality, metric="prr", thresholds=Thresholds())


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


def agreement(run: Run, first: Sequence[LigAnswer], second: Sequence[LigAnswer]) -> Agreement:
    """Compare attributions of the same answers of a run at other steps or layers.

    Raises:
        InvalidInput: no answer of both has a value.
    """
    values, others = (
        {answer.row: answer for answer in answers if math.isfinite(answer.rauq_lig)} for answers in (first, second)
    )
    shared = sorted(values.keys() & others.keys())
    if not shared:
        message = "The two folders have no attributed answer in common. Make them with --limit values that share rows."
        raise InvalidInput(message)
    pair = tuple(np.array([found[row].rauq_lig for row in shared]) for found in (values, others))
    quality = np.array([values[row].quality for row in shared])
    among = _judged(quality, run.clusters[shared])
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
    medians, largest = (
        np.array([getattr(answer, name) for answer in answers]) for name in ("median_error", "max_error")
    )
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
    _write(folder / "answers.csv", csv_rows(names, ([getattr(answer, name) for name in names] for answer in answers)))
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
