"""What fitting the paper's seven supervised methods costs, on answers of random numbers in the shape of smollm2's.

Each method searches its settings over its reduced grid and is fitted on 1,000 answers of 24 tokens, half of them
correct, with seeds and on one thread, as `python -m analysis train` does by default. Reading the features of an answer
from a run is not counted. Bounds: CPU minutes of search and fit, set before the first run.
"""

from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from analysis.detectors.supervised.training import SUPERVISED, SupervisedMethod
from analysis.evidence.record import Record
from benchmarks.support.paired import cpu_seconds
from benchmarks.support.random_trace import random_trace
from benchmarks.support.recording import at_most, measured, tell
from rauq import METHODS
from rauq.detectors.attention import OFFSETS
from rauq.detectors.detector import Fitted
from rauq.trace.trace import Extra, Trace

ANSWERS, TOKENS = 1_000, 24
LAYERS, HEADS, WIDTH = 30, 9, 576  # smollm2's
THRESHOLD, SEED = 0.5, 42
SHIFT = 0.05  # of the numbers of correct answers, so that there is something to learn
MOST_MINUTES = MappingProxyType(
    {"lookback_lens": 0.5, "saplma": 1, "mind": 3, "sheeps": 20, "satrmd": 10, "tad": 15, "factoscope": 40}
)


class Cost(NamedTuple):
    """CPU minutes of search and fit, and the megabytes of what is fitted."""

    minutes: float
    megabytes: float


def measure() -> Record:
    """Fit one method after the other."""
    for method in ("lookback_lens", "saplma"):  # scikit-learn and torch are imported, which is not counted
        cost(SUPERVISED[method], answers=20)
    found = {}
    for method in MOST_MINUTES:
        found[method] = cost(SUPERVISED[method], answers=ANSWERS)
        tell(f"{method}: {found[method].minutes:.2f} CPU min")
    slowest = max(found, key=lambda method: found[method].minutes)
    return measured(
        "fitting",
        title="Fitting the supervised methods",
        about=f"Search of settings and fit on {ANSWERS:,} answers of {TOKENS} tokens, random numbers in the shape of "
        f"smollm2's ({LAYERS} layers, {HEADS} heads, hidden size {WIDTH}). Reduced grids, Factoscope in its reduced "
        "setting. One thread.",
        columns=("method", "CPU min", "detector, MB"),
        rows=[(METHODS[name].name, *one) for name, one in found.items()],
        bounds=[
            at_most(f"{METHODS[name].name}, CPU min", found[name].minutes, most) for name, most in MOST_MINUTES.items()
        ],
        notes=("One search and fit each, seeded. CPU times rise where other programs share the processor.",),
        finding=f"Fitting all {len(found)} supervised methods on {ANSWERS:,} answers takes "
        f"{sum(one.minutes for one in found.values()):.0f} minutes of CPU time, {METHODS[slowest].name} "
        f"{found[slowest].minutes:.0f} of them.",
        packages=("torch", "scikit-learn", "numpy", "scipy"),
    )


def cost(row: SupervisedMethod, *, answers: int) -> Cost:
    """What one search and one fit of a method take, on so many answers."""
    quality = (np.random.default_rng(SEED).permutation(answers) < answers // 2).astype(float)
    features = [row.features(answer(number, row.extras, shift=SHIFT * own)) for number, own in enumerate(quality)]
    fitted = []

    def run() -> None:
        settings = row.search(features, quality, threshold=THRESHOLD, seed=SEED, full=False)
        fitted.append(row.fit(features, quality, threshold=THRESHOLD, settings=settings, seed=SEED))

    return Cost(cpu_seconds(run) / 60, _megabytes(fitted[0]))


def answer(number: int, extras: tuple[Extra, ...], *, shift: float) -> Trace:
    """An answer of random numbers, at least 0.5 + `shift`, with these extras, in half precision as runs keep it."""
    rng = np.random.default_rng(number)
    shapes = {
        "lookback": (LAYERS, HEADS, TOKENS, 2),
        "hidden_mean": (WIDTH,),
        "hidden_layers": (LAYERS + 1, TOKENS, WIDTH),
        "logit_lens": (LAYERS, TOKENS, 21),
    }

    def numbers(*shape: int) -> np.ndarray:
        return (0.5 + rng.random(shape, dtype=np.float32) / 2 + shift).astype(np.float16)

    return replace(
        random_trace(TOKENS, seed=number, num_heads=HEADS),
        layers=tuple(range(LAYERS)),
        num_layers=LAYERS,
        attention=numbers(LAYERS, HEADS, TOKENS + 1, OFFSETS).astype(np.float32),
        extras={name: numbers(*shapes[name]) for name in extras},
    )


def _megabytes(fitted: Fitted) -> float:
    """Of the arrays, which are all but a few bytes of a detector's file."""
    return sum(one.nbytes for one in vars(fitted).values() if isinstance(one, np.ndarray)) / 1e6
