"""Coverage of "near this score, X % are correct", and what is said of weak points without an effect."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from statistics import NormalDist

import numpy as np

from analysis.calibration import calibrate, share_at
from analysis.one_answer.standing import WeakToken, weak_point_share, worth_in_words
from benchmarks.coverage.row import Row, Task
from rauq.recorded.scores import WeakPointWorth

TWENTIETHS = 20
LEAST_SHOWN = 0.3  # of the simulations show an interval: in fewer, those that do are a choice of their own
COVERED = 0.9
CLAIMED = 0.065  # of simulations without an effect: a right test of 5 % stays below in 98 % of cases

Curve = Callable[[np.ndarray], np.ndarray]
SMOOTH: dict[str, Curve] = {  # logits of the share of correct answers over uncertainty, which is standard normal
    "flat": np.zeros_like,
    "falling": lambda z: -z,
    "falling fast": lambda z: -2 * z,
    "soft plateaus": lambda z: 1.5 * np.tanh(-1.5 * z),
    "hump": lambda z: -(z**2) / 3 - z / 2,
}
SUDDEN: dict[str, Curve] = {
    "step": lambda z: np.where(z < 0, 2.0, -2.0),
    "narrow peak": lambda z: np.where(np.abs(z - 1) < 0.1, 3.0, -2.0),
}


@dataclass(frozen=True, kw_only=True)
class Case:
    """A reference of `size` answers, of which the share `base` is correct; each question stands `copies` times."""

    size: int
    base: float
    copies: int = 1

    def __str__(self) -> str:
        """In words."""
        repeated = "" if self.copies == 1 else f", each question {self.copies} times"
        return f"{self.size:,} answers, {self.base:.0%} correct{repeated}"


CASES = tuple(
    Case(size=size, base=base, copies=copies)
    for size, base, copies in product((100, 814, 5_000), (0.05, 0.25, 0.5), (1, 3))
)


def tasks() -> tuple[Task, ...]:
    """The coverage of shares by place on the scale, then claims about weak points."""
    return (*(partial(smooth_rows, case) for case in CASES), sudden_rows, weak_point_rows)


def smooth_rows(case: Case, *, simulations: int, seed: int) -> Iterator[Row]:
    """A row for the lowest and the highest twentieth of the scale and for the worst between, over all smooth curves."""
    found = {name: hits_of(curve, case, simulations=simulations, seed=seed) for name, curve in SMOOTH.items()}
    for place, chosen in (
        ("lowest twentieth", slice(1)),
        ("highest twentieth", slice(-1, None)),
        ("worst between", slice(1, -1)),
    ):
        name = min(found, key=lambda one: found[one].hits[chosen].min() / max(found[one].shown, 1))
        hits, shown = int(found[name].hits[chosen].min()), found[name].shown
        bound = COVERED if shown >= LEAST_SHOWN * simulations else None
        yield _row(f"{case}; {place}, {name}", hits, shown, simulations, bound)


def sudden_rows(*, simulations: int, seed: int) -> Iterator[Row]:
    """The worst twentieth under shares that change suddenly, for which no coverage is promised."""
    case = Case(size=814, base=0.25)
    for name, curve in SUDDEN.items():
        found = hits_of(curve, case, simulations=simulations, seed=seed)
        yield _row(f"{case}; worst twentieth, {name}", int(found.hits.min()), found.shown, simulations, None)


def _row(case: str, hits: int, shown: int, simulations: int, bound: float | None) -> Row:
    return Row(
        statement="share of correct answers near a score",
        case=case,
        nominal=0.95,
        hits=hits,
        shown=shown,
        simulations=simulations,
        bound=bound,
        is_claim=False,
    )


@dataclass(frozen=True, eq=False)
class Hits:
    """In how many simulations an interval was `shown`, and in how many it covered the truth in each twentieth (20,)."""

    hits: np.ndarray
    shown: int


def hits_of(curve: Curve, case: Case, *, simulations: int, seed: int) -> Hits:
    """Fit so many references, and look at a random score of each twentieth of the scale."""
    rng = np.random.default_rng([seed, case.size, case.copies, round(100 * case.base)])
    offset = _offset(curve, case.base)
    hits, shown = np.zeros(TWENTIETHS, dtype=int), 0
    for _ in range(simulations):
        uncertainty = rng.normal(size=case.size // case.copies)
        correct = rng.random(len(uncertainty)) < _expit(curve(uncertainty) + offset)
        repeated = (np.repeat(one, case.copies) for one in (uncertainty, correct.astype(float)))
        found = calibrate(*repeated, clusters=np.repeat(np.arange(len(uncertainty)), case.copies))
        places = _quantiles((np.arange(TWENTIETHS) + rng.random(TWENTIETHS)) / TWENTIETHS)
        if found.reason:
            continue
        shown += 1
        _, low, high = np.array([share_at(found, float(place)) for place in places]).T
        truth = _expit(curve(places) + offset)
        hits += (low <= truth) & (truth <= high)
    return Hits(hits, shown)


def _offset(curve: Curve, base: float) -> float:
    """What is added to the logits so that the share `base` of all answers is correct."""
    values = curve(_quantiles((np.arange(2_000) + 0.5) / 2_000))
    low, high = -20.0, 20.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if _expit(values + middle).mean() < base else (low, middle)
    return middle


def _quantiles(shares: np.ndarray) -> np.ndarray:
    return np.array(list(map(NormalDist().inv_cdf, shares.tolist())))


def _expit(logit: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-logit))


def weak_point_rows(*, simulations: int, seed: int) -> Iterator[Row]:
    """How often a weak point is said to be above chance where it is not, or its shares to differ where they do not."""
    for questions, copies in product((20, 100, 500), (1, 3)):
        for statement, lift in (("weak point above chance", 0.0), ("weak points of the two sides differ", 0.5)):
            claims = weak_point_claims(
                lift, questions=questions, copies=copies, simulations=simulations, seed=seed + questions
            )
            yield Row(
                statement=statement,
                case=f"{questions} questions a side, each {copies} time{'s' * (copies > 1)}",
                nominal=0.05,
                hits=claims,
                shown=simulations,
                simulations=simulations,
                bound=CLAIMED,
                is_claim=True,
            )


def weak_point_claims(lift: float, *, questions: int, copies: int, simulations: int, seed: int) -> int:
    """Of so many simulations, how many make a claim.

    Both sides have weak points that carry the fact more often than by chance by `lift` of what is left to 1. Without a
    lift the claim is that a side is above chance; with one, that the sides differ.
    """
    rng = np.random.default_rng([seed, copies])
    said = [_said(lift, questions=questions, copies=copies, rng=rng) for _ in range(simulations)]
    if lift:
        return sum("do not differ" not in words and "not above chance" not in words for words in said)
    return sum("Neither is above chance" not in words for words in said)


def _said(lift: float, *, questions: int, copies: int, rng: np.random.Generator) -> str:
    sides = []
    for _ in range(2):
        chances = rng.uniform(0.05, 0.6, questions)
        hits = rng.random(questions) < chances + lift * (1 - chances)
        found = [WeakToken(bool(hit), chance) for hit, chance in zip(hits, chances.tolist(), strict=True)]
        clusters = np.repeat(np.arange(questions), copies)
        sides.append(weak_point_share([found[one] for one in clusters], clusters=clusters))
    return worth_in_words(WeakPointWorth(incorrect=sides[0], correct=sides[1], marked=True))
