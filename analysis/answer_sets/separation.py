"""How well the mean attention of each head separates correct from incorrect answers, within groups of answers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.answer_sets.clusters import (
    LEAST_FOR_INTERVAL,
    clusters_or_own,
    error_by_cluster,
    folds,
    num_clusters,
    shuffled,
)
from analysis.answer_sets.sides import Sides
from analysis.stats import Estimate, Intervals, divided

TOP = 10  # heads that are shown one by one
_MOST = 50.0  # log-odds
_ROUNDING = 1e-5  # of areas by chance, which may equal that of the labels as they are where few can move


@dataclass(frozen=True, eq=False, kw_only=True)
class Labelled:
    """The n answers that count: on a side, with attention, and in one of the groups that have both sides.

    `rows` (n,): their positions among A answers. `correct` (n,): True, or False where incorrect. `group` (n,): the
    position of their group in `names`. `cluster` (n,): the number of their question. `left_out`: groups without one of
    the sides. `excluded`: answers on a side without attention. `reason` says why no answer counts.
    """

    rows: np.ndarray
    correct: np.ndarray
    group: np.ndarray
    cluster: np.ndarray
    names: tuple[str, ...]
    left_out: tuple[str, ...]
    excluded: int
    reason: str

    @property
    def sides(self) -> Sides:
        """The sides (n,) of the answers that count."""
        return Sides(self.correct, ~self.correct)

    @property
    def num_questions(self) -> int:
        """How many questions have a correct answer, or how many an incorrect one, whichever is less."""
        return int(num_clusters(self.cluster, self.sides, np.ones((len(self.rows), 1), dtype=bool))[0])

    @property
    def weights(self) -> np.ndarray:
        """Weight of each group (G,): c * i / (c + i + 1) for c correct and i incorrect answers (van Elteren).

        It is the inverse variance of the group's area under the curve by chance, up to a factor.
        """
        size, correct = np.bincount(self.group), np.bincount(self.group, self.correct)
        return np.asarray(correct * (size - correct) / (size + 1))

    def among(self, chosen: np.ndarray) -> "Labelled":
        """Only the answers in `chosen` (n,), without the groups that then lack a side."""
        sides = Sides(chosen & self.correct, chosen & ~self.correct)
        names = np.array(self.names, dtype=object)[self.group]
        found = labelled(np.zeros((len(chosen), 1)), sides, names, clusters=self.cluster)
        return Labelled(**{**vars(found), "rows": self.rows[found.rows]})


def labelled(
    values: np.ndarray, sides: Sides, groups: Sequence[str] | np.ndarray, *, clusters: np.ndarray | None = None
) -> Labelled:
    """The answers that count, of the values (A, ...), and of the group and the cluster of each answer (A,)."""
    on_a_side = sides.correct | sides.incorrect
    kept = on_a_side & np.isfinite(values).all(axis=tuple(range(1, values.ndim)))
    rows, correct = np.flatnonzero(kept), sides.correct[kept]
    names, group = np.unique(np.asarray(groups, dtype=object)[rows].astype(str), return_inverse=True)
    size, right = np.bincount(group), np.bincount(group, correct)
    both = (right > 0) & (right < size)
    counts = both[group]
    return Labelled(
        rows=rows[counts],
        correct=correct[counts],
        group=(np.cumsum(both) - 1)[group[counts]],
        cluster=clusters_or_own(clusters, len(kept))[rows[counts]],
        names=tuple(names[both].tolist()),
        left_out=tuple(names[~both].tolist()),
        excluded=int((on_a_side & ~kept).sum()),
        reason="" if both.any() else _why_not(correct, len(names)),
    )


def _why_not(correct: np.ndarray, num_groups: int) -> str:
    missing = [side for side, there in (("correct", correct.any()), ("incorrect", (~correct).any())) if not there]
    if missing:
        return f"no {' and no '.join(missing)} answer has attention"
    return f"none of {num_groups} groups has both correct and incorrect answers"


@dataclass(frozen=True, eq=False, kw_only=True)
class Separation:
    """Area under the ROC curve of each head's mean attention within groups: `auc` (L, H).

    The probability that a correct answer has more attention than an incorrect one of its group: 0.5 is chance, and
    below it incorrect answers have more. It is a mean over groups, weighted as in `Labelled`. A head's strength is its
    distance from 0.5. `best` is the (row, head) of the strongest, and `chance` the distance that the strongest of all
    heads exceeds in 5 of 100 random labellings within groups, which corrects for multiple comparisons; answers to one
    question keep their labels together. All is nan and
    `best` None where no answer counts; `labelled.reason` says why.
    """

    auc: np.ndarray
    labelled: Labelled
    best: tuple[int, int] | None
    chance: float

    @property
    def strength(self) -> float:
        """Distance of the best head from 0.5."""
        return float("nan") if self.best is None else float(abs(self.auc[self.best] - 0.5))

    @property
    def beyond_chance(self) -> bool:
        """Whether the best head is stronger than the best of as many heads under 95 of 100 random labellings."""
        return self.strength > self.chance + _ROUNDING

    @property
    def num_beyond(self) -> int:
        """How many heads are beyond the limit of chance, either way."""
        return self.num_higher + self.num_lower

    @property
    def num_higher(self) -> int:
        """How many heads beyond the limit of chance have more attention in correct answers."""
        return int((self.auc - 0.5 > self.chance + _ROUNDING).sum())

    @property
    def num_lower(self) -> int:
        """How many heads beyond the limit of chance have more attention in incorrect answers."""
        return int((0.5 - self.auc > self.chance + _ROUNDING).sum())


def separation(
    means: np.ndarray,
    sides: Sides,
    groups: Sequence[str] | np.ndarray,
    *,
    clusters: np.ndarray | None = None,
    permutations: int = 2000,
    seed: int = 0,
) -> Separation:
    """Compare the sides in each head of `means` (A, L, H) within the groups (A,); answers without attention are out.

    `clusters` (A,): the question of each answer; None: each has its own.
    """
    counted = labelled(means, sides, groups, clusters=clusters)
    if counted.reason:
        return Separation(auc=np.full(means.shape[1:], np.nan), labelled=counted, best=None, chance=float("nan"))
    ranked = centred_ranks(means.reshape(len(means), -1)[counted.rows], counted.group)
    distance = _distances(ranked, counted.correct[None], counted)[0].reshape(means.shape[1:])
    row, head = np.unravel_index(int(np.abs(distance).argmax()), distance.shape)
    limit = _strongest_by_chance(ranked, counted, permutations, seed)
    return Separation(auc=0.5 + distance, labelled=counted, best=(int(row), int(head)), chance=limit)


def best_of_layers(found: Separation, layers: Sequence[int], used: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """The head of each of the layers `used` that has the most attention in correct answers, as (layer, head)."""
    if found.best is None:
        return ()
    return tuple((layer, int(found.auc[layers.index(layer)].argmax())) for layer in used)


def by_length(groups: Sequence[str], lengths: np.ndarray) -> list[str]:
    """Groups (A,) of answers that also have the same number of tokens, `lengths` (A,)."""
    return [f"{length} tokens, {group}" for group, length in zip(groups, lengths.tolist(), strict=True)]


def areas(values: np.ndarray, counted: Labelled) -> np.ndarray:
    """Area under the curve (K,) within groups of each column of `values` (A, K); nan where it cannot be ranked."""
    if counted.reason:
        return np.full(values.shape[1], np.nan)
    own = values[counted.rows]
    found = 0.5 + _distances(centred_ranks(own, counted.group), counted.correct[None], counted)[0]
    return np.where(np.isfinite(own).all(axis=0), found, np.nan)


def area_of(means: np.ndarray, head: tuple[int, int], sides: Sides, groups: Sequence[str] | np.ndarray) -> float:
    """Area under the curve within groups of one head, (row, head) of `means` (A, L, H), as in `Separation`."""
    return float(areas(means[:, head[0], [head[1]]], labelled(means, sides, groups))[0])


def centred_ranks(values: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Ranks (n, K) of the columns within each group, ties at their mean, around 0 and divided by size + 1."""
    found = np.empty(values.shape)
    for own in range(int(group.max(initial=-1)) + 1):
        rows = np.flatnonzero(group == own)
        found[rows] = (_ranks(values[rows]) - (len(rows) + 1) / 2) / (len(rows) + 1)
    return found


def _ranks(values: np.ndarray) -> np.ndarray:
    """Ranks (n, K) of each column from 1 on, ties at their mean: `analysis.stats.ranks` for all columns at once."""
    order = values.argsort(axis=0)
    ordered = np.take_along_axis(values, order, axis=0)
    place = np.broadcast_to(np.arange(len(values))[:, None], values.shape)
    starts = np.concatenate([np.ones((1, values.shape[1]), dtype=bool), ordered[1:] != ordered[:-1]])
    ends = np.concatenate([starts[1:], np.ones((1, values.shape[1]), dtype=bool)])
    first = np.maximum.accumulate(np.where(starts, place, 0), axis=0)
    last = np.minimum.accumulate(np.where(ends, place, len(values))[::-1], axis=0)[::-1]
    ranks = np.empty(values.shape)
    np.put_along_axis(ranks, order, (first + last) / 2 + 1, axis=0)
    return ranks


def _distances(ranked: np.ndarray, labels: np.ndarray, counted: Labelled) -> np.ndarray:
    """Area under the curve minus 0.5 of each labelling (P, n) for each column of centred ranks (n, K): (P, K)."""
    return np.asarray(labels.astype(ranked.dtype) @ ranked / ranked.dtype.type(counted.weights.sum()))


def _strongest_by_chance(ranked: np.ndarray, counted: Labelled, permutations: int, seed: int) -> float:
    # In float32: twice as fast, and exact to a millionth.
    distances = _distances_by_chance(ranked.astype(np.float32), counted, permutations, seed)
    return float(np.quantile(np.abs(distances).max(axis=1), 0.95))


def areas_by_chance(means: np.ndarray, counted: Labelled, *, permutations: int = 1000, seed: int = 0) -> np.ndarray:
    """Areas under the curve (P, K) of the columns of `means` (A, K) with labels shuffled."""
    return 0.5 + _distances_by_chance(centred_ranks(means[counted.rows], counted.group), counted, permutations, seed)


def _distances_by_chance(ranked: np.ndarray, counted: Labelled, permutations: int, seed: int) -> np.ndarray:
    """Area minus 0.5 of each head (P, K) for each random labelling."""
    rng = np.random.default_rng(seed)
    labels = shuffled(counted.correct, counted.group, counted.cluster, count=permutations, rng=rng)
    return _distances(ranked, labels, counted)


def areas_with_interval(values: np.ndarray, counted: Labelled) -> Intervals:
    """The areas (K,) of the columns of `values` (A, K) with intervals, by question (DeLong, 1988; Obuchowski, 1997).

    With fewer than ten questions that have a correct or an incorrect answer there are no intervals.
    """
    found = areas(values, counted)
    if counted.reason:
        return Intervals(found, found, found)
    parts = _parts_of_error(values[counted.rows], found, counted)
    half = error_by_cluster(parts, counted.cluster, np.full(len(found), counted.num_questions))
    # On the scale of log-odds, where it covers areas near 1 too; of an area of 0 or 1 the error is 0.
    factor = np.exp(np.minimum(np.where(half == 0, 0.0, divided(half, found * (1 - found))), _MOST))
    low, high = (found * odds / (found * odds + 1 - found) for odds in (1 / factor, factor))
    return Intervals(found, low, high)


def difference_of_areas(first: np.ndarray, second: np.ndarray, counted: Labelled) -> Estimate:
    """The area of `first` (A, K) minus that of `second` (A, M), means over their columns, with its interval.

    It is by question; with fewer than ten that have a correct or an incorrect answer there is none.
    """
    n = len(counted.rows)
    if counted.reason:
        return Estimate(math.nan, math.nan, math.nan, n, counted.excluded, counted.reason)
    own = [(areas(values, counted), values[counted.rows]) for values in (first, second)]
    value = float(own[0][0].mean() - own[1][0].mean())
    one, other = (_parts_of_error(values, found, counted).mean(axis=1) for found, values in own)
    half = float(error_by_cluster((one - other)[:, None], counted.cluster, np.array([counted.num_questions]))[0])
    few = FEW if math.isnan(half) else ""
    return Estimate(value, value - half, value + half, n, counted.excluded, no_interval=few)


def area_estimate(values: np.ndarray, counted: Labelled) -> Estimate:
    """The area of the values (A,) with its interval, as `areas_with_interval`, or why one of them is missing."""
    found = areas_with_interval(values[:, None], counted)
    value, low, high = (float(one[0]) for one in (found.value, found.low, found.high))
    few = FEW if math.isnan(low) and not counted.reason else ""
    return Estimate(value, low, high, len(counted.rows), counted.excluded, counted.reason, few)


FEW = f"fewer than {LEAST_FOR_INTERVAL} questions have a correct or an incorrect answer"


def _parts_of_error(values: np.ndarray, area: np.ndarray, counted: Labelled) -> np.ndarray:
    """What each answer adds to the error of the areas (K,): (n, K), of `values` (n, K).

    It is how much more often, or less, the answer compares correctly in its group than the area says. The factor makes
    the sum of squares that of chance in groups of any size.
    """
    size, side = np.bincount(counted.group), 2 * counted.group + counted.correct
    own_side, other_side = np.bincount(side)[side], np.bincount(side, minlength=2 * len(size))[side ^ 1]
    all_ranks, side_ranks = (
        centred_ranks(values, by) * (count + 1)[:, None] + (count[:, None] + 1) / 2
        for by, count in ((counted.group, size[counted.group]), (side, own_side))
    )
    below = (all_ranks - side_ranks) / other_side[:, None]
    excess = np.where(counted.correct[:, None], below, 1 - below) - area
    weight = counted.weights / counted.weights.sum() * np.sqrt((size + 1) / (size + 4))
    return np.asarray(excess * (weight[counted.group] / own_side)[:, None])


@dataclass(frozen=True, eq=False, kw_only=True)
class HeldOut:
    """The K strongest heads of one half of the questions, and their areas under the curve on the other half.

    `heads`: (row, head) of each, the strongest of the first half first. `chosen` (K,): areas on the half that chose;
    `auc` (K,): on the other, with intervals. `judging`: the answers of the other half that count. `chance`: the
    distance from 0.5 there that the strongest of these K heads exceeds in 5 of 100 random labellings. `reason` says why
    there is no head.
    """

    heads: tuple[tuple[int, int], ...]
    chosen: np.ndarray
    auc: Intervals
    judging: Labelled
    chance: float
    reason: str

    @property
    def num_beyond(self) -> int:
        """How many heads are beyond the limit of chance on the other half too, on the same side of 0.5."""
        return int(((self.auc.value - 0.5) * np.sign(self.chosen - 0.5) > self.chance + _ROUNDING).sum())


def held_out(
    means: np.ndarray, counted: Labelled, *, most: int = TOP, permutations: int = 2000, seed: int = 0
) -> HeldOut:
    """Choose heads of `means` (A, L, H) on half of the questions of each group and side, and judge them on the rest."""
    half = folds(counted.group.astype(str), counted.sides, clusters=counted.cluster, count=2, seed=seed)
    choosing, judging = counted.among(half == 0), counted.among(half == 1)
    flat = means.reshape(len(means), -1)
    found = areas(flat, choosing)
    reason = counted.reason or choosing.reason or judging.reason
    best = np.argsort(-np.abs(found - 0.5), kind="stable")[: 0 if reason else most]
    own = flat[:, best].astype(float)
    return HeldOut(
        heads=tuple((int(place) // means.shape[2], int(place) % means.shape[2]) for place in best),
        chosen=found[best],
        auc=areas_with_interval(own, judging),
        judging=judging,
        chance=float("nan") if reason else _limit(own, judging, permutations, seed),
        reason=reason and f"too few questions for two halves: {reason}",
    )


def _limit(values: np.ndarray, counted: Labelled, permutations: int, seed: int) -> float:
    ranked = centred_ranks(values[counted.rows], counted.group)
    return _strongest_by_chance(ranked, counted, permutations, seed)


@dataclass(frozen=True, eq=False, kw_only=True)
class TopHeads:
    """K heads in detail, the strongest first: those that one half of the questions chose, and the TOP of all answers.

    `heads`: (row, head) of each. Areas under the curve (K,): `auc` of all answers; the others of the half that did not
    choose: `held_out`, `same_length` among answers of the same group and length, `words` of the attention expected from
    words and positions alone, `residual` of the rest; nan where a head was not chosen or words are unknown. `shares`
    (K,): in how many of the answers Algorithm 1 selects the head.
    """

    heads: tuple[tuple[int, int], ...]
    auc: np.ndarray
    held_out: Intervals
    same_length: Intervals
    words: Intervals
    residual: Intervals
    shares: np.ndarray


def top_heads(
    means: np.ndarray,
    found: Separation,
    half: HeldOut,
    *,
    same_length: Labelled,
    expected: np.ndarray,
    residual: np.ndarray,
    shares: np.ndarray,
) -> TopHeads:
    """Describe heads of `means` (A, L, H) by the half of the answers that did not choose them.

    `expected` and `residual` (A, L, H) are nan where unknown, `shares` are (L, H). `same_length`: the answers that
    count where groups are those of `by_length`.
    """
    heads = (*half.heads, *(head for head in _strongest(found) if head not in half.heads))
    order = sorted(range(len(heads)), key=lambda at: -abs(found.auc[heads[at]] - 0.5))
    rows, columns = (np.array([head[axis] for head in heads], dtype=int) for axis in (0, 1))
    chosen = np.arange(len(heads)) < len(half.heads)

    def judged(values: np.ndarray, counted: Labelled) -> Intervals:
        return _at(areas_with_interval(np.where(chosen, values[:, rows, columns], np.nan), counted), order)

    return TopHeads(
        heads=tuple(heads[at] for at in order),
        auc=found.auc[rows, columns][order],
        held_out=judged(means, half.judging),
        same_length=judged(means, same_length.among(np.isin(same_length.rows, half.judging.rows))),
        words=judged(expected, half.judging),
        residual=judged(residual, _with(residual[half.judging.rows], half.judging)),
        shares=shares[rows, columns][order],
    )


def _strongest(found: Separation) -> list[tuple[int, int]]:
    """The TOP heads over all answers, as (row, head), the strongest first; none where no answer counts."""
    if found.best is None:
        return []
    places = np.argsort(-np.abs(found.auc - 0.5), axis=None, kind="stable")[:TOP]
    return [divmod(int(place), found.auc.shape[1]) for place in places]


def _with(values: np.ndarray, counted: Labelled) -> Labelled:
    """Those of the answers that count whose values (n, ...) are defined in a head."""
    return counted.among(np.isfinite(values).any(axis=tuple(range(1, values.ndim))))


def _at(intervals: Intervals, order: list[int]) -> Intervals:
    return Intervals(intervals.value[order], intervals.low[order], intervals.high[order])
