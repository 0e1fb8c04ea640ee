"""The whole grid of ablations on a run of 2,000 answers, beside scoring its settings one by one.

11 alphas, both signals, every update rule and every aggregation of tokens and layers: 2,640 settings on 2,000 answers
of 32 x 32 heads x 60 tokens, with nothing in common kept from earlier. The grid is computed once as a whole, with
progress, in seconds of the clock. Then both sides take turns on a fifteenth of the answers each: the grid, and
`score_many` on a sample of its settings, scaled up; these are CPU times of one thread. Fails where a bound is missed:

- the whole grid: at most 60 s;
- one by one: at least 4 times as long, for sure;
- both sides: equal uncertainties.

    python -m benchmarks.ablations
"""

import os
import sys
from functools import partial
from itertools import product
from time import perf_counter
from typing import get_args

os.environ["OMP_NUM_THREADS"] = "1"  # before numpy is imported
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

from benchmarks.paired import cpu_seconds, ratio
from benchmarks.scoring import ALPHAS, answers_of_full_length, bound, seconds, without_means
from rauq import Batch, Settings, score_many
from rauq.grid import score_grid
from rauq.settings import LayerAggregation, Signal, TokenAggregation, Update

ROUNDS, SAMPLE = 15, 33
MOST_SECONDS, LEAST_RATIO, MOST_DIFFERENCE = 60, 4, 1e-12


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


def timed_with_progress(answers: Batch, settings: list[Settings]) -> float:
    """Seconds of the clock for the whole grid."""
    started = perf_counter()

    def tell(done: int, total: int) -> None:
        print(f"\r  {done:,} of {total:,} answers", end="", flush=True)

    score_grid(answers, settings, on_progress=tell)
    print()
    return perf_counter() - started


def main() -> int:
    """Print the table; 1 if a bound is missed."""
    answers, settings = answers_of_full_length(), settings_of_the_grid()
    print(f"{len(settings):,} settings on {len(answers.lengths):,} answers")
    whole = timed_with_progress(answers, settings)
    print(f"  the whole grid: {whole:.1f} s of the clock, {whole / len(settings) * 1e3:.1f} ms a setting\n")

    sample = settings[:: len(settings) // SAMPLE]
    grid, single, difference = [], [], 0.0
    for chosen in np.array_split(np.arange(len(answers.lengths)), ROUNDS):
        part = answers.take(slice(chosen[0], chosen[-1] + 1))
        grid.append(cpu_seconds(partial(score_grid, without_means(part), settings)) * ROUNDS)
        scale = ROUNDS * len(settings) / len(sample)
        single.append(cpu_seconds(partial(one_by_one, without_means(part), sample)) * scale)
        apart = score_grid(part, sample) - one_by_one(part, sample)
        difference = max(difference, float(np.nanmax(np.abs(apart))))
    print(f"CPU seconds for all of it: median of {ROUNDS} rounds [95 % interval]")
    print(f"  grid        {seconds(grid)}\n  one by one  {seconds(single)}\n  ratio       {ratio(single, grid)}\n")
    met = [
        bound(f"the whole grid {whole:.1f} s <= {MOST_SECONDS} s", met=whole <= MOST_SECONDS),
        bound(f"one by one >= {LEAST_RATIO} times as long", met=ratio(single, grid).high >= LEAST_RATIO),
        bound(f"largest difference {difference:.1e} <= {MOST_DIFFERENCE}", met=difference <= MOST_DIFFERENCE),
    ]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
