"""What each method of a run cost beside the answers themselves, as it was measured."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from analysis.runs.opened import Run
from analysis.runs.timings import Stage, Timing, read_timings, summed
from rauq.methods.table import METHODS

_UNKNOWN = "the run has no times of it: it was scored elsewhere, or before times were kept"
_NO_TIME = "the generation took no time that could be measured"


@dataclass(frozen=True)
class Cost:
    """Seconds an answer beyond its generation, and `overhead`, their ratio to the seconds of the generation.

    nan where no time is known, and then `reason` says why.
    """

    method: str
    seconds: float
    overhead: float
    reason: str = ""


def generation_seconds(run: Run) -> float:
    """Seconds that one answer took, what its methods look at included; nan where no time is known."""
    return _each(tuple(summed(read_timings(run.folder))), "generate")


def costs(run: Run) -> tuple[Cost, ...]:
    """The cost of each method of the run, the samples included for those that compare samples.

    Samples are shared, and so is what the judges of meaning say: every method is charged with all that it needs, as
    if it were alone. Source: paper, table of runtimes.
    """
    timings = tuple(summed(read_timings(run.folder)))
    generation, sampling = _each(timings, "generate"), _each(timings, "sample")
    return tuple(_cost(method, timings, generation, sampling) for method in run.methods)


def _cost(method: str, timings: Sequence[Timing], generation: float, sampling: float) -> Cost:
    own = _each(timings, "method", method)
    seconds = own + sampling if "samples" in METHODS[method].needs else own
    if math.isnan(seconds + generation):
        return Cost(method, math.nan, math.nan, _UNKNOWN)
    if not generation:
        return Cost(method, seconds, math.nan, _NO_TIME)
    return Cost(method, seconds, seconds / generation)


def _each(timings: Sequence[Timing], stage: Stage, method: str = "") -> float:
    """Seconds of one answer."""
    found = next((timing for timing in timings if (timing.stage, timing.method) == (stage, method)), None)
    return math.nan if found is None else found.seconds / found.examples
