"""Coverage of "where as many written answers are right as wrong, X % near this score are right", of written pairs."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np

from analysis.calibration import calibrate, share_at
from benchmarks.coverage.row import Row, Task
from benchmarks.coverage.shares import COVERED, LEAST_SHOWN, TWENTIETHS

DISTANCES = (0.5, 1.0, 2.0)  # between the means of right and wrong answers: ROC-AUC of .64, .76 and .92


@dataclass(frozen=True, kw_only=True)
class Case:
    """So many questions with a right and a wrong answer each, whose scores are normal, correlated within a question."""

    questions: int
    distance: float
    correlation: float

    def __str__(self) -> str:
        """In words."""
        return f"{self.questions:,} pairs, distance {self.distance:g}, correlation {self.correlation:g}"


CASES = tuple(
    Case(questions=questions, distance=distance, correlation=correlation)
    for questions, distance, correlation in product((50, 200, 1_100), DISTANCES, (0.0, 0.6))
)


def tasks() -> tuple[Task, ...]:
    """One for each case."""
    return tuple(partial(rows_of, case) for case in CASES)


def rows_of(case: Case, *, simulations: int, seed: int) -> Iterator[Row]:
    """The ends of the scale and the worst twentieth between."""
    hits, shown = hits_of(case, simulations=simulations, seed=seed)
    places = {"lowest twentieth": hits[0], "highest twentieth": hits[-1], "worst between": hits[1:-1].min()}
    for place, found in places.items():
        yield Row(
            statement="share of right answers near a score, of written pairs",
            case=f"{case}; {place}",
            nominal=0.95,
            hits=int(found),
            shown=shown,
            simulations=simulations,
            bound=COVERED if shown >= LEAST_SHOWN * simulations else None,
            is_claim=False,
        )


def hits_of(case: Case, *, simulations: int, seed: int) -> tuple[np.ndarray, int]:
    """In how many simulations the interval covers the truth in each twentieth (20,), and how many show one."""
    rng = np.random.default_rng([seed, case.questions, round(10 * case.distance), round(10 * case.correlation)])
    hits, shown = np.zeros(TWENTIETHS, dtype=int), 0
    correct, clusters = np.tile([1.0, 0.0], case.questions), np.repeat(np.arange(case.questions), 2)
    for _ in range(simulations):
        scores = drawn(case, rng)
        found = calibrate(scores.ravel(), correct, clusters=clusters)
        if found.reason:
            continue
        shown += 1
        places = np.quantile(drawn(case, rng), (np.arange(TWENTIETHS) + rng.random(TWENTIETHS)) / TWENTIETHS)
        _, low, high = np.array([share_at(found, float(place)) for place in places]).T
        truth = 1 / (1 + np.exp(case.distance * places))
        hits += (low <= truth) & (truth <= high)
    return hits, shown


def drawn(case: Case, rng: np.random.Generator) -> np.ndarray:
    """Scores (Q, 2) of the right and the wrong answer to each question, each of variance 1 around half the distance."""
    of_question, own = rng.normal(size=(case.questions, 1)), rng.normal(size=(case.questions, 2))
    spread = np.sqrt(case.correlation) * of_question + np.sqrt(1 - case.correlation) * own
    return spread + np.array([-case.distance, case.distance]) / 2
