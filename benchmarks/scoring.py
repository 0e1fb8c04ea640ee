"""Scoring a run of 2,000 answers at once, compared with a loop over answers, layers and tokens.

The loop works as the reference implementation does: one answer at a time, its attention in float64, the heads picked
anew at every call, the recurrence in Python. Both start from the same previous-token weights in memory. They run in
turn: ours on all answers, from a batch without head means; the loop on a fifteenth of them, scaled up. Bounds:

- one setting on the 13 middle layers, its head means included: at most 0.25 s;
- a sweep of 11 alphas, the heads picked once: at most 1.5 s;
- the loop: at least 10 times as long for either;
- both: equal uncertainties.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from analysis.evidence.record import Bound, Record
from benchmarks.support.paired import cpu_seconds, one_turn, ratio, seconds
from benchmarks.support.recording import at_least, at_most, interval, measured
from rauq import Batch, Settings, score_many

ANSWERS, LAYERS, HEADS, TOKENS = 2_000, 32, 32, 60
MIDDLE = range(10, 23)
ALPHAS = [step / 10 for step in range(11)]
ROUNDS = 15
MOST_SETTING, MOST_SWEEP, LEAST_RATIO, MOST_DIFFERENCE = 0.25, 1.5, 10, 1e-12


def measure() -> Record:
    """Both in turn, under one setting and under a sweep."""
    answers = answers_of_full_length()
    setting, loop = _in_turn(answers, [0.2])
    sweep, loop_sweep = _in_turn(answers, ALPHAS)
    means = seconds([cpu_seconds(lambda: without_means(answers).head_means(tuple(MIDDLE))) for _ in range(ROUNDS)])
    faster, faster_sweep = ratio(loop, setting), ratio(loop_sweep, sweep)
    difference = _largest_difference(answers)
    return measured(
        "scoring",
        title="Scoring 2,000 stored answers at once",
        about=f"{ANSWERS:,} answers of {LAYERS} x {HEADS} heads, {TOKENS} tokens, from weights in memory, beside a "
        "loop over answers, layers and tokens as the reference implementation has it.",
        columns=("scored under", "at once, CPU s", "loop, CPU s", "loop / at once", "low", "high"),
        rows=(
            ("one setting", seconds(setting).median, seconds(loop).median, *interval(faster)),
            ("11 alphas", seconds(sweep).median, seconds(loop_sweep).median, *interval(faster_sweep)),
        ),
        bounds=(
            at_most("one setting, head means included, CPU s", seconds(setting), MOST_SETTING),
            at_most("11 alphas, head means included, CPU s", seconds(sweep), MOST_SWEEP),
            at_least("one setting, loop / at once", faster, LEAST_RATIO),
            at_least("11 alphas, loop / at once", faster_sweep, LEAST_RATIO),
            no_difference(difference),
        ),
        notes=(f"Medians of {ROUNDS} rounds, one thread. Of one setting the head means take {means} s.",),
        finding=f"{ANSWERS:,} answers are scored in {seconds(setting).median:.2f} s of CPU time, "
        f"{faster.median:.0f} times as fast as by a loop; the numbers differ by {difference:.1g} at most.",
        packages=("numpy",),
    )


def answers_of_full_length() -> Batch:
    """Random numbers, and no padding that would save work."""
    rng = np.random.default_rng(0)
    return Batch(
        attention=rng.random((ANSWERS, LAYERS, HEADS, TOKENS - 1), dtype=np.float32),
        logprobs=np.log(rng.uniform(0.05, 1, (ANSWERS, TOKENS))),
        entropies=rng.uniform(0, 5, (ANSWERS, TOKENS)),
        lengths=np.full(ANSWERS, TOKENS),
        alignment="predicting",
        kind="base",
        vocab_size=128_256,
        layers=tuple(range(LAYERS)),
        num_layers=LAYERS,
    )


def without_means(answers: Batch) -> Batch:
    """The same arrays in a batch that has yet to compute its head means."""
    return replace(answers)


def no_difference(largest: float) -> Bound:
    """Both give the same uncertainties."""
    return at_most("largest difference of an uncertainty", largest, MOST_DIFFERENCE)


def _in_turn(answers: Batch, alphas: Sequence[float]) -> tuple[list[float], list[float]]:
    """Seconds of each round for all answers, at once and by the loop; every answer is the loop's once."""
    ours, loop = [], []
    for turn, chosen in enumerate(np.array_split(np.arange(ANSWERS), ROUNDS)):
        both = one_turn(
            turn, partial(_at_once, without_means(answers), alphas), partial(_by_loop, answers, alphas, chosen)
        )
        ours.append(both[0].cpu)
        loop.append(both[1].cpu * ANSWERS / len(chosen))
    return ours, loop


def _largest_difference(answers: Batch) -> float:
    """Between the uncertainties of both, over every twentieth answer and all alphas."""
    chosen = np.arange(0, ANSWERS, 20)
    return float(np.abs(_at_once(answers, ALPHAS)[:, chosen] - _by_loop(answers, ALPHAS, chosen)).max())


def _at_once(answers: Batch, alphas: Sequence[float]) -> np.ndarray:
    """Uncertainty of every answer at every alpha: (alphas, A)."""
    return np.array([score_many(answers, Settings(alpha=alpha)).uncertainty for alpha in alphas])


def _by_loop(answers: Batch, alphas: Sequence[float], chosen: np.ndarray) -> np.ndarray:
    """The same of the chosen answers, one at a time."""
    return np.array([[_one_by_loop(answers, alpha, answer) for answer in chosen] for alpha in alphas])


def _one_by_loop(answers: Batch, alpha: float, answer: int) -> float:
    weights = answers.attention[answer].astype(np.float64)
    probabilities = np.exp(answers.logprobs[answer])
    scores = []
    for layer in MIDDLE:
        head = weights[layer].mean(axis=-1).argmax()
        confidence = np.empty(TOKENS)
        confidence[0] = probabilities[0]
        for i in range(1, TOKENS):
            inflow = weights[layer, head, i - 1] * confidence[i - 1]
            confidence[i] = alpha * probabilities[i] + (1 - alpha) * inflow
        scores.append(-np.log(confidence).mean())
    return float(max(scores))
