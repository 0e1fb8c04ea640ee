"""What each figure of a set of answers shows, what it leaves out, and what it does not show, in sentences.

They are made of our own words and numbers alone: nothing in them has to be quoted.
"""

from collections.abc import Sequence

import numpy as np

from analysis.answer_sets.best_and_worst import BestAndWorst
from analysis.answer_sets.calibration import Calibration
from analysis.answer_sets.gaps import Gaps, HeadGaps
from analysis.answer_sets.heads import Agreement, PickedHeads, Separation
from analysis.answer_sets.quality_bins import Correlations, QualityBins
from analysis.quality.judgement import Thresholds
from analysis.stats import in_words
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
