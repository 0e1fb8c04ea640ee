"""Coverage of the intervals of rankings: PRR, ROC-AUC, correlations, differences, means of several, and bins."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product
from statistics import NormalDist
from typing import get_args

import numpy as np

from analysis.answer_sets.quality_curves import quality_bins
from analysis.intervals import estimate
from analysis.methods.comparison import (
    WITHIN,
    Metric,
    Ranking,
    difference,
    groups_of,
    judged,
    judged_groups,
    mean_of,
    ranking,
)
from analysis.quality.judgement import Thresholds
from analysis.stats import METRICS, Estimate, pearson, prr, roc_auc, sign_of, spearman
from analysis.stats import Metric as Measured
from benchmarks.coverage.row import Row, Task
from benchmarks.coverage.shares import CLAIMED, COVERED, LEAST_SHOWN

SIZES = (10, 30, 100, 800, 5_000)
SHARES = (0.02, 0.05, 0.2, 0.5, 0.8, 0.98)
REPEATED = ((180, 3), (800, 4))  # answers, and how often each question stands
MOST_AT_LARGEST = 300  # simulations of the largest size
_ALIKE = 0.9  # correlation of what decides about answers to one question
_POPULATION = 400_000  # answers whose metric is taken as the truth

Answers = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Uncertainty, quality and question (A,) of simulated answers."""
Simulation = Callable[[np.random.Generator], tuple[Estimate, float]]
"""One simulation: an estimate, and the truth."""


@dataclass(frozen=True, kw_only=True)
class Population:
    """Answers, of which the share `correct` is correct, and whose uncertainty is lower by `effect` if they are.

    `spread`: how much wider the uncertainty of incorrect answers is. `is_tied`: uncertainty takes few values.
    `graded`: quality is a power of an even one, and its mean is the share. Each question stands `times`.
    """

    correct: float = 0.5
    effect: float = 0.7
    spread: float = 0.0
    is_tied: bool = False
    graded: bool = False
    times: int = 1


def drawn(of: Population, size: int, rng: np.random.Generator) -> Answers:
    """So many answers of a population."""
    questions = -(-size // of.times)
    cluster = np.repeat(np.arange(questions), of.times)[:size]
    ease, noise = (_shared(cluster, rng) if of.times > 1 else rng.normal(size=size) for _ in range(2))
    place = _normal_share(ease)
    quality = place ** ((1 - of.correct) / of.correct) if of.graded else (place > 1 - of.correct).astype(float)
    good = ease if of.graded else quality
    uncertainty = noise * (1 + of.spread * (1 - quality)) - of.effect * good
    return np.round(2 * uncertainty) / 2 if of.is_tied else uncertainty, quality, cluster


def _shared(cluster: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A normal variable (A,), alike in answers to one question."""
    own, shared = rng.normal(size=len(cluster)), rng.normal(size=cluster[-1] + 1)
    return np.asarray(np.sqrt(_ALIKE) * shared[cluster] + np.sqrt(1 - _ALIKE) * own)


@cache
def _normal() -> tuple[np.ndarray, np.ndarray]:
    """Values, and the share of a standard normal variable below each."""
    grid = np.linspace(-6, 6, 6_001)
    return grid, np.array([NormalDist().cdf(one) for one in grid])


def _normal_share(values: np.ndarray) -> np.ndarray:
    return np.interp(values, *_normal())


@cache
def truth(metric: Measured, of: Population) -> float:
    """The metric of a large number of answers of a population."""
    uncertainty, quality, _ = drawn(replace(of, times=1), _POPULATION, np.random.default_rng(99))
    return metric(uncertainty, quality)


@dataclass(frozen=True)
class Counted:
    """Of so many simulations, how many showed an interval, and how many of these covered the truth."""

    shown: int
    covered: int
    simulations: int

    def row(self, statement: str, case: str) -> Row:
        """Its line of the table; a bound is promised where enough simulations show an interval."""
        return Row(
            statement=statement,
            case=case,
            nominal=0.95,
            hits=self.covered,
            shown=self.shown,
            simulations=self.simulations,
            bound=COVERED if self.shown >= LEAST_SHOWN * self.simulations else None,
            is_claim=False,
        )


def counted(one: Simulation, *, simulations: int, seed: int) -> Counted:
    """How often the interval of an estimate holds the truth beside it."""
    rng = np.random.default_rng(seed)
    found = [(given, true) for given, true in (one(rng) for _ in range(simulations)) if not np.isnan(given.low)]
    return Counted(len(found), sum(given.low <= true <= given.high for given, true in found), simulations)


def ranked(metric: Measured, of: Population, size: int) -> Simulation:
    """One metric of so many answers of a population, and the truth."""

    def one(rng: np.random.Generator) -> tuple[Estimate, float]:
        uncertainty, quality, cluster = drawn(of, size, rng)
        return estimate(metric, uncertainty, quality, clusters=cluster), truth(metric, of)

    return one


def _kinds(correct: float, times: int = 1) -> tuple[Population, ...]:
    """Populations with no effect, a usual and a strong one, wider uncertainty of incorrect answers, and ties."""
    base = Population(correct=correct, times=times)
    return (
        replace(base, effect=0.0),
        base,
        replace(base, effect=2.0),
        replace(base, spread=0.8),
        replace(base, is_tied=True),
    )


def tasks() -> tuple[Task, ...]:
    """The coverage of rankings by size and share of correct answers, then of what is made of several rankings."""
    both = (prr, roc_auc)
    by_share = (partial(_lowest, metric, _kinds(one), size) for metric, size, one in product(both, SIZES, SHARES))
    repeated = (partial(_lowest, metric, _kinds(0.5, times), size) for metric, (size, times) in product(both, REPEATED))
    return (*by_share, *repeated, graded_rows, correlation_rows, difference_rows, mean_rows, bin_rows)


def _lowest(
    metric: Measured, kinds: Sequence[Population], size: int, *, simulations: int, seed: int
) -> tuple[Row, ...]:
    """The least coverage among kinds of answers."""
    simulations = min(simulations, MOST_AT_LARGEST) if size == SIZES[-1] else simulations
    found = [counted(ranked(metric, of, size), simulations=simulations, seed=seed) for of in kinds]
    enough = [one for one in found if one.shown >= LEAST_SHOWN * simulations] or found
    worst = min(enough, key=lambda one: one.covered / one.shown if one.shown else 1.0)
    return (worst.row(f"{_NAMES[metric]}, least of {len(kinds)} kinds of answers", _case(size, kinds[0])),)


_METRICS: tuple[Metric, ...] = get_args(Metric)
_NAMES: dict[Measured, str] = {prr: "PRR", roc_auc: "ROC-AUC", spearman: "Spearman", pearson: "Pearson"}


def _case(size: int, of: Population) -> str:
    repeated = "" if of.times == 1 else f", each question {of.times} times"
    share = f"graded, mean quality {of.correct:g}" if of.graded else f"{of.correct:.0%} correct"
    return f"{size:,} answers, {share}{repeated}"


def graded_rows(*, simulations: int, seed: int) -> Iterator[Row]:
    """PRR of graded quality, even and skewed."""
    for size, correct in product((30, 100, 800), (0.05, 0.2, 0.5)):
        kinds = [Population(correct=correct, effect=effect, graded=True) for effect in (0.0, 0.7, 2.0)]
        yield from _lowest(prr, kinds, size, simulations=simulations, seed=seed)


def correlation_rows(*, simulations: int, seed: int) -> Iterator[Row]:
    """Correlations of uncertainty with quality, of 1 or 0 and graded, and with repeated questions."""
    cases = (
        *((size, Population(correct=correct)) for size, correct in product((30, 100, 800), (0.2, 0.5))),
        *((size, Population(correct=correct, graded=True)) for size, correct in product((30, 100, 800), (0.2, 0.5))),
        (180, Population(times=3)),
        (180, Population(times=3, graded=True)),
    )
    for metric, (size, of) in product((spearman, pearson), cases):
        found = counted(ranked(metric, of, size), simulations=simulations, seed=seed)
        yield found.row(_NAMES[metric], _case(size, of))


def _two(metric: Metric, of: Population, size: int, effect: float) -> Simulation:
    """The difference of two uncertainties of the same answers, the second of another effect, and the truth."""

    def one(rng: np.random.Generator) -> tuple[Estimate, float]:
        first, quality, cluster = drawn(of, size, rng)
        second = 0.7 * (first + of.effect * quality) + np.sqrt(1 - 0.7**2) * rng.normal(size=size) - effect * quality
        among = judged(groups_of(["a"] * size, clusters=cluster)[0], quality, metric=metric, thresholds=Thresholds())
        both = [(values, ranking(values, among)) for values in (first, second)]
        true = 0.0 if effect == of.effect else _gain(metric, of, effect)
        return difference(both[0], both[1], among).estimate, true

    return one


@cache
def _gain(metric: Metric, of: Population, effect: float) -> float:
    measure = {"prr": prr, "roc_auc": roc_auc}[metric]
    return truth(measure, of) - truth(measure, replace(of, effect=effect))


def difference_rows(*, simulations: int, seed: int) -> Iterator[Row]:
    """Paired differences of methods that rank alike, and of which one ranks better; and claims where none does."""
    for metric, (size, correct) in product(_METRICS, ((30, 0.5), (100, 0.2), (800, 0.05), (800, 0.5), (800, 0.98))):
        of = Population(correct=correct)
        for words, effect in (("ranking alike", of.effect), ("of unequal effect", 0.2)):
            one = _two(metric, of, size, effect)
            found = counted(one, simulations=simulations, seed=seed)
            yield found.row(f"{METRICS[metric]}, difference of two methods {words}", _case(size, of))
        yield _claims(_two(metric, of, size, of.effect), METRICS[metric], _case(size, of), simulations, seed)


def _claims(one: Simulation, name: str, case: str, simulations: int, seed: int) -> Row:
    rng = np.random.default_rng(seed + 1)
    hits = sum(sign_of(one(rng)[0]) != 0 for _ in range(simulations))
    return Row(
        statement=f"{name}, one of two methods that rank alike is said to rank better",
        case=case,
        nominal=0.05,
        hits=hits,
        shown=simulations,
        simulations=simulations,
        bound=CLAIMED,
        is_claim=True,
    )


GROUPS = {
    "of equal shares": (0.5,) * 8,
    "of other shares": (0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.9),
    "two": (0.3, 0.6),
}


def mean_rows(*, simulations: int, seed: int) -> Iterator[Row]:
    """Means within the groups of one run, and over runs of several data sets, each with its own share."""
    for metric, (words, shares), size in product(_METRICS, GROUPS.items(), (30, 100)):
        for effect in (0.0, 0.7):
            kinds = [Population(correct=share, effect=effect) for share in shares]
            found = counted(_within(metric, kinds, size), simulations=simulations, seed=seed)
            case = f"{len(shares)} groups {words} of {size} answers, effect {effect:g}"
            yield found.row(f"{METRICS[metric]}, mean within groups", case)
    for metric, size in product(_METRICS, (100, 800)):
        kinds = [Population(correct=share) for share in (0.1, 0.3, 0.5, 0.7)]
        found = counted(_over_runs(metric, kinds, size), simulations=simulations, seed=seed)
        yield found.row(f"{METRICS[metric]}, mean over runs", f"4 data sets of {size} answers")


def _true_mean(metric: Metric, kinds: Sequence[Population], there: np.ndarray) -> float:
    """The mean over the groups that count."""
    measure = {"prr": prr, "roc_auc": roc_auc}[metric]
    values = np.array([truth(measure, of) for of in kinds])
    return float(values[there].mean()) if there.any() else float("nan")


def _within(metric: Metric, kinds: Sequence[Population], size: int) -> Simulation:
    names = np.repeat([f"g{place}" for place in range(len(kinds))], size)
    groups = groups_of(names.tolist())

    def one(rng: np.random.Generator) -> tuple[Estimate, float]:
        uncertainty, quality = (
            np.concatenate(own) for own in zip(*(drawn(of, size, rng)[:2] for of in kinds), strict=True)
        )
        among = judged_groups(groups, quality, metric=metric, thresholds=Thresholds())
        found = among.reported([ranking(uncertainty[part.rows], part) for part in among.parts])
        there = np.array([part.is_averaged for part in among.own])
        return found[among.names.index(WITHIN)].estimate, _true_mean(metric, kinds, there)

    return one


def _over_runs(metric: Metric, kinds: Sequence[Population], size: int) -> Simulation:
    whole = groups_of(["a"] * size)[0]

    def of_run(of: Population, rng: np.random.Generator) -> Ranking:
        uncertainty, quality, _ = drawn(of, size, rng)
        return ranking(uncertainty, judged(whole, quality, metric=metric, thresholds=Thresholds()))

    def one(rng: np.random.Generator) -> tuple[Estimate, float]:
        found = mean_of([of_run(of, rng) for of in kinds], size=size * len(kinds))
        return found.estimate, _true_mean(metric, kinds, np.ones(len(kinds), dtype=bool))

    return one


def bin_rows(*, simulations: int, seed: int) -> Iterator[Row]:
    """Mean quality of answers in bins of a value that says nothing of it: the truth is the same in each."""
    for size, of in product(
        (100, 800),
        (
            *(Population(correct=share) for share in (0.05, 0.2, 0.5)),
            *(Population(correct=share, graded=True) for share in (0.2, 0.5)),
            Population(times=3),
        ),
    ):
        rng, covered, shown = np.random.default_rng(seed), 0, 0
        for _ in range(simulations):
            _, quality, cluster = drawn(of, size, rng)
            means = quality_bins(rng.random(size), quality, clusters=cluster).quality_means
            shown += int(np.isfinite(means.low).sum())
            covered += int(((means.low <= of.correct) & (of.correct <= means.high)).sum())
        yield Counted(shown, covered, simulations * 10).row("mean quality in a tenth of the values", _case(size, of))
