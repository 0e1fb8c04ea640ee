"""How long the answers of a run took, stage by stage: measured while they are made, and outside of every comparison."""

import json
import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from analysis.runs.files import TIMINGS
from analysis.runs.manifest import MOST_EXAMPLES, cannot_write
from analysis.runs.typed import typed

LARGEST_TIMINGS = 64 * 2**20  # bytes

_MOST = 1e15  # of tokens and of seconds

Stage = Literal["generate", "sample", "method", "alone"]


@dataclass(frozen=True, kw_only=True)
class Timing:
    """So many seconds for a stage of so many examples; `tokens` were put out in it, and `method` names the last one's.

    "generate": the answers, read where they were given, with what their methods look at. "sample": the samples of
    them. "method": one method on all of them, whatever other methods had asked the judges before. These are wall
    times, answers in batches.

    "alone": one prompt at a time, CPU seconds of one thread for an answer with all that one method needs, or, without a
    method, for plain generation without capture (`benchmarks.overhead`). `ratios` are those seconds beside the ones of
    plain generation, answer by answer.
    """

    stage: Stage
    examples: int
    seconds: float
    tokens: int = 0
    method: str = ""
    ratios: tuple[float, ...] = ()


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
    """What a run keeps of its times; a line that is none is left out, such as the half one that a kill leaves."""
    try:
        lines = (folder / TIMINGS).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ()
    return tuple(timing for line in lines if (timing := _timing(line)) is not None)


def _timing(line: str) -> Timing | None:
    try:
        row = json.loads(line)
        timing = typed(Timing, {name: value for name, value in row.items() if name not in ("shard", "at")})
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
    whole = 1 <= timing.examples <= MOST_EXAMPLES and 0 <= timing.tokens <= _MOST and 0 <= timing.seconds <= _MOST
    return timing if whole and all(0 < ratio <= _MOST for ratio in timing.ratios) else None
