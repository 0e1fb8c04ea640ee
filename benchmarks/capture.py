"""What capturing attention and scoring with RAUQ cost in time, relative to plain generation.

The random model, 64 new tokens. Ours: generated with capture, and scored; plain: `transformers` alone. Both run in
turn, until a length had its seconds. Bounds, at every prompt length:

- CPU time: at most 1.03 of plain generation;
- a step with the recorder, which is on or off at random from step to step: at most 1.01 of one without it.
"""

from collections.abc import Sequence
from functools import partial
from time import perf_counter
from typing import NamedTuple

import numpy as np

from analysis.evidence.record import Bound, Cell, Record
from benchmarks.parts import recorder
from benchmarks.support.paired import Ratio, Spent, one_turn, ratio
from benchmarks.support.random_model import build, ours, plain, prompt_of, wrapped
from benchmarks.support.recording import at_most, interval, measured, tell
from rauq import LanguageModel

LENGTHS = (32, 512, 2048, 4096, 8192)
SECONDS = 60.0
LEAST_PAIRS, MOST_PAIRS, STEP_PAIRS = 7, 25, 200
MOST_CPU, MOST_RECORDER = 1.03, 1.01


class Cost(NamedTuple):
    """One prompt length: CPU seconds of plain generation, and ratios to it."""

    length: int
    plain: float
    cpu: Ratio
    wall: Ratio
    recorder: Ratio

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Its row of the table."""
        return self.length, self.plain, *interval(self.cpu), self.cpu.pairs, self.wall.median, self.recorder.median

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """What is promised at every length."""
        return (
            at_most(f"{self.length} tokens, CPU time relative to plain generation", self.cpu, MOST_CPU),
            at_most(f"{self.length} tokens, a step with the recorder", self.recorder, MOST_RECORDER),
        )


def measure() -> Record:
    """One prompt length after the other."""
    lm = wrapped(build())
    return _record([_cost(lm, length) for length in LENGTHS])


def _cost(lm: LanguageModel, length: int) -> Cost:
    tell(f"prompt of {length:,} tokens")
    prompt = prompt_of(length)
    base, own = partial(plain, lm, prompt), partial(ours, lm, prompt)
    one_turn(0, base, own)  # warms up
    begin, pairs = perf_counter(), list[list[Spent]]()
    while len(pairs) < LEAST_PAIRS or (perf_counter() - begin < SECONDS and len(pairs) < MOST_PAIRS):
        pairs.append(one_turn(len(pairs), base, own))
    (base_cpu, base_wall), (own_cpu, own_wall) = np.array(pairs).transpose(1, 2, 0)
    return Cost(
        length=length,
        plain=float(np.median(base_cpu)),
        cpu=ratio(own_cpu, base_cpu),
        wall=ratio(own_wall, base_wall),
        recorder=recorder(lm, prompt, pairs=STEP_PAIRS),
    )


def _record(costs: Sequence[Cost]) -> Record:
    most = max(found.cpu.median for found in costs)
    return measured(
        "capture",
        title="Overhead of capture and scoring",
        about="Batch 1, 64 new tokens, one thread, a random model of Llama's shape (8 layers, hidden size 512): "
        "generated with the attention captured and scored with RAUQ, relative to transformers alone. Medians of "
        "interleaved pairs.",
        columns=("prompt tokens", "plain CPU s", "CPU ratio", "low", "high", "pairs", "wall ratio", "recorder ratio"),
        rows=[found.cells for found in costs],
        bounds=[bound for found in costs for bound in found.bounds],
        notes=("Recorder ratio: CPU time of a decoding step with the recorder on, relative to one with it off.",),
        finding=f"Generating and scoring takes at most {most:.3f} times the CPU time of plain generation, at "
        f"{costs[0].length:,} to {costs[-1].length:,} prompt tokens.",
    )
