"""How uncertain one answer is, compared with other answers of its model whose verdicts are known."""

import math
from dataclasses import dataclass

import numpy as np

from analysis.stats import percentile_of, share_interval
from rauq.labels import number

NEAREST = 100  # answers whose verdicts say what a score is worth
FEWEST = 5 * NEAREST  # of a reference: from fewer, a fifth of them are the nearest
BINS = 24
_ENDS = (0.5, 99.5)  # percentiles between which the histogram is drawn


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Where an uncertainty ranks among `count` answers, and how many of the `nearest` of them are correct.

    `percentile`: the share of answers that are less uncertain, in percent. `share`, `low`, `high`: the share of correct
    ones among the nearest, with its 95 % interval. A histogram has `edges` (BINS + 1,), and of each bin the numbers of
    `correct` and `incorrect` answers (BINS,); what is beyond its ends is counted in the outermost bins.
    """

    uncertainty: float
    percentile: float
    count: int
    nearest: int
    share: float
    low: float
    high: float
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
    nearest = NEAREST if count >= FEWEST else max(1, count // 5)
    places = np.argsort(np.abs(uncertainties - uncertainty), kind="stable")[:nearest]
    hits = int(correct[places].sum())
    low, high = share_interval(hits, nearest)
    first, last = np.percentile(uncertainties, _ENDS).tolist()
    edges = np.linspace(first, last, BINS + 1)
    shown = np.clip(uncertainties, edges[0], edges[-1])
    rows = (np.histogram(shown[chosen], edges)[0].tolist() for chosen in (correct, ~correct))
    right, wrong = map(tuple, rows)
    return Standing(
        uncertainty=uncertainty,
        percentile=percentile_of(uncertainties, uncertainty),
        count=count,
        nearest=nearest,
        share=hits / nearest,
        low=low,
        high=high,
        edges=tuple(edges.tolist()),
        correct=right,
        incorrect=wrong,
    )


def rank_in_words(found: Standing) -> str:
    """How the answer ranks, as a headline: by the answers that are less uncertain, or by those that are more."""
    side = "uncertain" if found.percentile >= 50 else "confident"
    percent = max(found.percentile, 100 - found.percentile)
    if percent == 100:
        return f"More {side} than all {found.count:,} answers of this model"
    share = "over 99" if percent > 99 else f"{percent:.0f}"
    return f"More {side} than {share} % of {found.count:,} answers of this model"


def nearest_in_words(found: Standing) -> str:
    """How many of the answers with the nearest scores are correct."""
    share, low, high = (number(100 * part, places=0) for part in (found.share, found.low, found.high))
    return f"Of the {found.nearest} nearest, {share} % were correct (95 % interval {low} to {high})."
