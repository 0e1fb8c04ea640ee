"""Made-up answers to fit detectors on, and a small linear one that is fitted on their features."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from analysis.datasets.example import fingerprint
from analysis.detectors.evaluation.answers import Answers, Features
from analysis.runs.files.examples import write_examples
from analysis.runs.manifest import read_manifest, write_manifest
from analysis.runs.opened import open_run
from tests.analysis.report.made_run import made_run

NUM, WIDTH = 240, 6


def made_up(*, data=("one",), families="abcd", told=False, rauq=0.0, seed=0, num=NUM):
    """Answers to different questions; with `told`, their text says whether they are correct."""
    rng = np.random.default_rng(seed)
    correct = rng.uniform(size=num) < 0.4
    said = [("right" if own and told else "left") for own in correct]
    questions = tuple(f"question {place}" for place in range(num))
    return Answers(
        data=tuple(data[place % len(data)] for place in range(num)),
        families=tuple(families[place // len(data) % len(families)] for place in range(num)),
        questions=questions,
        texts=tuple(f"{question}\n{one} word{rng.integers(20)}" for question, one in zip(questions, said, strict=True)),
        lengths=rng.integers(2, 9, size=(num, 2)).astype(float),
        quality=correct.astype(float),
        threshold=0.5,
        beside={"rauq": rng.normal(size=num) - rauq * correct, "msp": rng.normal(size=num)},
    )


def features(given, *, signal=0.0, seed=1):
    """Features of each answer, one of which is higher by `signal` where it is correct."""
    values = np.random.default_rng(seed).normal(size=(len(given.quality), WIDTH))
    values[:, 2] += signal * given.correct
    return Features(tuple(values), ("",) * len(values))


def without(given, rows, reason="not captured"):
    """The features, without those of some answers."""
    values, reasons = list(given.values), list(given.reasons)
    for row in rows:
        values[row], reasons[row] = None, reason
    return Features(tuple(values), tuple(reasons))


@dataclass(frozen=True, eq=False)
class Line:
    """An uncertainty that is linear in the features."""

    weights: np.ndarray
    intercept: float

    def value(self, features, /):
        return float(features @ self.weights + self.intercept)


def fit_line(features, quality, *, threshold, settings, seed):
    """Ridge regression on 1 - quality; the penalty is the setting."""
    del threshold, seed
    given = np.array(features)
    middle = given.mean(axis=0)
    moved = given - middle
    gram = moved.T @ moved + settings * np.eye(given.shape[1])
    weights = np.linalg.solve(gram, moved.T @ (1 - quality - (1 - quality).mean()))
    return Line(weights, float((1 - quality).mean() - middle @ weights))


def search_line(features, quality, *, threshold, seed, full):
    del features, quality, threshold, seed
    return 2.0 if full else 1.0


@dataclass(frozen=True, kw_only=True)
class Linear:
    """A supervised method under any id."""

    id: str = "line"
    extras: tuple[str, ...] = ()
    features: Callable[..., np.ndarray] = field(default=lambda trace: trace.logprobs[:2])
    search: Callable[..., Any] | None = search_line
    fit: Callable[..., Any] = fit_line


def asked_run(folder, *, data="one", families=("a", "b"), quality, **changes):
    """A run of made-up answers to different questions, as a data set of this name."""
    run = made_run(folder, quality=quality, groups=families, failures=0, **changes)
    examples = [replace(example, question=f"{data} {place}?") for place, example in enumerate(run.examples)]
    write_examples(folder, tuple(examples))
    manifest = read_manifest(folder)
    request = replace(manifest.request, data=data, data_sha256=fingerprint(examples))
    write_manifest(folder, replace(manifest, name=folder.name, request=request))
    return open_run(folder)
