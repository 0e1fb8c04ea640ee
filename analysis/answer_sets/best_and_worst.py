"""The best and the worst answers of a run, with the mean attention of one layer's heads (paper, figure 2)."""

from dataclasses import dataclass

import numpy as np

from rauq.errors import InvalidInput


@dataclass(frozen=True, eq=False, kw_only=True)
class BestAndWorst:
    """The k best answers and the k worst: `rows` (2k,) are positions among all answers, the best first.

    `attention` (2k, H), `quality` (2k,) and `picks` (2k,) belong to these rows. `head` has the largest mean
    attention over them. `drawn`: a seeded draw broke ties in quality. `excluded` answers have no quality
    or no attention. `reason` says why there are fewer rows than requested; `head` is None where there are none.
    """

    rows: np.ndarray
    attention: np.ndarray
    quality: np.ndarray
    picks: np.ndarray
    head: int | None
    drawn: bool
    excluded: int
    reason: str

    @property
    def k(self) -> int:
        """How many answers there are on each side."""
        return len(self.rows) // 2


def best_and_worst(
    attention: np.ndarray, quality: np.ndarray, picks: np.ndarray, *, k: int = 10, seed: int = 0
) -> BestAndWorst:
    """Choose by quality (A,) alone; `attention` (A, H) are means of one layer, `picks` (A,) the heads selected there.

    Ties are broken by a seeded draw. k shrinks until every best answer is better than every
    worst one.

    Raises:
        InvalidInput: k below 1.
    """
    if k < 1:
        message = f"k is {k}; it must be at least 1."
        raise InvalidInput(message)
    kept = np.flatnonzero(np.isfinite(quality) & np.isfinite(attention).all(axis=1))
    order = kept[np.lexsort((np.random.default_rng(seed).permutation(len(kept)), -quality[kept]))]
    ranked = quality[order]
    size = min(k, int((ranked > ranked[::-1]).sum()))
    rows = np.concatenate([order[:size], order[len(order) - size :]])
    return BestAndWorst(
        rows=rows,
        attention=attention[rows],
        quality=quality[rows],
        picks=picks[rows],
        head=int(attention[rows].mean(axis=0).argmax()) if size else None,
        drawn=cuts_a_tie(ranked, size) or cuts_a_tie(ranked, len(ranked) - size),
        excluded=len(quality) - len(kept),
        reason=_reason(len(kept), size, k),
    )


def cuts_a_tie(ranked: np.ndarray, place: int) -> bool:
    """Whether a cut of the ranking separates answers of equal value."""
    return 0 < place < len(ranked) and bool(ranked[place - 1] == ranked[place])


def _reason(num_kept: int, size: int, k: int) -> str:
    if size == k:
        return ""
    if size:
        return f"because of ties in quality, at most {size} of {num_kept} answers fit on each side"
    if num_kept > 1:
        return f"all {num_kept} answers have the same quality"
    return "fewer than two answers have a quality and attention"
