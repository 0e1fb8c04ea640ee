"""Which heads separate correct from incorrect answers best, and whether the best does so beyond chance."""

from dataclasses import dataclass

import numpy as np

from analysis.answer_sets.sides import Sides
from analysis.metrics import ranks


@dataclass(frozen=True, eq=False, kw_only=True)
class Separation:
    """Area under the ROC curve of each head's mean attention: `auc` (L, H).

    It is the chance that a correct answer has more attention than an incorrect one: 0.5 tells nothing, and below it
    incorrect answers have more. A head's strength is its distance from 0.5. `best` is the (row, head) of the
    strongest, and `chance` the distance that the strongest of all heads exceeds in 5 of 100 random labellings of the
    same answers: looking at many heads, some head always looks good. Without both sides all is nan, `best` None.
    """

    auc: np.ndarray
    num_correct: int
    num_incorrect: int
    excluded: int
    best: tuple[int, int] | None
    chance: float
    reason: str

    @property
    def strength(self) -> float:
        """Distance of the best head from 0.5."""
        return float("nan") if self.best is None else float(abs(self.auc[self.best] - 0.5))

    @property
    def beyond_chance(self) -> bool:
        """Whether the best head is stronger than the best of as many heads mostly is by chance."""
        return self.strength > self.chance


def separation(means: np.ndarray, sides: Sides, *, permutations: int = 500, seed: int = 0) -> Separation:
    """Compare the sides in each head of `means` (A, L, H); answers with an undefined mean are left out."""
    on_a_side = sides.correct | sides.incorrect
    kept = on_a_side & np.isfinite(means).all(axis=(1, 2))
    correct = sides.correct[kept]
    num_correct, num_incorrect = int(correct.sum()), int((~correct).sum())
    counts = {"num_correct": num_correct, "num_incorrect": num_incorrect, "excluded": int((on_a_side & ~kept).sum())}
    if missing := [side for side, n in (("correct", num_correct), ("incorrect", num_incorrect)) if not n]:
        nothing = np.full(means.shape[1:], np.nan)
        reason = f"no {' and no '.join(missing)} answer with attention"
        return Separation(auc=nothing, **counts, best=None, chance=float("nan"), reason=reason)
    ranked = np.array([ranks(values) for values in means[kept].reshape(len(correct), -1).T])  # (L * H, A)
    distance = _distances(ranked, correct[None])[0].reshape(means.shape[1:])
    best = np.unravel_index(int(np.abs(distance).argmax()), distance.shape)
    return Separation(
        auc=0.5 + distance,
        **counts,
        best=(int(best[0]), int(best[1])),
        chance=_strongest_by_chance(ranked, correct, permutations, seed),
        reason="",
    )


def _distances(ranked: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Area under the curve minus 0.5 of each labelling (P, A) for each head's ranks (K, A): (P, K)."""
    size, num_correct = ranked.shape[1], labels[0].sum()
    centred = ranked - (size + 1) / 2
    return labels.astype(ranked.dtype) @ centred.T / (num_correct * (size - num_correct))


def _strongest_by_chance(ranked: np.ndarray, correct: np.ndarray, permutations: int, seed: int) -> float:
    labels = np.random.default_rng(seed).permuted(np.tile(correct, (permutations, 1)), axis=1)
    half = ranked.astype(np.float32)  # twice as fast, and exact to a millionth
    return float(np.quantile(np.abs(_distances(half, labels)).max(axis=1), 0.95))
