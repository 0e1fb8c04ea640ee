"""What each method of a run cost beside the answers themselves, as it was measured."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.runs.opened import Run
from analysis.runs.timings import Stage, Timing, read_timings, summed
from rauq.methods.table import METHODS

_UNKNOWN = "the run has no times of it: it was scored elsewhere, or before times were kept"
_NO_TIME = "the generation took no time that could be measured"
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
    method is charged with, and samples are drawn one prompt at a time. nan where no time is known, and then `reason`
    says why. `alone` is what compares with the paper; None where it was not measured.
    """

    method: str
    seconds: float
    overhead: float
    reason: str = ""
    alone: Alone | None = None


def generation_seconds(run: Run) -> float:
    """Seconds that one answer took, what its methods look at included; nan where no time is known."""
    return _each(tuple(summed(read_timings(run.folder))), "generate")


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
    seconds = own + sampling if "samples" in METHODS[method].needs else own
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
