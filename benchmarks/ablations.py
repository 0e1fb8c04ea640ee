"""The whole grid of ablations on a run of 2,000 answers, compared with scoring its settings one by one.

11 alphas, both signals, every update rule and every aggregation of tokens and layers: 2,640 settings on 2,000 answers
of 32 x 32 heads x 60 tokens, with nothing computed in advance. The grid is computed once as a whole, by the clock. Then
both run in turn on a fifteenth of the answers each: the grid, and `score_many` on a sample of its settings, scaled up;
these are CPU times. Bounds:

- the whole grid: at most 60 s;
- one by one: at least 4 times as long;
- both: equal uncertainties.
"""

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import NamedTuple, get_args

import numpy as np

from analysis.evidence.record import Record
from benchmarks.scoring import ALPHAS, ANSWERS, answers_of_full_length, no_difference, without_means
from benchmarks.support.paired import one_turn, ratio, seconds, spent
from benchmarks.support.recording import at_least, at_most, interval, measured, tell
from rauq import Batch, Settings, score_many
from rauq.scoring.algorithm import score_grid
from rauq.scoring.settings import LayerAggregation, Signal, TokenAggregation, Update

ROUNDS, SAMPLE = 15, 33
MOST_SECONDS, LEAST_RATIO = 60, 4


class Turns(NamedTuple):
    """Seconds of each round, for all answers and settings, and the largest difference between the two ways."""

    grid: list[float]
    single: list[float]
    difference: float


def measure() -> Record:
    """The whole grid by the clock, then both ways in turn."""
    answers, settings = answers_of_full_length(), _settings_of_the_grid()
    tell(f"{len(settings):,} settings on {ANSWERS:,} answers")
    whole, turns = spent(partial(score_grid, answers, settings)).wall, _in_turn(answers, settings)
    slower = ratio(turns.single, turns.grid)
    return measured(
        "ablations",
        title=f"{len(settings):,} ablations of 2,000 answers",
        about="Every combination of 11 alphas, signals, update rules and aggregations on a run in memory: computed as "
        "one grid, beside scoring its settings one by one.",
        columns=("way", "CPU s for all of it", "low", "high"),
        rows=(("grid", *interval(seconds(turns.grid))), ("one by one", *interval(seconds(turns.single)))),
        bounds=(
            at_most("the whole grid, s", whole, MOST_SECONDS),
            at_least("one by one / grid, CPU time", slower, LEAST_RATIO),
            no_difference(turns.difference),
        ),
        notes=(f"Medians of {ROUNDS} rounds on a part of the answers each, one thread, scaled up.",),
        finding=f"The whole grid takes {whole:.0f} s by the clock, {whole / len(settings) * 1e3:.0f} ms a setting; one "
        f"by one it would take {slower.median:.1f} times as long.",
        packages=("numpy",),
    )


def _settings_of_the_grid() -> list[Settings]:
    choices = map(get_args, (Signal, Update, TokenAggregation, LayerAggregation))
    return [
        Settings(alpha=alpha, signal=signal, update=update, token_aggregation=tokens, layer_aggregation=layers)
        for alpha, signal, update, tokens, layers in product(ALPHAS, *choices)
    ]


def _in_turn(answers: Batch, settings: Sequence[Settings]) -> Turns:
    """Both ways, each round on a part of the answers."""
    sample = settings[:: len(settings) // SAMPLE]
    scale = ROUNDS * len(settings) / len(sample)
    grid, single, differences = [], [], []
    for turn, chosen in enumerate(np.array_split(np.arange(len(answers.lengths)), ROUNDS)):
        part = answers.take(slice(chosen[0], chosen[-1] + 1))
        runs = partial(score_grid, without_means(part), settings), partial(_one_by_one, without_means(part), sample)
        both = one_turn(turn, *runs)
        grid.append(both[0].cpu * ROUNDS)
        single.append(both[1].cpu * scale)
        differences.append(np.nanmax(np.abs(score_grid(part, sample) - _one_by_one(part, sample))))
    return Turns(grid, single, float(max(differences)))


def _one_by_one(answers: Batch, settings: Sequence[Settings]) -> np.ndarray:
    """Uncertainty of every answer under each of the settings: (S, A)."""
    return np.array([score_many(answers, one).uncertainty for one in settings])
