"""The whole grid of ablations on a run of 2,000 answers, beside scoring its settings one by one.

11 alphas, both signals, every update rule and every aggregation of tokens and layers: 2,640 settings on 2,000 answers
of 32 x 32 heads x 60 tokens, with nothing in common kept from earlier. The grid is computed once as a whole, in
seconds of the clock. Then both sides take turns on a fifteenth of the answers each: the grid, and `score_many` on a
sample of its settings, scaled up; these are CPU times of one thread. Fails where a bound is missed:

- the whole grid: at most 60 s;
- one by one: at least 4 times as long, for sure;
- both sides: equal uncertainties.

    python -m benchmarks.ablations [--record]
"""

import os
import sys
from functools import partial
from itertools import product
from time import perf_counter
from typing import NamedTuple, get_args

os.environ["OMP_NUM_THREADS"] = "1"  # before numpy is imported
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

from analysis.evidence.record import Bound, Record
from benchmarks.paired import cpu_seconds, ratio, seconds
from benchmarks.recording import at_least, finish, interval, measured, parser, tell
from benchmarks.scoring import ALPHAS, ANSWERS, answers_of_full_length, no_difference, without_means
from rauq import Batch, Settings, score_many
from rauq.scoring.algorithm import score_grid
from rauq.scoring.settings import LayerAggregation, Signal, TokenAggregation, Update

ROUNDS, SAMPLE = 15, 33
MOST_SECONDS, LEAST_RATIO = 60, 4


def settings_of_the_grid() -> list[Settings]:
    """Every combination."""
    choices = map(get_args, (Signal, Update, TokenAggregation, LayerAggregation))
    return [
        Settings(alpha=alpha, signal=signal, update=update, token_aggregation=tokens, layer_aggregation=layers)
        for alpha, signal, update, tokens, layers in product(ALPHAS, *choices)
    ]


def one_by_one(answers: Batch, settings: list[Settings]) -> np.ndarray:
    """Uncertainty of every answer under each of the settings: (S, A)."""
    return np.array([score_many(answers, one).uncertainty for one in settings])


class Turns(NamedTuple):
    """Seconds of each round, for all answers and settings, and the largest difference between the two sides."""

    grid: list[float]
    single: list[float]
    difference: float


def clock_seconds(answers: Batch, settings: list[Settings]) -> float:
    """Seconds of the clock for the whole grid."""
    started = perf_counter()
    score_grid(answers, settings)
    return perf_counter() - started


def take_turns(answers: Batch, settings: list[Settings]) -> Turns:
    """Time both sides, one round after the other, each on a part of the answers."""
    sample = settings[:: len(settings) // SAMPLE]
    scale = ROUNDS * len(settings) / len(sample)
    grid, single, differences = [], [], []
    for chosen in np.array_split(np.arange(len(answers.lengths)), ROUNDS):
        part = answers.take(slice(chosen[0], chosen[-1] + 1))
        grid.append(cpu_seconds(partial(score_grid, without_means(part), settings)) * ROUNDS)
        single.append(cpu_seconds(partial(one_by_one, without_means(part), sample)) * scale)
        differences.append(np.nanmax(np.abs(score_grid(part, sample) - one_by_one(part, sample))))
    return Turns(grid, single, float(max(differences)))


def measure() -> Record:
    """The whole grid by the clock, then both sides in turn."""
    answers, settings = answers_of_full_length(), settings_of_the_grid()
    tell(f"{len(settings):,} settings on {ANSWERS:,} answers")
    whole, turns = clock_seconds(answers, settings), take_turns(answers, settings)
    grid, single, slower = seconds(turns.grid), seconds(turns.single), ratio(turns.single, turns.grid)
    return measured(
        "ablations",
        title=f"{len(settings):,} ablations of 2,000 answers",
        about="Every combination of 11 alphas, signals, update rules and aggregations on a run in memory: computed as "
        "one grid, beside scoring its settings one by one.",
        command="python -m benchmarks.ablations --record",
        columns=("way", "CPU s for all of it", "low", "high"),
        rows=(("grid", *interval(grid)), ("one by one", *interval(single))),
        bounds=(
            Bound(text=f"the whole grid: {whole:.1f} s, at most {MOST_SECONDS}", met=whole <= MOST_SECONDS),
            at_least("one by one / grid, CPU time", slower, LEAST_RATIO),
            no_difference(turns.difference),
        ),
        notes=(f"Medians of {ROUNDS} rounds on a part of the answers each, one thread, scaled up.",),
        finding=f"The whole grid takes {whole:.0f} s by the clock, {whole / len(settings) * 1e3:.0f} ms a setting; one "
        f"by one it would take {slower.median:.1f} times as long.",
        packages=("numpy",),
    )


if __name__ == "__main__":
    sys.exit(finish(measure(), keep=parser(__doc__).parse_args().record))
