"""What came out on this run, in one sentence of numbers for each view.

They are made of our own words and numbers alone, and claim a difference only where its interval leaves out none.
"""

from collections.abc import Sequence

import numpy as np

from analysis.answer_sets.best_and_worst import BestAndWorst
from analysis.answer_sets.calibration import Calibration, share_at
from analysis.answer_sets.captions import signed
from analysis.answer_sets.gaps import Gaps, HeadGaps, gaps
from analysis.answer_sets.heads import PickedHeads, Separation
from analysis.answer_sets.sides import Sides
from analysis.stats import Estimate, in_words
from rauq.labels import number

_TENTHS = (0.1, 0.5, 0.9)


def about_best_and_worst(shown: BestAndWorst, layer: int) -> str:
    """How much more the framed head looks back in the best answers than in the worst."""
    if shown.head is None:
        return "There is nothing to compare"
    best = np.arange(2 * shown.k) < shown.k
    own = gaps(shown.attention[:, [shown.head]], Sides(best, ~best))
    return (
        f"Head {shown.head} of layer {layer} looks back {number(own.correct.mean[0])} in the {shown.k} best answers, "
        f"{number(own.incorrect.mean[0])} in the {shown.k} worst: {difference(own, 0)}"
    )


def about_gap(found: HeadGaps, column: int, layer: int) -> str:
    """The two sides in one layer, for the picked head and beside it for the mean over heads."""
    own = found.picked
    if np.isnan(own.absolute.value[column]):
        return f"Layer {layer}: nothing to compare, for there is {own.reasons[column]}"
    return (
        f"Layer {layer}: the picked head gives correct answers {number(own.correct.mean[column])}, incorrect "
        f"{number(own.incorrect.mean[column])}: {difference(own, column)}, n = {own.correct.count[column]:,} / "
        f"{own.incorrect.count[column]:,}"
    )


def paper_effect(found: HeadGaps, column: int) -> str:
    """Whether the paper's effect shows: more attention in correct answers, plainer in the picked head than on average.

    One layer is the reader's choice, so it is said in how many layers the same comes out.
    """
    own = found.picked
    clear, against = int((own.absolute.low > 0).sum()), int((own.absolute.high < 0).sum())
    layers = f"{clear} of {len(own.absolute.value)} layers"
    if np.isnan(own.absolute.low[column]):
        return "Whether the paper's effect shows here cannot be said."
    if own.absolute.low[column] > 0:
        more = own.absolute.value[column] > abs(found.mean.absolute.value[column])
        plainer = "more than" if more else "no more than"
        verdict = f"The paper's effect shows in this layer, {plainer} in the mean over heads"
    elif own.absolute.high[column] < 0:
        verdict = "In this layer it is the other way round than in the paper: incorrect answers look back more"
    else:
        verdict = "The paper's effect does not show in this layer: the difference is within noise"
    others = f", and the opposite in {against}" if against else ""
    return f"{verdict}. Correct answers look back more in {layers}{others}, each interval taken by itself."


def about_bins(spearman: Estimate, layer: int) -> str:
    """How quality goes with attention."""
    if spearman.reason:
        return f"Layer {layer}: whether quality goes with attention is undefined, for {spearman.reason}"
    if spearman.low > 0:
        verdict = "Quality rises with the picked head's attention"
    elif spearman.high < 0:
        verdict = "Quality falls with the picked head's attention"
    else:
        verdict = "Quality does not go with the picked head's attention beyond noise"
    return f"Layer {layer}: {verdict}: rank correlation {in_words(spearman)}, n = {spearman.n:,}"


def about_further_back(found: HeadGaps, offsets: Sequence[int], layer: int) -> str:
    """At which preceding tokens the picked head differs."""
    own = found.picked.absolute
    if np.isnan(own.value).all():
        return f"Layer {layer}: nothing to compare, for there is {found.picked.reasons[0]}"
    beyond = [str(offset) for offset, low, high in zip(offsets, own.low, own.high, strict=True) if low > 0 or high < 0]
    where = "beyond noise at " + _listed(beyond) if beyond else "beyond noise at none"
    return (
        f"Layer {layer}, one token back: {difference(found.picked, 0)}; of {offsets[0]} to {offsets[-1]} tokens back, "
        f"{where}"
    )


def about_picked(found: PickedHeads, layer: int) -> str:
    """The head that is picked most in a layer."""
    if not (top := found.most_frequent(layer)):
        return f"Layer {layer}: no answer picks a head"
    head, share = top[0]
    others = "".join(f", {_percent(part)} head {other}" for other, part in top[1:])
    count = int(found.counts[found.layers.index(layer)])
    return f"Layer {layer}: {_percent(share)} of {count:,} answers pick head {head}{others}"


def about_separation(result: Separation, layers: Sequence[int]) -> str:
    """The head that separates best, and whether looking at so many heads explains it."""
    if result.best is None:
        return f"Nothing to separate: there is {result.reason}"
    row, head = result.best
    verdict = "beyond" if result.beyond_chance else "not beyond"
    return (
        f"Head {head} of layer {layers[row]} separates best, ROC-AUC {_short(result.auc[result.best])}: {verdict} what "
        f"the best of {result.auc.size:,} heads reaches by chance, {_short(0.5 - result.chance)} or "
        f"{_short(0.5 + result.chance)}"
    )


def about_meaning(found: Calibration, uncertainty: np.ndarray) -> str:
    """The share of correct answers among the surest, in the middle, and among the least sure."""
    if found.reason:
        return f"What a score means cannot be said: {found.reason}"
    scores = np.nanquantile(uncertainty, _TENTHS)
    surest, middle, least = (_share(found, float(score)) for score in scores)
    return (
        f"Correct: {surest} at the score of the surest tenth, {middle} at the median, {least} at the least sure tenth"
    )


def about_ranking(prr: Estimate, roc_auc: Estimate) -> str:
    """How well the score ranks these answers."""
    if prr.reason and prr.reason == roc_auc.reason:
        return f"It ranks nothing: {prr.reason}."
    return f"It ranks {prr.n:,} answers with PRR {in_words(prr)} and ROC-AUC {in_words(roc_auc)}."


def difference(own: Gaps, column: int) -> str:
    """A difference of means with its interval, or that there is none."""
    value, low, high = (ends[column] for ends in (own.absolute.value, own.absolute.low, own.absolute.high))
    if np.isnan(low):
        return f"{signed(value)}, {own.reasons[column]}"
    noise = "" if low > 0 or high < 0 else ", no difference beyond noise"
    return f"{signed(value)} [{signed(low)}, {signed(high)}]{noise}"


def _share(found: Calibration, score: float) -> str:
    share, low, high = (100 * part for part in share_at(found, score))
    return f"{number(share, places=0)} % [{number(low, places=0)}, {number(high, places=0)}]"


def _short(value: float) -> str:
    return number(value, places=2)


def _percent(share: float) -> str:
    return f"{number(100 * share, places=0)} %"


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
