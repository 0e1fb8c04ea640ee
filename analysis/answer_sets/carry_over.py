"""Do heads carry over? The areas under the ROC curve of all heads in two sets of answers, compared."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from analysis.answer_sets.clusters import FOLDS, folds
from analysis.answer_sets.separation import TOP, Separation, areas, areas_by_chance
from analysis.answer_sets.sides import Sides
from analysis.stats import Z, ranks, spearman
from rauq.labels import number

_PLACES = 9  # areas that are equal but for rounding tie


class HeadSet(NamedTuple):
    """The mean attention (A, L, H) of all heads in A answers, and how these heads separate the answers."""

    means: np.ndarray
    found: Separation


@dataclass(frozen=True, eq=False, kw_only=True)
class CarryOver:
    """How alike the heads separate correct from incorrect answers in two sets of these.

    `correlation`: Spearman's, of the areas of all heads, with its 95 % jackknife `interval`; with the second set's
    labels shuffled within groups it lies between `low` and `high` in 95 of 100 cases. `shared`: (layer row, head) that
    are among the `top` with the most attention in correct answers of both; `expected` as many by chance, and as many or
    more with `probability`.
    """

    num_heads: int
    correlation: float
    interval: tuple[float, float]
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
        return _undefined(count, reason)
    found = [one.found.auc.ravel().round(_PLACES) for one in (first, second)]
    low, high = _by_chance(found[0], second, permutations, seed)
    shared = sorted(set(strongest(first.found)) & set(strongest(second.found)))
    return CarryOver(
        num_heads=count,
        correlation=round(spearman(*found), _PLACES),
        interval=_jackknife(first, second, seed),
        low=low,
        high=high,
        top=top,
        shared=tuple(shared),
        expected=top * top / count,
        probability=at_least(len(shared), top, count),
        reason="",
    )


def _undefined(count: int, reason: str) -> CarryOver:
    return CarryOver(
        num_heads=count,
        correlation=math.nan,
        interval=(math.nan, math.nan),
        low=math.nan,
        high=math.nan,
        top=min(TOP, count),
        shared=(),
        expected=math.nan,
        probability=math.nan,
        reason=reason,
    )


def strongest(separation: Separation) -> tuple[tuple[int, int], ...]:
    """The TOP heads with the most attention in correct answers, as (row, head), the strongest first."""
    places = np.argsort(-separation.auc.ravel(), kind="stable")[:TOP]
    return tuple((int(place) // separation.auc.shape[1], int(place) % separation.auc.shape[1]) for place in places)


def at_least(shared: int, top: int, count: int) -> float:
    """The probability that two random choices of `top` among `count` heads share as many or more (hypergeometric)."""
    ways = [math.comb(top, hits) * math.comb(count - top, top - hits) for hits in range(shared, top + 1)]
    return sum(ways) / math.comb(count, top)


def _jackknife(first: HeadSet, second: HeadSet, seed: int) -> tuple[float, float]:
    """The interval of the correlation, from its values without each of FOLDS parts of the answers of both sets.

    It is wider than it need be, rather than narrower; nan where a part holds all answers of a side.
    """
    pairs = zip(_without_parts(first, seed), _without_parts(second, seed + 1), strict=True)
    values = np.array([spearman(*pair) for pair in pairs])
    if np.isnan(values).any():
        return math.nan, math.nan
    error = math.sqrt((FOLDS - 1) * values.var())
    middle = spearman(first.found.auc.ravel(), second.found.auc.ravel())
    return max(-1.0, middle - Z * error), min(1.0, middle + Z * error)


def _without_parts(head_set: HeadSet, seed: int) -> list[np.ndarray]:
    """The areas (K,) of all heads without each part of the answers, as much of each group and side in each part."""
    counted, flat = head_set.found.labelled, head_set.means.reshape(len(head_set.means), -1)
    part = folds(counted.group.astype(str), Sides(counted.correct, ~counted.correct), seed=seed)
    return [areas(flat, counted.among(part != own)) for own in range(FOLDS)]


def _by_chance(area: np.ndarray, second: HeadSet, permutations: int, seed: int) -> tuple[float, float]:
    """Where the correlation with an area (K,) lies in 95 of 100 random labellings of the second set."""
    flat = second.means.reshape(len(second.means), -1)
    drawn = areas_by_chance(flat, second.found.labelled, permutations=permutations, seed=seed)
    found = [_correlation(ranks(area), ranks(one)) for one in drawn.round(_PLACES)]
    low, high = np.nanquantile(np.round(found, _PLACES), (0.025, 0.975)).tolist()
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
    chance = f"by chance {_two(found.low)} to {_two(found.high)}"
    return (
        f"{verdict}: rank correlation of {found.num_heads:,} heads {_two(found.correlation)}{_interval(found)} "
        f"({chance}); {len(found.shared)} of the top {found.top} in both, {number(found.expected, places=1)} expected "
        f"by chance ({_probability(found.probability)})."
    )


def carry_over_caption(found: CarryOver) -> str:
    """How to read the maps, and what chance means."""
    return (
        "ROC-AUC of each head, correct vs incorrect, both maps on one scale. Ringed in both: the "
        f"{found.top} heads with the most attention in correct answers on the left. Brackets: 95 % jackknife interval. "
        "Chance: labels on the right shuffled, 95 %; overlap: random heads."
    )


def _interval(found: CarryOver) -> str:
    low, high = found.interval
    return "" if math.isnan(low) else f" [{_two(low)}, {_two(high)}]"


def _probability(value: float) -> str:
    return "p < 0.001" if value < 0.001 else f"p = {number(value)}"


def _two(value: float) -> str:
    return number(value, places=2)
