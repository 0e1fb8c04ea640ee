"""How well the mean attention of each head separates correct from incorrect answers, within groups of answers."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.answer_sets.sides import Sides
from analysis.stats import Intervals, draw_counts, resampled_roc_auc, with_interval

TOP = 10  # heads that are shown one by one
LEAST_FOR_INTERVAL = 10  # answers of a side: with fewer, an area has no interval


@dataclass(frozen=True, eq=False, kw_only=True)
class Labelled:
    """The n answers that count: on a side, with attention, and in one of the groups that have both sides.

    `rows` (n,): their positions among A answers. `correct` (n,): True, or False where incorrect. `group` (n,): the
    position of their group in `names`. `left_out`: groups without one of the sides. `excluded`: answers on a side
    without attention. `reason` says why no answer counts.
    """

    rows: np.ndarray
    correct: np.ndarray
    group: np.ndarray
    names: tuple[str, ...]
    left_out: tuple[str, ...]
    excluded: int
    reason: str

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
        found = labelled(np.zeros((len(chosen), 1)), sides, np.array(self.names, dtype=object)[self.group])
        return Labelled(**{**vars(found), "rows": self.rows[found.rows]})


def labelled(values: np.ndarray, sides: Sides, groups: Sequence[str] | np.ndarray) -> Labelled:
    """The answers that count, of the values (A, ...), and of the group of each answer (A,)."""
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
    heads exceeds in 5 of 100 random labellings within groups, which corrects for multiple comparisons. All is nan and
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
        return self.strength > self.chance

    @property
    def num_beyond(self) -> int:
        """How many heads are beyond the limit of chance, either way."""
        return self.num_higher + self.num_lower

    @property
    def num_higher(self) -> int:
        """How many heads beyond the limit of chance have more attention in correct answers."""
        return int((self.auc - 0.5 > self.chance).sum())

    @property
    def num_lower(self) -> int:
        """How many heads beyond the limit of chance have more attention in incorrect answers."""
        return int((0.5 - self.auc > self.chance).sum())


def separation(
    means: np.ndarray, sides: Sides, groups: Sequence[str] | np.ndarray, *, permutations: int = 2000, seed: int = 0
) -> Separation:
    """Compare the sides in each head of `means` (A, L, H) within the groups (A,); answers without attention are out."""
    counted = labelled(means, sides, groups)
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
    distances = _distances_by_chance(ranked, counted, permutations, seed)
    return float(np.quantile(np.abs(distances).max(axis=1), 0.95))


def areas_by_chance(means: np.ndarray, counted: Labelled, *, permutations: int = 1000, seed: int = 0) -> np.ndarray:
    """Areas under the curve (P, K) of the columns of `means` (A, K) with labels shuffled within groups."""
    return 0.5 + _distances_by_chance(centred_ranks(means[counted.rows], counted.group), counted, permutations, seed)


def _distances_by_chance(ranked: np.ndarray, counted: Labelled, permutations: int, seed: int) -> np.ndarray:
    """Area minus 0.5 of each head (P, K) for each random labelling."""
    labels = np.tile(counted.correct, (permutations, 1))
    rng = np.random.default_rng(seed)
    for own in range(len(counted.names)):
        rows = np.flatnonzero(counted.group == own)
        labels[:, rows] = rng.permuted(labels[:, rows], axis=1)
    return _distances(ranked.astype(np.float32), labels, counted)  # twice as fast, and exact to a millionth


def areas_with_interval(values: np.ndarray, counted: Labelled, *, resamples: int = 1000, seed: int = 0) -> Intervals:
    """The areas (K,) of the columns of `values` (A, K) with bootstrap intervals, each side of a group resampled.

    With fewer than ten correct or incorrect answers there are no intervals, which would be too narrow.
    """
    found = areas(values, counted)
    if min(counted.correct.sum(), (~counted.correct).sum()) < LEAST_FOR_INTERVAL:
        return Intervals(found, *np.full((2, len(found)), np.nan))
    resampled = np.zeros((resamples, values.shape[1]))
    rng = np.random.default_rng(seed)
    for own, weight in enumerate(counted.weights / max(counted.weights.sum(), 1e-12)):
        rows = np.flatnonzero(counted.group == own)
        counts = _drawn(rng, counted.correct[rows], resamples)
        for column in np.flatnonzero(np.isfinite(found)):
            own_values = -values[counted.rows[rows], column]
            resampled[:, column] += weight * resampled_roc_auc(own_values, counted.correct[rows].astype(float), counts)
    return with_interval(found, resampled)


def _drawn(rng: np.random.Generator, correct: np.ndarray, resamples: int) -> np.ndarray:
    """How often each answer is drawn (n, R), as many of each side as there are."""
    counts = np.zeros((len(correct), resamples), dtype=np.int32)
    for side in (True, False):
        rows = np.flatnonzero(correct == side)
        counts[rows] = draw_counts(rng, len(rows), count=resamples).T
    return counts


@dataclass(frozen=True, eq=False, kw_only=True)
class HeldOut:
    """The K strongest heads of one half of the answers, and their areas under the curve on the other half.

    `heads`: (row, head) of each, the strongest of the first half first. `chosen` (K,): areas on the half that chose;
    `auc` (K,): on the other, with intervals. `reason` says why there is no head.
    """

    heads: tuple[tuple[int, int], ...]
    chosen: np.ndarray
    auc: Intervals
    reason: str


def held_out(means: np.ndarray, counted: Labelled, *, most: int = TOP, resamples: int = 1000, seed: int = 0) -> HeldOut:
    """Choose heads of `means` (A, L, H) on half of each side of each group, and judge them on the rest."""
    first = _half(counted, np.random.default_rng(seed))
    choosing, judging = counted.among(first), counted.among(~first)
    flat = means.reshape(len(means), -1)
    found = areas(flat, choosing)
    reason = counted.reason or choosing.reason or judging.reason
    best = np.argsort(-np.abs(found - 0.5), kind="stable")[: 0 if reason else most]
    return HeldOut(
        heads=tuple((int(place) // means.shape[2], int(place) % means.shape[2]) for place in best),
        chosen=found[best],
        auc=areas_with_interval(flat[:, best], judging, resamples=resamples, seed=seed),
        reason=reason and f"too few answers for two halves: {reason}",
    )


def _half(counted: Labelled, rng: np.random.Generator) -> np.ndarray:
    """Half of the answers (n,), as equally of each side of each group as can be."""
    first = np.zeros(len(counted.rows), dtype=bool)
    for own in range(len(counted.names)):
        for side in (True, False):
            rows = rng.permutation(np.flatnonzero((counted.group == own) & (counted.correct == side)))
            first[rows[int(rng.integers(2)) :: 2]] = True
    return first


@dataclass(frozen=True, eq=False, kw_only=True)
class TopHeads:
    """K heads in detail, the strongest first: those that one half of the answers chose, and the strongest of all.

    `heads`: (row, head) of each. Areas under the curve (K,): `auc` of all answers, `held_out` of the half that did not
    choose, `same_length` among answers of the same group and length, `words` of the attention expected from words
    alone, `residual` of the rest; nan where a head was not chosen or words are unknown. `shares` (K,): in how many of
    the answers Algorithm 1 selects the head.
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
    shares: np.ndarray,
    resamples: int = 1000,
    seed: int = 0,
) -> TopHeads:
    """Describe heads of `means` (A, L, H); `expected` (A, L, H) is nan where unknown, `shares` are (L, H).

    `same_length`: the answers that count where groups are those of `by_length`.
    """
    best = (found.best,) if found.best is not None and found.best not in half.heads else ()
    heads = (*half.heads, *best)
    order = sorted(range(len(heads)), key=lambda at: -abs(found.auc[heads[at]] - 0.5))
    heads = tuple(heads[at] for at in order)
    rows, columns = (np.array([head[axis] for head in heads], dtype=int) for axis in (0, 1))
    own, words = means[:, rows, columns], expected[:, rows, columns]
    missing = np.full(len(best), np.nan)
    return TopHeads(
        heads=heads,
        auc=found.auc[rows, columns],
        held_out=Intervals(*(np.append(end, missing)[order] for end in (half.auc.value, half.auc.low, half.auc.high))),
        same_length=areas_with_interval(own, same_length, resamples=resamples, seed=seed),
        words=areas_with_interval(words, found.labelled, resamples=resamples, seed=seed),
        residual=areas_with_interval(own - words, found.labelled, resamples=resamples, seed=seed),
        shares=shares[rows, columns],
    )
