"""RAUQ (LIG) on answers of a run: which of them, what each of them gave, and the folder that keeps it.

The folder has `request.json`, written first, and `answers.jsonl`, a line for each answer as soon as it is attributed:
the same command goes on where it was stopped.
"""

import json
import math
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import numpy as np
from pydantic import Field

from analysis.runs.manifest import cannot_write, content_of, write_whole
from analysis.runs.opened import Run
from analysis.runs.traces import traces_in
from analysis.typed_json import parsed
from rauq.errors import InvalidInput, OutOfMemory, RunError
from rauq.scoring.score import score
from rauq.scoring.settings import Settings
from rauq.trace.attribution import Side
from rauq.trace.trace import Trace

if TYPE_CHECKING:
    from rauq.model.language_model import LanguageModel

REQUEST, ANSWERS = "request.json", "answers.jsonl"
_LARGEST = 64 * 2**20  # bytes: a line has about 300

Result = TypeVar("Result")
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
    judged = np.flatnonzero(np.isfinite(run.answers["quality"].to_numpy(dtype=float)))
    if not judged.size or (limit is not None and limit < 1):
        message = f"Got limit={limit} of {judged.size} answers with a quality. Both must be at least 1."
        raise InvalidInput(message)
    if missing := sorted(set(layers) - set(run.stored_layers)):
        kept = ", ".join(map(str, run.stored_layers))
        message = f"This run does not keep the attention of layer {missing[0]} to compare with. It keeps {kept}."
        raise InvalidInput(message)
    places = np.linspace(0, judged.size - 1, min(limit or judged.size, judged.size)).round().astype(int)
    return Request(
        run=run.manifest.name,
        created=run.manifest.created,
        model=run.answerer.name,
        revision=run.answerer.revision,
        layers=tuple(layers),
        steps=steps,
        side=side,
        positive=positive,
        rows=tuple(judged[places].tolist()),
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
    """The answers of a folder by their row; a line that is none is left out, such as the half one that a kill leaves.

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
    """Append one answer; it begins a line of its own, since a kill may have left half of one.

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


def _timed(compute: Callable[[], Result]) -> tuple[Result, float]:
    begun = time.perf_counter()
    found = compute()
    return found, time.perf_counter() - begun
