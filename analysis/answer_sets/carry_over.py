"""Do heads carry over? The areas under the ROC curve of all heads in two sets of answers, compared."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from analysis.answer_sets.separation import TOP, Separation, areas_by_chance
from analysis.stats import ranks, spearman
from rauq.labels import number


class HeadSet(NamedTuple):
    """The mean attention (A, L, H) of all heads in A answers, and how these heads separate the answers."""

    means: np.ndarray
    found: Separation


@dataclass(frozen=True, eq=False, kw_only=True)
class CarryOver:
    """How alike the heads separate correct from incorrect answers in two sets of these.

    `correlation`: Spearman's, of the areas of all heads; with the second set's labels shuffled within groups it lies
    between `low` and `high` in 95 of 100 cases. `shared`: (layer row, head) that are among the `top` with the most
    attention in correct answers of both; `expected` as many by chance, and as many or more with `probability`.
    """

    num_heads: int
    correlation: float
    low: float
    high: float
    top: int
    shared: tuple[tuple[int, int], ...]
    expected: float
    probability: float
    reason: str


def carry_over(first: HeadSet, second: HeadSet, *, permutations: int = 1000, seed: int = 0) -> CarryOver:
    """Compare two sets of answers by the areas of the same heads (L, H)."""
    count = first.found.auc.size
    top = min(TOP, count)
    sides = {"on the left": first, "on the right": second}
    reason = next((f"{side}, {one.found.labelled.reason}" for side, one in sides.items() if one.found.best is None), "")
    if reason:
        nothing = {"correlation": math.nan, "low": math.nan, "high": math.nan, "probability": math.nan}
        return CarryOver(num_heads=count, top=top, shared=(), expected=math.nan, reason=reason, **nothing)
    areas = [one.found.auc.ravel() for one in (first, second)]
    low, high = _by_chance(areas[0], second, permutations, seed)
    shared = sorted(set(strongest(first.found)) & set(strongest(second.found)))
    return CarryOver(
        num_heads=count,
        correlation=spearman(*areas),
        low=low,
        high=high,
        top=top,
        shared=tuple(shared),
        expected=top * top / count,
        probability=at_least(len(shared), top, count),
        reason="",
    )


def strongest(found: Separation) -> tuple[tuple[int, int], ...]:
    """The TOP heads with the most attention in correct answers, as (row, head), the strongest first."""
    places = np.argsort(-found.auc.ravel(), kind="stable")[:TOP]
    return tuple((int(place) // found.auc.shape[1], int(place) % found.auc.shape[1]) for place in places)


def at_least(shared: int, top: int, count: int) -> float:
    """The probability that two random choices of `top` among `count` heads share as many or more (hypergeometric)."""
    ways = [math.comb(top, hits) * math.comb(count - top, top - hits) for hits in range(shared, top + 1)]
    return sum(ways) / math.comb(count, top)


def _by_chance(area: np.ndarray, second: HeadSet, permutations: int, seed: int) -> tuple[float, float]:
    """Where the correlation with an area (K,) lies in 95 of 100 random labellings of the second set."""
    flat = second.means.reshape(len(second.means), -1)
    drawn = areas_by_chance(flat, second.found.labelled, permutations=permutations, seed=seed)
    found = [_correlation(ranks(area), ranks(one)) for one in drawn]
    low, high = np.nanquantile(found, (0.025, 0.975)).tolist()
    return low, high


def _correlation(first: np.ndarray, second: np.ndarray) -> float:
    """Pearson's correlation of two rankings (K,), which is Spearman's of what was ranked; nan for a constant one."""
    one, other = first - first.mean(), second - second.mean()
    norm = math.sqrt((one @ one) * (other @ other))
    return float(one @ other) / norm if norm else math.nan


def carry_over_sentence(found: CarryOver) -> str:
    """Whether the heads of one set separate the answers of the other, in numbers."""
    if found.reason:
        return f"Nothing to compare: {found.reason}."
    verdict = (
        "The maps agree beyond chance"
        if found.correlation > found.high
        else "The maps are opposite beyond chance"
        if found.correlation < found.low
        else "No significant agreement"
    )
    return (
        f"{verdict}: rank correlation of {found.num_heads:,} heads {_two(found.correlation)} (by chance "
        f"{_two(found.low)} to {_two(found.high)}); {len(found.shared)} of the top {found.top} in both, "
        f"{number(found.expected, places=1)} expected by chance ({_probability(found.probability)})."
    )


def carry_over_caption(found: CarryOver) -> str:
    """How to read the maps, and what chance means."""
    return (
        "ROC-AUC of each head, correct vs incorrect, both maps on one scale. Ringed in both: the "
        f"{found.top} heads with the most attention in correct answers on the left. By chance: labels on the right "
        "shuffled within groups, 95 % of cases; overlap: random heads."
    )


def _probability(value: float) -> str:
    return "p < 0.001" if value < 0.001 else f"p = {number(value)}"


def _two(value: float) -> str:
    return number(value, places=2)
