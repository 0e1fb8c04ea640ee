"""One answer against a reference of judged answers: how its uncertainty ranks, and what its weakest point is worth."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from analysis.stats import Z, percentile_of
from rauq.labels import number
from rauq.recorded.scores import WeakPointShare, WeakPointWorth

BINS = 24
_ENDS = (0.5, 99.5)  # percentiles between which the histogram is drawn


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Where an uncertainty ranks among `count` answers.

    `percentile`: the share of answers that are less uncertain, in percent. A histogram has `edges` (BINS + 1,), and of
    each bin the numbers of `correct` and `incorrect` answers (BINS,); what is beyond its ends is counted in the
    outermost bins.
    """

    uncertainty: float
    percentile: float
    count: int
    edges: tuple[float, ...]
    correct: tuple[int, ...]
    incorrect: tuple[int, ...]


def standing(uncertainty: float, uncertainties: np.ndarray, correct: np.ndarray) -> Standing | None:
    """Compare an uncertainty with those of a reference (A,), of which `correct` (A,) says which are correct.

    None where the uncertainty is undefined or the reference has no answer.
    """
    count = len(uncertainties)
    if math.isnan(uncertainty) or not count:
        return None
    first, last = np.percentile(uncertainties, _ENDS).tolist()
    edges = np.linspace(first, last, BINS + 1)
    shown = np.clip(uncertainties, edges[0], edges[-1])
    rows = (np.histogram(shown[chosen], edges)[0].tolist() for chosen in (correct, ~correct))
    right, wrong = map(tuple, rows)
    return Standing(
        uncertainty=uncertainty,
        percentile=percentile_of(uncertainties, uncertainty),
        count=count,
        edges=tuple(edges.tolist()),
        correct=right,
        incorrect=wrong,
    )


def rank_in_words(found: Standing, *, written: bool = False) -> str:
    """How the answer ranks, as a headline: by the answers that are less uncertain, or by those that are more.

    `written`: it ranks among answers that the model read, and did not write.
    """
    of = "written answers that this model read" if written else "answers"
    side = "uncertain" if found.percentile >= 50 else "confident"
    percent = max(found.percentile, 100 - found.percentile)
    if percent == 100:
        return f"More {side} than all {found.count:,} {of}"
    share = "over 99" if percent > 99 else f"{percent:.0f}"
    return f"More {side} than {share} % of {found.count:,} {of}"


def against_verdict(found: Standing, *, is_correct: bool) -> str:
    """Say that the score contradicts the verdict, which it does in its outer quarters alone; else "".

    So of a correct answer among the most uncertain quarter, or an incorrect one among the least uncertain quarter.
    """
    if is_correct and found.percentile >= 75:
        return "Correct all the same: its rank suggests an error."
    if not is_correct and found.percentile < 25:
        return "Incorrect all the same: its rank does not show it."
    return ""


LEAST = 20  # questions of a side: a share of answers to fewer says nothing


class WeakToken(NamedTuple):
    """Whether the weakest token of an answer carries the fact, and the share of its tokens that do."""

    hit: bool
    chance: float


def weak_token(collapse: np.ndarray, shown: np.ndarray, carries: np.ndarray) -> WeakToken | None:
    """Look at the largest `collapse` (N,) among the tokens that are `shown` (N,); which `carries` the fact (N,).

    None if none of these tokens carries the fact, or all do, since then the largest tells nothing.
    """
    candidates = np.flatnonzero(shown & ~np.isnan(collapse))
    chosen = carries[candidates]
    if not chosen.any() or chosen.all():
        return None
    return WeakToken(bool(chosen[np.argmax(collapse[candidates])]), float(chosen.mean()))


def weak_point_share(found: Sequence[WeakToken | None], *, clusters: np.ndarray | None = None) -> WeakPointShare | None:
    """The share of answers whose weakest token carries the fact; None with answers of fewer than LEAST questions.

    `clusters`: equal for answers to one question, as many as were `found`; None: each is its own.
    """
    rows = [row for row, one in enumerate(found) if one is not None]
    labels = (np.arange(len(found)) if clusters is None else clusters)[rows]
    _, cluster, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    if len(sizes) < LEAST:
        return None
    hits, chances = np.array([found[row] for row in rows], dtype=float).T
    share, chance = hits.mean(), chances.mean()
    by_question = np.bincount(cluster, chances * (1 - chances)) * sizes  # at most: as if all its answers were one
    spread = np.sqrt(by_question.sum()) / len(rows)
    one_question = sizes.max() / (2 * len(rows))  # a share changes by whole questions
    error = np.sqrt((np.bincount(cluster, hits - share) ** 2).sum()) / len(rows)
    numbers = (share, chance, chance + Z * spread + one_question, error)
    share, chance, limit, error = (round(float(value), 4) for value in numbers)
    return WeakPointShare(count=len(rows), share=share, chance=chance, limit=limit, error=error)


def worth_in_words(worth: WeakPointWorth) -> str:
    """What the weakest point of an answer is worth, in a sentence or two; "" where too few answers count."""
    sides = {"incorrect": worth.incorrect, "correct": worth.correct}
    known = {side: found for side, found in sides.items() if found is not None}
    if not known:
        return ""
    what = "token marked as the fact" if worth.marked else "name or number that is not in the question"
    shares = " and ".join(
        f"{_percent(found.share)} of {found.count:,} {side} answers (chance: {_percent(found.chance)})"
        for side, found in known.items()
    )
    by_chance = [side for side, found in known.items() if found.share <= found.limit]
    return f"In the reference, the weakest point falls on a {what} in {shares}.{_verdict(by_chance) or _alike(worth)}"


def _alike(worth: WeakPointWorth) -> str:
    """That the weakest point tells nothing of the verdict, where the shares do not differ significantly (95 %)."""
    incorrect, correct = worth.incorrect, worth.correct
    if incorrect is None or correct is None:
        return ""
    hits = incorrect.share * incorrect.count + correct.share * correct.count
    common = hits / (incorrect.count + correct.count)
    spread = np.sqrt(common * (1 - common) * (1 / incorrect.count + 1 / correct.count))
    if abs(incorrect.share - correct.share) > Z * max(spread, math.hypot(incorrect.error, correct.error)):
        return ""
    return " The two shares do not differ significantly."


def _verdict(by_chance: Sequence[str]) -> str:
    if len(by_chance) > 1:
        return " Neither is above chance."
    return f" In {by_chance[0]} answers this is not above chance." if by_chance else ""


def _percent(share: float) -> str:
    return f"{number(100 * share, places=0)} %"
