"""How long the answers of a run took, stage by stage, and what each method cost beside them."""

import json
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from analysis.runs.manifest import MOST_EXAMPLES, TIMINGS, cannot_write
from analysis.runs.opened import Run
from analysis.runs.own import needs_of
from analysis.typed_json import parsed

LARGEST_TIMINGS = 64 * 2**20  # bytes
LONGEST_LINE = 2**20  # characters: a method one prompt at a time, with a ratio for each of many thousand answers

_MOST = 10**15  # of tokens and of seconds

Stage = Literal["generate", "sample", "method", "alone"]


@dataclass(frozen=True, kw_only=True)
class Timing:
    """The seconds of a stage for a number of examples, the tokens generated in it, and its method, if any.

    "generate": the answers, read where they were given, with the inputs of their methods. "sample": the samples of
    them. "method": one method on all of them, charged as if it ran alone. These are wall times, answers in
    batches.

    "alone": one prompt at a time, CPU seconds of one thread for an answer with all that one method needs, or, without a
    method, for plain generation without capture (`benchmarks.overhead`). `ratios` are those seconds beside the ones of
    plain generation, answer by answer.
    """

    stage: Stage
    examples: Annotated[int, Field(ge=1, le=MOST_EXAMPLES)]
    seconds: Annotated[float, Field(ge=0, le=_MOST)]
    tokens: Annotated[int, Field(ge=0, le=_MOST)] = 0
    method: str = ""
    ratios: tuple[Annotated[float, Field(gt=0, le=_MOST)], ...] = ()


def summed(timings: Iterable[Timing]) -> Iterator[Timing]:
    """One timing for each stage and method, in the order in which they come first."""
    found: dict[tuple[Stage, str], list[Timing]] = {}
    for timing in timings:
        found.setdefault((timing.stage, timing.method), []).append(timing)
    for (stage, method), parts in found.items():
        yield Timing(
            stage=stage,
            examples=sum(part.examples for part in parts),
            seconds=round(math.fsum(part.seconds for part in parts), 6),
            tokens=sum(part.tokens for part in parts),
            method=method,
            ratios=tuple(ratio for part in parts for ratio in part.ratios),
        )


def add_timings(folder: Path, shard: int | None, timings: Iterable[Timing]) -> None:
    """Add how long a shard took, or answers of any, to the file of a run: a line for each stage and method.

    Raises:
        RunError: it cannot be written.
    """
    path, at = folder / TIMINGS, time.time()
    lines = [json.dumps({"shard": shard, **asdict(timing), "at": at}) for timing in summed(timings)]
    try:
        with path.open("a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
    except OSError as error:
        raise cannot_write(path, error) from error


def read_timings(folder: Path) -> tuple[Timing, ...]:
    """What a run keeps of its times; invalid lines are left out, such as half a line that a killed process leaves.

    Of a file with more than 64 MiB only the first are read, and of its lines those up to a million characters.
    """
    try:
        with (folder / TIMINGS).open("rb") as file:
            lines = file.read(LARGEST_TIMINGS).decode(errors="replace").splitlines()
    except OSError:
        return ()
    found = (_timing(line) for line in lines if len(line) <= LONGEST_LINE)
    return tuple(timing for timing in found if timing is not None)


def _timing(line: str) -> Timing | None:
    try:
        row = json.loads(line)
        own = {name: value for name, value in row.items() if name not in ("shard", "at")}
        return parsed(Timing, json.dumps(own))
    except (ValueError, AttributeError, RecursionError):
        return None


_UNKNOWN = "no times were recorded for it: the run was scored elsewhere or with an older version"
_NO_TIME = "the generation time was too short to measure"
_RESAMPLES = 2000


@dataclass(frozen=True, kw_only=True)
class Alone:
    """The overhead of a method one prompt at a time: the median over pairs, and its 95 % interval.

    In seconds of plain generation, without capture; the method is charged with the capture that it needs, with its own
    samples, and with its own computation, as in the paper's table of runtimes.
    """

    overhead: float
    low: float
    high: float
    pairs: int


@dataclass(frozen=True)
class Cost:
    """Seconds an answer beyond its generation, and `overhead`, their ratio to the seconds of the generation.

    They are of a run in batches: the generation is shared by the prompts of a batch and includes the capture, which no
    method is charged with, and samples of several prompts are drawn together. nan where no time is known, and then
    `reason` says why. `alone` is what compares with the paper; None where it was not measured.
    """

    method: str
    seconds: float
    overhead: float
    reason: str = ""
    alone: Alone | None = None


def generation_seconds(folder: Path) -> float:
    """Seconds that one answer of a run took, the inputs of its methods included; nan where no time is known."""
    return _each(tuple(summed(read_timings(folder))), "generate")


def costs(run: Run) -> tuple[Cost, ...]:
    """The cost of each method of the run, the samples included for those that compare samples.

    Samples are shared, and so is what the judges of meaning say: every method is charged with all that it needs, as
    if it were alone. Source: paper, table of runtimes.
    """
    read = read_timings(run.folder)
    timings, alone = tuple(summed(read)), _measured_alone(read)
    generation, sampling = _each(timings, "generate"), _each(timings, "sample")
    return tuple(_cost(method, timings, generation, sampling, alone.get(method)) for method in run.methods)


def _cost(method: str, timings: Sequence[Timing], generation: float, sampling: float, alone: Alone | None) -> Cost:
    own = _each(timings, "method", method)
    seconds = own + sampling if "samples" in needs_of(method) else own
    if math.isnan(seconds + generation):
        return Cost(method, math.nan, math.nan, _UNKNOWN, alone)
    if not generation:
        return Cost(method, seconds, math.nan, _NO_TIME, alone)
    return Cost(method, seconds, seconds / generation, alone=alone)


def _measured_alone(timings: Sequence[Timing]) -> dict[str, Alone]:
    """The last measurement of each method one prompt at a time."""
    last = {timing.method: timing.ratios for timing in timings if timing.stage == "alone" and timing.ratios}
    return {method: _alone(ratios) for method, ratios in last.items()}


def _alone(ratios: Sequence[float]) -> Alone:
    overheads = np.array(ratios) - 1
    drawn = np.random.default_rng(0).integers(len(overheads), size=(_RESAMPLES, len(overheads)))
    low, high = np.percentile(np.median(overheads[drawn], axis=1), [2.5, 97.5])
    return Alone(overhead=float(np.median(overheads)), low=float(low), high=float(high), pairs=len(overheads))


def _each(timings: Sequence[Timing], stage: Stage, method: str = "") -> float:
    """Seconds of one answer."""
    found = next((timing for timing in timings if (timing.stage, timing.method) == (stage, method)), None)
    return math.nan if found is None else found.seconds / found.examples
