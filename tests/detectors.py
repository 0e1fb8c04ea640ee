"""Detectors of random numbers, one of each supervised method but the large Factoscope, and answers that they score."""

from dataclasses import replace
from itertools import pairwise

import numpy as np

from rauq.detectors.attention import OFFSETS, HeadEntropy, LookbackLens, Tad
from rauq.detectors.detector import FITTED, Detector
from rauq.detectors.hidden_states import Mind, Saplma, Satrmd, Sheeps
from tests.traces import make_trace, with_offsets

LAYERS, HEADS, WIDTH = 6, 4, 8


def read_arrays(num_tokens, *, num_layers=LAYERS, num_heads=HEADS, seed=0):
    """The extras that supervised methods read, random."""
    rng = np.random.default_rng(seed)
    lookback = rng.uniform(0.01, 0.2, (num_layers, num_heads, num_tokens, 2)).astype(np.float32)
    lookback[:, :, 0, 1] = np.nan
    return {
        "lookback": lookback,
        "attention_entropy": rng.uniform(0, 1, (num_layers, num_heads, num_tokens, 2)).astype(np.float32),
        "hidden_mean": rng.normal(size=WIDTH).astype(np.float32),
        "hidden_layers": rng.normal(size=(num_layers + 1, num_tokens, WIDTH)).astype(np.float32),
        "logit_lens": rng.uniform(0, 1, (num_layers, num_tokens, 21)).astype(np.float32)
        + np.eye(1, 21, dtype=np.float32),
    }


def answer(num_tokens=5, *, seed=0, **changes):
    """An answer that every supervised method can score."""
    extras = {"extras": read_arrays(num_tokens, seed=seed)}
    return with_offsets(make_trace((b" a",) * num_tokens, seed=seed, **(extras | changes)), OFFSETS)


def perceptron(rng, outputs, widths=(WIDTH, 5, 4, 3)):
    sizes = (*widths, outputs)
    arrays = {}
    for number, (before, after) in enumerate(pairwise(sizes), start=1):
        arrays[f"weight_{number}"] = rng.normal(size=(after, before)).astype(np.float32)
        arrays[f"bias_{number}"] = rng.normal(size=after).astype(np.float32)
    return arrays


MADE_UP = {
    "lookback_lens": lambda rng: LookbackLens(coefficients=rng.normal(size=LAYERS * HEADS), intercept=0.25),
    "head_entropy_linear": lambda rng: HeadEntropy(coefficients=rng.normal(size=LAYERS * HEADS), intercept=0.25),
    "saplma": lambda rng: Saplma(output="identity", **perceptron(rng, 1)),
    "mind": lambda rng: Mind(**perceptron(rng, 2)),
    "sheeps": lambda rng: Sheeps(
        attention=rng.normal(size=(LAYERS, WIDTH)),
        probes=rng.normal(size=(LAYERS, WIDTH)),
        biases=rng.normal(size=LAYERS),
        weights=rng.normal(size=LAYERS),
        intercept=0.5,
    ),
    "satrmd": lambda rng: Satrmd(
        num_layers=LAYERS,
        layers=np.arange(LAYERS),
        means=rng.normal(size=(2, LAYERS, WIDTH)),
        whitening=rng.normal(size=(2, LAYERS, WIDTH, WIDTH)),
        weights=rng.normal(size=LAYERS),
        msp_weight=0.5,
        entropy_weight=0.25,
        intercept=0.125,
    ),
    "tad": lambda rng: Tad(
        weights=rng.normal(size=1 + OFFSETS * (LAYERS * HEADS + 3)), intercept=0.5, offsets=OFFSETS, aggregation="mean"
    ),
}


def made_up_detector(method, *, seed=0, **changes):
    """A detector for answers of `tests.traces.make_trace`."""
    fields = {
        "method": method,
        "model": "made-up",
        "revision": "0",
        "kind": "base",
        "num_layers": LAYERS,
        "num_heads": HEADS,
        "layers": tuple(range(LAYERS)) if FITTED[method].reads_attention else (),
        "data": ("capitals", "<b>years</b>"),
        "answers": 40,
        "threshold": 0.5,
        "fitted": MADE_UP[method](np.random.default_rng(seed)),
        "questions": np.array([3, 2**64 - 1], dtype=np.uint64),
    }
    return Detector(**(fields | changes))


def without(trace, *names):
    """The answer without some extras."""
    return replace(trace, extras={name: array for name, array in trace.extras.items() if name not in names})
