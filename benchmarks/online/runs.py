"""The runs whose answers are scored as if they were being written, answered first where they are not there yet."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from analysis.datasets.example import DataSet
from analysis.datasets.names import PLAIN, load
from analysis.online.curves import Curves, curves_of
from analysis.runs.library import bundled_folder
from analysis.runs.methods import DEFAULT
from analysis.runs.opened import Run, open_run
from benchmarks.online.lists import data_set, quality_of, questions
from benchmarks.support.recording import tell
from benchmarks.support.runs import worked

GEMMA = "gemma3-270m"
PER_FAMILY, LONGEST = 74, 32  # as in the bundled run


class Scored(NamedTuple):
    """A run by its name, and the curves of its answers."""

    name: str
    curves: Curves


def scored_runs() -> Iterator[Scored]:
    """One run after the other."""
    bundled = open_run(bundled_folder())
    yield _scored("smollm2, one fact", bundled, bundled.answers["quality"])
    facts = gemma_facts()
    yield _scored(f"{GEMMA}, one fact", facts, facts.answers["quality"])
    asked = questions()
    lists = answered("five-facts", data_set(asked))
    numbered = zip(lists.answers["number"], lists.answers["answer"], strict=True)
    yield _scored(f"{GEMMA}, five facts", lists, [quality_of(asked[number], answer) for number, answer in numbered])


def _scored(name: str, run: Run, quality: object) -> Scored:
    correct = np.asarray(quality, dtype=float)  # the judge of facts says 1, 0 or nan
    tell(f"{name}: {len(correct)} answers")
    return Scored(name, curves_of(run, correct))


def gemma_facts() -> Run:
    """The greedy answers of gemma3-270m about facts, as many of each family as the bundled run has."""
    return answered("facts", load(PLAIN, kind="base", per_group=PER_FAMILY), max_new_tokens=LONGEST)


def answered(name: str, data: DataSet, max_new_tokens: int | None = None) -> Run:
    """A run of gemma3-270m with the default methods, answered first where it is not there yet."""
    return worked(f"{GEMMA}-{name}", data, model=GEMMA, methods=DEFAULT, max_new_tokens=max_new_tokens)
