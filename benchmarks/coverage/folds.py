"""Detectors where labels are random, but questions come again: in another form, or in another data set."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from analysis.datasets.facts.tables import facts
from analysis.detectors.evaluation.answers import Answers, Features
from analysis.detectors.evaluation.held_out import Split, detector_scores, plans
from analysis.questions import as_first_asked
from analysis.stats import roc_auc
from benchmarks.coverage.row import Row, Task
from rauq.trace.trace import Trace

FORMS: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {
        "the same": str,
        "no case, no punctuation": lambda asked: asked.lower().rstrip("?"),
        "What's": lambda asked: asked.replace("What is", "What\u2019s").replace("Who is", "Who\u2019s"),
        "instruction after": lambda asked: f"{asked} Please answer with as few words as possible.",
        "instruction before": lambda asked: f"Answer the following question in one sentence. {asked}",
        "Q: A:": lambda asked: f"Q: {asked}\nA:",
        "Question: Answer:": lambda asked: f"Question: {asked} Answer:",
        "chat template": lambda asked: f"<|im_start|>user\n{asked}<|im_end|>\n<|im_start|>assistant\n",
        "Markdown": lambda asked: f"### Question:\n**{asked}**\n\n### Answer:\n",
    }
)
SPLITS: tuple[Split, ...] = ("in_domain", "out_of_domain")
CLAIMED = 0.065  # of simulations: a right test of 5 % stays below in 98 % of cases
NUM, WIDTH, NOISE = 60, 90, 0.1  # questions of a data set; features, enough of them to recognise a question by


def tasks() -> tuple[Task, ...]:
    """One for each split."""
    return tuple(partial(rows_of, split) for split in SPLITS)


def rows_of(split: Split, *, simulations: int, seed: int) -> Iterator[Row]:
    """A row for each form of a repeated question.

    What 5 % of ROC-AUCs exceed by chance is simulated with different questions: answers that are scored by fits on one
    another vary more than independent ones.
    """
    by_chance = areas_of(None, split, simulations=2 * simulations, seed=seed + simulations)
    limit = float(np.nanquantile(by_chance, 0.95))
    for form in FORMS:
        areas = areas_of(form, split, simulations=simulations, seed=seed)
        shown = areas[np.isfinite(areas)]
        yield Row(
            statement=f"detector above chance, {split.replace('_', '-')}",
            case=f"questions come again: {form}",
            nominal=0.05,
            hits=int((shown > limit).sum()),
            shown=len(shown),
            simulations=simulations,
            bound=CLAIMED,
            is_claim=True,
        )


def areas_of(form: str | None, split: Split, *, simulations: int, seed: int) -> np.ndarray:
    """ROC-AUC of a detector in each simulation, among NUM different questions; None: no question comes again."""
    data, places, questions = _asked(form, split)
    return np.array([_area(data, places, questions, split, seed=seed + one) for one in range(simulations)])


def _asked(form: str | None, split: Split) -> tuple[tuple[str, ...], np.ndarray, tuple[str, ...]]:
    """The data set of each answer, the place of its question among all, and the question as the folds know it."""
    every = [fact.question for fact in facts()]
    different = every[:: len(every) // (2 * NUM)][: 2 * NUM]
    first, other = different[:NUM], different[NUM:]
    again = [] if form is None else list(map(FORMS[form], first))
    rest = other if split == "out_of_domain" else []
    data = ("one",) * NUM + (("one",) if split == "in_domain" else ("again",)) * len(again) + ("other",) * len(rest)
    places = np.r_[np.arange(NUM), np.arange(len(again)), NUM + np.arange(len(rest))]
    return data, places, as_first_asked([*first, *again, *rest])


def _area(data: tuple[str, ...], places: np.ndarray, questions: tuple[str, ...], split: Split, *, seed: int) -> float:
    rng = np.random.default_rng(seed)
    correct = rng.permutation(2 * NUM)[places] < NUM
    values = rng.normal(size=(2 * NUM, WIDTH))[places] + NOISE * rng.normal(size=(len(places), WIDTH))
    given = Answers(
        data=data,
        families=("",) * len(data),
        questions=questions,
        texts=questions,
        lengths=np.ones((len(data), 2)),
        quality=correct.astype(float),
        threshold=0.5,
        beside={},
    )
    plan = plans(given, seed=seed)[split]
    found = detector_scores(_METHOD, Features(tuple(values), ("",) * len(data)), given, plan, settings=None, seed=seed)
    return float(roc_auc(found.values[:NUM], correct[:NUM]))


@dataclass(frozen=True, eq=False)
class _Line:
    """An uncertainty that is linear in the features."""

    weights: np.ndarray

    def value(self, features: np.ndarray, /) -> float:
        """The uncertainty of an answer."""
        return float(features @ self.weights)


def _fit(features: Sequence[np.ndarray], quality: np.ndarray, **_options: Any) -> _Line:  # noqa: ANN401 - not used
    """Ridge regression, which recognises each answer that it was fitted on."""
    given = np.array(features)
    kernel = given @ given.T + np.eye(len(given))
    return _Line(given.T @ np.linalg.solve(kernel, quality.mean() - quality))


@dataclass(frozen=True)
class _Ridge:
    """A supervised method that is quick to fit."""

    id: str = "ridge"
    extras: tuple[str, ...] = ()
    features: Callable[[Trace], np.ndarray] = lambda trace: trace.logprobs
    search: None = None
    fit: Callable[..., _Line] = _fit


_METHOD = _Ridge()
