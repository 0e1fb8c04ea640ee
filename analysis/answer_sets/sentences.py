"""Captions of the figures of a set of answers, and sentences that state its results."""

from collections.abc import Sequence

import numpy as np

from analysis.answer_sets.best_and_worst import BestAndWorst
from analysis.answer_sets.clusters import LEAST_FOR_INTERVAL
from analysis.answer_sets.gaps import LEAST, Enough, Gaps, HeadGaps, gaps
from analysis.answer_sets.heads import Agreement, SelectedHeads
from analysis.answer_sets.quality_curves import Correlations, QualityBins
from analysis.answer_sets.separation import TOP, HeldOut, Labelled, Separation
from analysis.answer_sets.sides import Sides
from analysis.answer_sets.word_attention import WordAttention
from analysis.calibration import Calibration, share_at
from analysis.quality.judgement import Thresholds
from analysis.stats import Estimate, Intervals, in_words
from rauq.labels import listed, number

TOKENS = {"all": "the whole answer", "fact": "the tokens that carry the fact", "other": "the other tokens"}


def best_and_worst_caption(shown: BestAndWorst, *, tokens: str = "all") -> str:
    """Which rows of figure 2 are shown and which head is framed."""
    if shown.head is None:
        return joined(f"No answers to show: {shown.reason}.", left_out(shown.excluded))
    return f"Mean attention over {TOKENS[tokens]}. Ringed: each answer's selected head. Framed: head {shown.head}."


def best_and_worst_about(shown: BestAndWorst, layer: int) -> str:
    """What the rows of figure 2 are, and which answers it leaves out."""
    if shown.head is None:
        return ""
    return joined(
        f"Attention of layer {layer} to the previous token, in the {shown.k} answers of highest quality and the "
        f"{shown.k} of lowest. Head {shown.head} has the highest mean over these rows.",
        "Ties in quality are broken by a seeded draw." if shown.drawn else "",
        f"Fewer rows than requested: {shown.reason}." if shown.reason else "",
        left_out(shown.excluded),
    )


def gap_caption(*, tokens: str = "all") -> str:
    """How to read the boxes of figure 3a, and over which tokens, where these are not all."""
    over = "" if tokens == "all" else f"Mean attention over {TOKENS[tokens]}."
    return joined(over, "Boxes: quartiles; dashed: mean.")


def gap_about(gaps: HeadGaps, column: int, thresholds: Thresholds) -> str:
    """What one layer of figure 3a shows, and the number of answers."""
    return joined("Points: the mean attention of an answer.", sides_sentence(gaps.picked, column, thresholds))


def layers_caption() -> str:
    """What an interval is, where there are many."""
    return "95 % intervals; by chance, 1 in 20 excludes zero."


def layers_about(layer: int) -> str:
    """What a difference is, which layer is marked, and why an interval alone says little."""
    return f"Correct minus incorrect. Shaded: layer {layer}. These are multiple comparisons."


def grid_caption() -> str:
    """How to read the boxes of all layers."""
    return (
        "Attention of the selected head in every layer, each on its own scale. Boxes: interquartile range; whiskers: "
        "90 %; dashed: mean. Bold: the interval excludes zero. If boxes overlap, the difference says little about a "
        "single answer."
    )


def sides_sentence(gaps: Gaps, column: int, thresholds: Thresholds) -> str:
    """How many answers are correct, incorrect and neither, and what the percentage refers to."""
    num_correct, num_incorrect = int(gaps.correct.count[column]), int(gaps.incorrect.count[column])
    rest = len(gaps.values) - num_correct - num_incorrect
    others = f", {rest:,} neither, or without such a token after the first" if rest else ""
    return joined(
        f"{num_correct:,} correct answers (quality above {thresholds.correct:g}), {num_incorrect:,} incorrect (below "
        f"{thresholds.incorrect:g}){others}.",
        "Percentages are relative to the mean of incorrect answers. Brackets: 95 % intervals.",
    )


def bins_caption(bins: QualityBins) -> str:
    """The bins of figure 3b."""
    if bins.reason:
        return f"Nothing to show: {bins.reason}."
    return (
        f"{len(bins.rows):,} answers in {len(bins.count)} bins of about equal size: mean quality with 95 % interval by "
        "question."
    )


def bins_about(bins: QualityBins, correlations: Correlations) -> str:
    """The correlations of figure 3b, where a bin has no interval, and what the groups may do."""
    if bins.reason:
        return ""
    return joined(
        "There is no interval where all answers of a bin have the same quality, or all but one.",
        f"Spearman {in_words(correlations.spearman)}, Pearson {in_words(correlations.pearson)}.",
        left_out(bins.excluded),
        "Groups differ in both, so a correlation over all groups may only reflect differences between groups.",
    )


def score_bins_caption(scores: str = "uncertainty") -> str:
    """What quality by score shows; `scores` names what the scores are."""
    return f"The quality of each answer by its {scores}, and the mean in tenths of the answers."


def selected_heads_caption(picked: SelectedHeads) -> str:
    """Which answers a share refers to."""
    most = int(picked.counts.max(initial=0))
    return f"Share of the {most:,} answers in which a head has the highest mean of its layer."


def selected_heads_about() -> str:
    """What a dark cell means, and what selection does not."""
    return (
        "Of answers with at least two tokens. RAUQ selects heads for each answer separately; one dark cell in a row: "
        "nearly all answers select the same head. Selection does not imply that a head is informative."
    )


def picks_note(stored: np.ndarray) -> str:
    """How many answers have no stored selected heads, given which have (A,); empty where all have."""
    not_stored = int((~stored).sum())
    return (
        f"This run does not store the selected heads of {not_stored:,} answers. They are recomputed here from mean "
        "attention in half precision, and may differ where two heads are nearly equal."
        if not_stored
        else ""
    )


def agreement_caption(agreement: Agreement) -> str:
    """In how many layers all groups have the same most frequent head."""
    if len(agreement.groups) < 2:
        return "There is only one group, so agreement is undefined."
    together = int(
        ((agreement.group_heads == agreement.group_heads[:1]) & (agreement.group_heads >= 0)).all(axis=0).sum()
    )
    return (
        f"In {together} of {len(agreement.layers)} layers all {len(agreement.groups)} groups have the same most "
        "frequent head."
    )


def calibration_caption(calibration: Calibration) -> str:
    """Which answers the share of correct ones refers to, and that it is not a probability."""
    if calibration.reason:
        return f"Undefined: {calibration.reason}."
    return (
        f"Share of correct answers at each score, with 95 % intervals; n = {calibration.n:,}. It is for ranking, and "
        "not a probability."
    )


def calibration_about(calibration: Calibration, correct_above: float) -> str:
    """What the curve is, why it is no probability, and which answers it leaves out."""
    if calibration.reason:
        return ""
    return joined(
        f"Correct: quality above {correct_above:g}. The curve is smooth, so its intervals are too narrow at a sudden "
        "step. Other prompts have other shares.",
        left_out(calibration.excluded, missing="score"),
    )


def signed(value: float, *, places: int = 3) -> str:
    """A number that always has its sign."""
    text = number(value, places=places)
    return f"+{text}" if value > 0 else text


def with_sign(difference: Estimate) -> str:
    """A difference with its interval, or why one of them is missing."""
    if difference.no_interval:
        return f"{signed(difference.value)} (no interval: {difference.no_interval})"
    return difference.reason or f"{signed(difference.value)} [{signed(difference.low)}, {signed(difference.high)}]"


def left_out(excluded: int, *, missing: str = "such token after the first") -> str:
    """How many answers are left out; "" where none is."""
    answers = "1 answer is" if excluded == 1 else f"{excluded:,} answers are"
    return f"{answers} left out: no quality or no {missing}." if excluded else ""


def joined(*sentences: str) -> str:
    """The sentences that are not empty, joined by spaces."""
    return " ".join(filter(None, sentences))


_TENTHS = (0.1, 0.5, 0.9)


def gap_of_head(shown: BestAndWorst, head: int) -> Gaps:
    """The attention of one head in the best answers and in the worst."""
    best = np.arange(2 * shown.k) < shown.k
    return gaps(shown.attention[:, [head]], Sides(best, ~best))


def about_best_and_worst(shown: BestAndWorst, layer: int) -> str:
    """The attention of the framed head in the best and in the worst answers."""
    if shown.head is None:
        return "There is nothing to compare"
    own = gap_of_head(shown, shown.head)
    return (
        f"Layer {layer}, head {shown.head}: mean attention {number(own.correct.mean[0])} in the {shown.k} best "
        f"answers, {number(own.incorrect.mean[0])} in the {shown.k} worst; difference {difference(own, 0)}"
    )


def about_gap(head_gaps: HeadGaps, column: int, layer: int) -> str:
    """Attention of the selected head in correct and incorrect answers, in one layer."""
    own = head_gaps.picked
    if np.isnan(own.absolute.value[column]):
        return f"Layer {layer}: nothing to compare: {own.reasons[column]}"
    return (
        f"Layer {layer}, selected head: mean attention {number(own.correct.mean[column])} in correct answers, "
        f"{number(own.incorrect.mean[column])} in incorrect; difference {difference(own, column)}, n = "
        f"{own.correct.count[column]:,} / {own.incorrect.count[column]:,}"
    )


def paper_effect(head_gaps: HeadGaps, column: int) -> str:
    """The paper's effect: more attention in correct answers, most of all in the selected head.

    The layer was chosen by the reader, so the number of layers with the same result is given.
    """
    own = head_gaps.picked
    clear, against = int((own.absolute.low > 0).sum()), int((own.absolute.high < 0).sum())
    layers = f"{clear} of {len(own.absolute.value)} layers"
    if np.isnan(own.absolute.low[column]):
        return "The paper's effect cannot be tested here."
    if own.absolute.low[column] > 0:
        more = own.absolute.value[column] > abs(head_gaps.mean.absolute.value[column])
        larger = "larger" if more else "no larger"
        verdict = f"The paper's effect shows in this layer, {larger} than in the mean over heads"
    elif own.absolute.high[column] < 0:
        verdict = "This layer shows the opposite of the paper's effect: incorrect answers have more attention"
    else:
        verdict = "The paper's effect does not show in this layer: the difference is not significant"
    others = f", less in {against}" if against else ""
    return f"{verdict}. Correct answers have significantly more attention in {layers}{others} (uncorrected)."


def about_bins(spearman: Estimate, layer: int) -> str:
    """The correlation of quality with attention."""
    if spearman.reason:
        return f"Layer {layer}: the correlation of quality with attention is undefined: {spearman.reason}"
    if spearman.no_interval:
        return f"Layer {layer}: Spearman correlation of quality with attention {in_words(spearman)}, n = {spearman.n:,}"
    if spearman.low > 0:
        verdict = "Quality rises with the attention of the selected head"
    elif spearman.high < 0:
        verdict = "Quality falls with the attention of the selected head"
    else:
        verdict = "No significant correlation of quality with the attention of the selected head"
    return f"Layer {layer}. {verdict}: Spearman {in_words(spearman)}, n = {spearman.n:,}"


def about_distances(enough: Enough, layer: int) -> str:
    """At which distances the attention of the selected head differs."""
    if not enough.shown:
        return f"Layer {layer}: nothing to compare: fewer than {LEAST} correct or incorrect answers at every distance"
    picked = enough.gaps.picked
    beyond = list(map(str, enough.significant))
    where = "significant at " + listed(beyond) if beyond else "significant at none"
    first, *_, last = (*enough.shown, enough.shown[-1])
    return f"Layer {layer}, distance {first}: {difference(picked, 0)}; of distances {first} to {last}, {where}"


def distances_caption(enough: Enough) -> str:
    """What figure 3c shows, and which distances are hidden."""
    return joined(
        "Correct minus incorrect, with 95 % intervals, for the head selected by previous-token attention.",
        hidden_distances(enough),
    )


def distances_about() -> str:
    """What the paper found."""
    return "In the paper, answers differ at the first two preceding tokens, hardly beyond."


def hidden_distances(enough: Enough) -> str:
    """How many distances are not drawn, and why; "" where all are."""
    if not enough.hidden:
        return ""
    count = len(enough.hidden)
    if not enough.shown:
        return f"All {count} distances are hidden: each has fewer than {LEAST} correct or incorrect answers."
    are = "distance is hidden: it has" if count == 1 else "distances are hidden: each has"
    return f"{count} {are} fewer than {LEAST} correct or incorrect answers."


def about_selected_heads(selected_heads: SelectedHeads, layer: int) -> str:
    """The head that is selected most often in a layer."""
    if not (top := selected_heads.most_frequent(layer)):
        return f"Layer {layer}: no head is selected in any answer"
    head, share = top[0]
    others = "".join(f", head {other} in {_percent(part)}" for other, part in top[1:])
    count = int(selected_heads.counts[selected_heads.layers.index(layer)])
    return f"Layer {layer}: head {head} is selected in {_percent(share)} of {count:,} answers{others}"


def about_meaning(calibration: Calibration, uncertainty: np.ndarray) -> str:
    """The share of correct answers at the 10th, 50th and 90th percentile of uncertainty."""
    if calibration.reason:
        return f"The share of correct answers by score is undefined: {calibration.reason}"
    scores = np.nanquantile(uncertainty, _TENTHS)
    low, middle, high = (_share(calibration, float(score)) for score in scores)
    return f"Correct: {low} at the 10th percentile of uncertainty, {middle} at the median, {high} at the 90th"


def difference(own: Gaps, column: int) -> str:
    """A difference of means with its interval, or that there is none."""
    value, low, high = (ends[column] for ends in (own.absolute.value, own.absolute.low, own.absolute.high))
    if np.isnan(low):
        return f"{signed(value)}, {own.reasons[column]}"
    noise = "" if low > 0 or high < 0 else ", not significant"
    return f"{signed(value)} [{signed(low)}, {signed(high)}]{noise}"


def _share(calibration: Calibration, score: float) -> str:
    share, low, high = (100 * part for part in share_at(calibration, score))
    return f"{number(share, places=0)} % [{number(low, places=0)}, {number(high, places=0)}]"


def _percent(share: float) -> str:
    return f"{number(100 * share, places=0)} %"


def about_separation(separation: Separation, same: Separation, layers: Sequence[int]) -> str:
    """How many heads separate correct from incorrect answers beyond chance, and among those of the `same` length."""
    if separation.best is None:
        return f"Nothing to compare: {separation.labelled.reason}"
    row, head = separation.best
    area = _short(separation.auc[separation.best])
    best = f"layer {layers[row]} head {head}, ROC-AUC {area}{_if_few(separation.labelled)}"
    if not separation.beyond_chance:
        size = f"{separation.auc.size:,}"
        return f"No head separates correct from incorrect answers beyond chance; the best of {size} is {best}"
    at_length = "" if same.best is None else f" ({same.num_beyond:,} at equal length)"
    return (
        f"{separation.num_beyond:,} of {separation.auc.size:,} heads separate{'s' * (separation.num_beyond == 1)} "
        f"correct from incorrect answers beyond chance{at_length}; best: {best}"
    )


def _if_few(counted: Labelled) -> str:
    """A warning where a side has so few answers that values have no interval."""
    num_correct = int(counted.correct.sum())
    num, side = min((num_correct, "correct"), (len(counted.correct) - num_correct, "incorrect"))
    return f", from only {num} {side} answer{'' if num == 1 else 's'}" if num < LEAST_FOR_INTERVAL else ""


def about_directions(separation: Separation) -> str:
    """Which way the heads beyond chance go."""
    if not separation.beyond_chance:
        return ""
    more, less = f"{separation.num_higher:,}", f"{separation.num_lower:,}"
    return f"Beyond chance: {more} with more attention in correct answers, {less} with less."


def about_held_out(half: HeldOut) -> str:
    """How the heads that one half of the questions chose do on the other half, and how many are beyond chance there."""
    if half.reason:
        return f"Held-out values are undefined: {half.reason}."
    ends = _short(np.nanmin(half.auc.value)), _short(np.nanmax(half.auc.value))
    return (
        f"Chosen on one half of the questions, the {len(half.heads)} strongest have ROC-AUC {ends[0]} to {ends[1]} on "
        f"the other; {half.num_beyond} of {len(half.heads)} are beyond chance there too."
    )


def about_length(same: Separation) -> str:
    """How many answers can be compared with others of the same group and length."""
    if same.best is None:
        return f"Answers of equal length cannot be compared: {same.labelled.reason}."
    return f"{len(same.labelled.correct):,} answers have both sides in their group at equal length."


def about_controls(intervals: Intervals) -> str:
    """How three values separate: the attention that RAUQ uses, the mean over all heads, and the number of tokens."""
    picked, mean, length = (_with_interval(intervals, at) for at in range(3))
    return (
        f"For comparison, ROC-AUC of the heads that RAUQ selects, mean over its layers: {picked}; of the mean over "
        f"all heads: {mean}; of the number of tokens: {length} (below 0.5: correct answers are shorter)."
    )


def about_facts(fact: Separation) -> str:
    """How many heads separate by the tokens that carry the fact alone."""
    if fact.best is None:
        return ""
    num, num_correct = len(fact.labelled.correct), int(fact.labelled.correct.sum())
    return (
        f"Beyond chance over fact tokens alone: {fact.num_beyond:,} of {fact.auc.size:,} heads ({num_correct:,} "
        f"correct and {num - num_correct:,} incorrect answers have such tokens)."
    )


def separation_caption(separation: Separation) -> str:
    """How to read the map."""
    if separation.best is None:
        return f"Nothing to compare: {separation.labelled.reason}."
    return (
        f"Blue: more attention in correct answers; orange: less; {_limits(separation)}: chance. Ringed: most often "
        "selected."
    )


def _limits(separation: Separation) -> str:
    return f"{_short(0.5 - separation.chance)} to {_short(0.5 + separation.chance)}"


def about_chance(separation: Separation) -> str:
    """What the numbers of the map are, and the limit of chance."""
    return (
        "Each number is the ROC-AUC of a head's mean attention, correct vs incorrect, within groups. With labels "
        f"shuffled within groups, the best of {separation.auc.size:,} stays within {_limits(separation)} in 95 % of "
        "cases."
    )


def groups_caption(counted: Labelled) -> str:
    """Which answers and groups count, and how groups are weighted."""
    if counted.reason:
        return f"Undefined: {counted.reason}."
    num_correct, names = int(counted.correct.sum()), len(counted.names)
    within = (
        f"{names} groups, weighted by the inverse variance of their ROC-AUC by chance" if names > 1 else "one group"
    )
    lacking = len(counted.left_out)
    return joined(
        f"{num_correct:,} correct and {len(counted.correct) - num_correct:,} incorrect answers in {within}.",
        f"Left out: {lacking:,} group{'' if lacking == 1 else 's'} without both sides." if lacking else "",
        left_out(counted.excluded),
    )


def top_heads_caption(words: WordAttention | None) -> str:
    """What the columns of the table of heads are."""
    own = (
        f"The heads chosen on one half of the questions, and the {TOP} strongest over all. Columns from Held-out to "
        "Residual: on the other half, with 95 % intervals; –: not chosen, so that half cannot judge it. "
        "All heads as CSV has every head."
    )
    if words is None:
        return joined(own, "Words alone: known only for the whole answer.")
    return joined(
        own,
        f"Words and residual: layers {words.layers[0]} to {words.layers[-1]}; {words.num_mostly_unseen:,} of "
        f"{int(np.isfinite(words.unseen).sum()):,} answers consist mostly of pairs of tokens that no other answer has.",
    )


def interval_words(intervals: Intervals, at: int) -> str:
    """An area under the curve with its interval; "–" where it is undefined."""
    return _with_interval(intervals, at) if np.isfinite(intervals.value[at]) else "–"


def _with_interval(intervals: Intervals, at: int) -> str:
    if np.isnan(intervals.value[at]):
        return "undefined"
    if np.isnan(intervals.low[at]):
        return _short(intervals.value[at])
    return f"{_short(intervals.value[at])} [{_short(intervals.low[at])}, {_short(intervals.high[at])}]"


def _short(value: float) -> str:
    return number(float(value), places=2)
