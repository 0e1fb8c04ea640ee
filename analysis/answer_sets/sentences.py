"""What each figure of a set of answers shows and does not show, and what came out on this run, in sentences."""

from collections.abc import Sequence

import numpy as np

from analysis.answer_sets.best_and_worst import BestAndWorst
from analysis.answer_sets.calibration import Calibration, share_at
from analysis.answer_sets.gaps import Gaps, HeadGaps, gaps
from analysis.answer_sets.heads import Agreement, PickedHeads, Separation
from analysis.answer_sets.quality_bins import Correlations, QualityBins
from analysis.answer_sets.sides import Sides
from analysis.quality.judgement import Thresholds
from analysis.stats import Estimate, in_words
from rauq.labels import number

TOKENS = {"all": "the whole answer", "fact": "the tokens that carry the fact", "other": "the other tokens"}


def best_and_worst_caption(shown: BestAndWorst, layer: int, *, tokens: str = "all") -> str:
    """Which rows of figure 2 are shown and which head is framed."""
    if shown.head is None:
        return joined(f"No answers to show: {shown.reason}.", left_out(shown.excluded))
    return joined(
        f"Mean attention to the previous token over {TOKENS[tokens]}, layer {layer}: the {shown.k} answers of highest "
        f"quality, and the {shown.k} of lowest. Ringed: the head that the answer picked. Framed: head {shown.head}, "
        "the highest mean of these rows.",
        "Among answers of equal quality a seeded draw chose." if shown.drawn else "",
        f"Fewer rows than asked for: {shown.reason}." if shown.reason else "",
        left_out(shown.excluded),
    )


def gap_caption(gaps: HeadGaps, column: int, thresholds: Thresholds, *, tokens: str = "all") -> str:
    """Both differences of one column of figure 3a, and how many answers are behind them."""
    picked, mean = (_difference(own, column) for own in (gaps.picked, gaps.mean))
    return joined(
        f"Mean attention over {TOKENS[tokens]}, correct minus incorrect.",
        f"Picked head: {picked}. Mean over heads: {mean}.",
        sides_sentence(gaps.picked, column, thresholds),
        "Boxes: the middle half, its median, and dashed the mean.",
    )


def sides_sentence(gaps: Gaps, column: int, thresholds: Thresholds) -> str:
    """How many answers are on either side, how many on none, and what the percentage is of."""
    num_correct, num_incorrect = int(gaps.correct.count[column]), int(gaps.incorrect.count[column])
    rest = len(gaps.values) - num_correct - num_incorrect
    return joined(
        f"{num_correct:,} correct answers (quality above {thresholds.correct:g}), {num_incorrect:,} incorrect (below "
        f"{thresholds.incorrect:g})" + (f", {rest:,} neither or without such tokens." if rest else "."),
        "Percent: of the mean of incorrect answers. Brackets: 95 % bootstrap intervals.",
    )


def bins_caption(bins: QualityBins, found: Correlations) -> str:
    """The correlations of figure 3b, and what its bins are."""
    if bins.reason:
        return f"Nothing to show: {bins.reason}."
    return joined(
        f"{len(bins.rows):,} answers in {len(bins.count)} bins of about equal size: mean quality with 95 % bootstrap "
        "interval; a bin of one quality has none.",
        f"Spearman {in_words(found.spearman)}, Pearson {in_words(found.pearson)}.",
        left_out(bins.excluded),
    )


def separation_caption(result: Separation, layers: Sequence[int]) -> str:
    """The head that separates best, against the best of as many heads by chance."""
    if result.best is None:
        return f"Nothing to compare: {result.reason}."
    row, head = result.best
    verdict = "beyond chance" if result.beyond_chance else "not beyond chance"
    more = "correct" if result.auc[result.best] > 0.5 else "incorrect"
    return joined(
        f"Chance that a correct answer has more attention than an incorrect one, {result.num_correct:,} against "
        f"{result.num_incorrect:,}. Framed: layer {layers[row]} head {head}, {number(result.auc[result.best])}: {more} "
        "answers have more.",
        f"The best of {result.auc.size:,} heads looks good by chance too: with labels shuffled it is further than "
        f"{number(result.chance)} from 0.5 in 1 of 20 cases, and here it is {number(result.strength)}: {verdict}.",
        "An answer's prompt also decides where heads look: compare within a group before believing it.",
        left_out(result.excluded),
    )


def picked_heads_caption(picked: PickedHeads) -> str:
    """What a share is of."""
    most = int(picked.counts.max(initial=0))
    return f"In how many of {most:,} answers, those of two tokens or more, a head has the highest mean of its layer."


def picks_note(stored: np.ndarray) -> str:
    """How many answers have no stored picks, given which have (A,); empty where all have."""
    lacking = int((~stored).sum())
    return (
        f"This run was made before the heads that scoring picks were stored: for {lacking:,} answers they are picked "
        "here from mean attention in half precision, and may differ where two heads are nearly equal."
        if lacking
        else ""
    )


def agreement_caption(found: Agreement) -> str:
    """In how many layers all groups have one most frequent head."""
    if len(found.groups) < 2:
        return "There is one group, so there is nothing to agree on."
    together = int(((found.group_heads == found.group_heads[:1]) & (found.group_heads >= 0)).all(axis=0).sum())
    return (
        f"In {together} of {len(found.layers)} layers the same head is the most frequent in all {len(found.groups)} "
        "groups."
    )


def calibration_caption(found: Calibration) -> str:
    """What the share of correct answers is of, and that it is no probability."""
    if found.reason:
        return f"Undefined: {found.reason}."
    return joined(
        f"Share of correct answers among {found.n:,}, never rising with uncertainty (isotonic), with 95 % bootstrap "
        "band: an observation on this set, and not a probability elsewhere.",
        left_out(found.excluded, lacking="a score"),
    )


def signed(value: float, *, places: int = 3) -> str:
    """A number that always has its sign."""
    text = number(value, places=places)
    return f"+{text}" if value > 0 else text


def _difference(gaps: Gaps, column: int) -> str:
    difference, percent = gaps.absolute, gaps.percent
    value = f"{signed(difference.value[column])} ({signed(percent.value[column], places=0)} %)"
    if gaps.reasons[column]:
        return f"{value}, {gaps.reasons[column]}"
    return f"{value} [{signed(difference.low[column])}, {signed(difference.high[column])}]"


def left_out(excluded: int, *, lacking: str = "such tokens") -> str:
    """How many answers do not count; "" where all do."""
    answers = "1 answer is" if excluded == 1 else f"{excluded:,} answers are"
    return f"{answers} left out, for want of a quality or of {lacking}." if excluded else ""


def joined(*sentences: str) -> str:
    """The sentences that are not empty, in a row."""
    return " ".join(filter(None, sentences))


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
