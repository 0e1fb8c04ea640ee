"""What came out of a comparison of methods, in sentences of numbers."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from analysis.answer_sets.sentences import joined, left_out, signed
from analysis.methods.ablations import Ablated, Sweep
from analysis.methods.agreement import Disagreement, MethodAgreement
from analysis.methods.attention_permutation import EXCHANGES, GroupControl
from analysis.methods.comparison import RAUQ, Comparison, Metric, Paired, name_of
from analysis.methods.errors import End, ErrorAnalysis
from analysis.methods.rejections import Rejections
from analysis.paper import published_errors, published_runtime
from analysis.runs.timings import Cost
from analysis.stats import METRICS, Estimate, in_words
from rauq.labels import number
from rauq.methods.table import METHODS


def comparison_sentence(
    methods: Sequence[str], estimates: Sequence[Estimate], *, metric: Metric, called: str = "methods"
) -> str:
    """RAUQ's place among the methods, or variants, of one column, and the best."""
    values = np.array([found.value for found in estimates])
    there = np.flatnonzero(~np.isnan(values))
    if not len(there):
        return f"No method has a {METRICS[metric]}: {next((one.reason for one in estimates), 'none was chosen')}."
    best = int(there[values[there].argmax()])
    leader = f"{name_of(methods[best])} ranks best of {len(there)} {called} by {METRICS[metric]}"
    own = list(methods).index(RAUQ) if RAUQ in methods else best
    if own == best or np.isnan(values[own]):
        return f"{leader}, {in_words(estimates[best])}."
    place = int((values[there] > values[own]).sum()) + 1
    return f"{leader}, {in_words(estimates[best])}; RAUQ is {_ordinal(place)}, {in_words(estimates[own])}."


def paired_sentence(found: Sequence[Estimate], base: str) -> str:
    """How many methods `base` is better than, and worse, beyond what the resamples leave open."""
    defined = [one for one in found if not one.reason]
    if found and not defined:
        return f"{name_of(base)} cannot be compared with other methods: {found[0].reason}."
    better, worse = sum(one.low > 0 for one in defined), sum(one.high < 0 for one in defined)
    level = len(defined) - better - worse
    return joined(
        f"{name_of(base)} ranks better than {better} of {len(defined)} other methods and worse than {worse}.",
        f"From {level} it cannot be told apart: the 95 % interval of the difference holds 0." if level else "",
    )


def undefined_sentence(methods: Sequence[str], estimates: Sequence[Estimate]) -> str:
    """Which methods of a column are undefined, and why; "" where all are, or none."""
    lacking: dict[str, list[str]] = {}
    for method, one in zip(methods, estimates, strict=True):
        if one.reason:
            lacking.setdefault(one.reason, []).append(name_of(method))
    if all(one.reason for one in estimates):
        return ""
    words = [f"{', '.join(names)}: {reason}" for reason, names in lacking.items()]
    return f"Undefined and not ranked: {'; '.join(words)}." if words else ""


def costs_sentence(costs: Sequence[Cost]) -> str:
    """What RAUQ costs beside the methods that compare samples; "" where no time of both is known.

    One prompt at a time where that was measured, else in batches, which is said not to compare with the paper's.
    """
    alone = _rauq_and_samples({cost.method: cost.alone.overhead for cost in costs if cost.alone})
    if alone:
        return f"Measured one prompt at a time, beyond plain generation without capture: {alone}"
    batched = _rauq_and_samples({cost.method: cost.overhead for cost in costs if not math.isnan(cost.overhead)})
    return f"Measured in batches, which does not compare with the paper's figures: {batched}" if batched else ""


def _rauq_and_samples(overheads: Mapping[str, float]) -> str:
    sampled = [100 * overhead for method, overhead in overheads.items() if "samples" in METHODS[method].needs]
    if RAUQ not in overheads or not sampled:
        return ""
    low, high = (f"{end:,.0f}" for end in (min(sampled), max(sampled)))
    return (
        f"RAUQ takes {number(100 * overheads[RAUQ], places=1)} % more time, methods that compare samples "
        f"{low if low == high else f'{low} to {high}'} %."
    )


def charges_note(costs: Sequence[Cost]) -> str:
    """What each measured overhead is charged with; "" where no time is known."""
    alone = next((cost.alone for cost in costs if cost.alone), None)
    parts = [
        f"Overhead one at a time: median of {alone.pairs} prompts, each method charged with its capture, samples and "
        "computation."
        if alone
        else "",
        "Overhead in batches: the generation includes the capture, which no method is charged with; samples are drawn "
        "one prompt at a time."
        if any(not math.isnan(cost.overhead) for cost in costs)
        else "",
    ]
    return joined(*parts)


def judges_note(methods: Sequence[str]) -> str:
    """What judges in place of the paper's models; "" where none does."""
    if not any("facts" in METHODS[method].needs for method in methods if method in METHODS):
        return ""
    return (
        "Same facts: in place of the paper's NLI model, two answers mean the same where their facts agree, which can "
        "be read from the embedded model's answers alone. A judge that says only yes or no ranks by DegMat as by LUQ."
    )


def overall_note(found: Comparison) -> str:
    """Why a ranking is not that of the mean over groups; "" where it is."""
    if found.overall == found.means or all(one.reason for one in found.overall):
        return ""
    return f"Ranked among all answers at once, for the mean over groups is {found.means[0].reason}."


def intervals_caption(found: Comparison) -> str:
    """What a row of the picture and of the table is."""
    scale = "1 is the best ranking, 0 a random one" if found.metric == "prr" else "0.5 is a random ranking"
    return (
        f"{METRICS[found.metric]}, {scale}, with 95 % bootstrap intervals: every method is ranked on the same "
        "resamples of the answers. Mean: over groups."
    )


def paired_caption(found: Paired) -> str:
    """What a difference is of."""
    return (
        f"{name_of(found.base)} minus the other on the same resamples of the answers that have both: above 0 it ranks "
        "better. 95 % bootstrap intervals, one by one: among many, 1 of 20 leaves out 0 by chance."
        f"{' Mean over groups.' if len(found.groups) > 1 and found.overall == found.means else ''}"
    )


def rejections_caption(found: Rejections, *, at: float = 0.2) -> str:
    """What is gained by rejecting a share of the answers, under each of the methods."""
    if found.n < 2:
        few = f"only {found.n}" if found.n else "no"
        return f"Nothing to reject: {few} answer has a quality and an uncertainty of each of these methods."
    place = min(int(at * found.n), len(found.curves[0].rejected) - 1)
    first = found.curves[0]
    gains = [
        f"{name_of(method)} {number(curve.kept_quality[place], places=2)}"
        for method, curve in zip(found.methods, found.curves, strict=True)
    ]
    return joined(
        f"Without the {100 * first.rejected[place]:.0f} % least sure of {found.n:,} answers the mean quality of the "
        f"rest is: {', '.join(gains)}; oracle {number(first.oracle[place], places=2)}, random "
        f"{number(first.random[place], places=2)}.",
        left_out(found.excluded, lacking="one of the uncertainties"),
    )


def agreement_sentence(found: MethodAgreement, *, base: str = RAUQ) -> str:
    """Which method orders the answers most as `base` does, and which least."""
    if base not in found.methods:
        return f"{name_of(base)} is not among these methods."
    own = found.methods.index(base)
    others = {
        method: value
        for method, value in zip(found.methods, found.correlations[own], strict=True)
        if method != base and not math.isnan(value)
    }
    if not others:
        return "There is nothing to correlate."
    most, least = max(others, key=others.__getitem__), min(others, key=others.__getitem__)
    near, far = (f"{name_of(method)} ({number(others[method], places=2)})" for method in (most, least))
    if len(others) == 1:
        return f"Spearman's correlation of {name_of(base)} with {near}."
    return f"{name_of(base)} agrees most with {near} and least with {far}, by Spearman's correlation over the answers."


def disagreement_sentence(found: Disagreement, quality: np.ndarray, first: str, second: str) -> str:
    """Which of the two was right where they disagree most, by the mean quality of what they distrust."""
    if not len(found.first_less_sure.rows):
        return f"{name_of(first)} and {name_of(second)} order all {found.n:,} answers alike." if found.n > 1 else ""
    if np.isnan(quality).all():
        return "Which of the two was right where they disagree cannot be told: no answer has a quality."
    sides = ((first, found.first_less_sure), (second, found.second_less_sure))
    words = [
        f"of the {len(side.rows)} that {name_of(method)} distrusts most beyond the other the mean quality is "
        f"{number(_mean(quality[side.rows]), places=2)}"
        for method, side in sides
    ]
    return joined(
        f"By ranks among {found.n:,} answers: {words[0]}; {words[1]}; of all it is {number(_mean(quality), places=2)}. "
        "The lower, the better was the distrust.",
        left_out(found.excluded, lacking="one of the uncertainties"),
    )


def errors_sentence(found: ErrorAnalysis, method: str) -> str:
    """The two rows of the paper's error analysis, beside the share among all answers."""
    if not found.highest.n:
        return f"No ends to compare: {found.reason}."
    return (
        f"Erroneous, ordered by {name_of(method)}: {_erroneous(found.highest)} of the least sure, "
        f"{_erroneous(found.lowest)} of the surest, {_erroneous(found.all)} in all."
    )


def errors_note(found: ErrorAnalysis) -> str:
    """How the ends were chosen, and what is in neither; "" where there is nothing to add."""
    if not found.highest.n:
        return ""
    return joined(
        "Among answers of equal uncertainty a seeded draw chose." if found.drawn else "",
        f"Fewer at either end than the paper's 20: {found.reason}." if found.reason else "",
        left_out(found.excluded, lacking="an uncertainty"),
    )


def published_note() -> str:
    """What the paper's numbers can be held against."""
    return (
        "Published by the authors of RAUQ, with another model on other data: which method leads can be compared with "
        "the run above, how far it leads cannot. A dash: the paper states no number."
    )


def published_overheads() -> str:
    """What methods cost in the paper."""
    rows = published_runtime().sort_values("overhead_percent", kind="stable")
    costs = [f"{name_of(row.method)} {row.overhead_percent:g} %" for row in rows.itertuples() if row.overhead_percent]
    return f"Published overhead, Llama-3.1 8B: {', '.join(costs)}."


COMPARABLE = "It compares with an overhead measured one prompt at a time, not with one in batches."


def published_shares() -> str:
    """The paper's error analysis."""
    shares = published_errors().set_index("scores")["erroneous_percent"]
    return (
        f"Published, Llama-3.1 8B on TruthfulQA: {shares['highest']} % of the 20 highest RAUQ scores were of erroneous "
        f"answers, and {shares['lowest']} % of the 20 lowest."
    )


def _erroneous(end: End) -> str:
    return f"{end.erroneous:,} of {end.n:,} ({100 * end.share:.0f} %)"


def _mean(quality: np.ndarray) -> float:
    there = quality[np.isfinite(quality)]
    return float(there.mean()) if len(there) else math.nan


def _ordinal(place: int) -> str:
    ending = "th" if place % 100 in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(place % 10, "th")
    return f"{place}{ending}"


def control_sentence(control: GroupControl) -> str:
    """Does attention matter in this group? What another answer's attention does to the ranking, then what others do."""
    shuffled = control.under("shuffled")
    found = shuffled.difference
    if found.reason:
        return f"Whether attention matters cannot be told: {found.reason}."
    with_own, with_other = (number(value) for value in (shuffled.estimate.value + found.value, shuffled.estimate.value))
    tokens = "" if control.tokens == "all" else " on the tokens of the fact"
    return (
        f"{_verdict(found)}{tokens}: {METRICS[control.metric]} is {with_own} with an answer's own attention and "
        f"{with_other} with another's, a difference of {signed(found.value)} [{signed(found.low)}, "
        f"{signed(found.high)}] over {found.n:,} answers{_others(control)}."
    )


def control_caption(controls: tuple[GroupControl, ...]) -> str:
    """What is exchanged, and what a difference is of."""
    left_out = max((control.real.excluded for control in controls), default=0)
    scored = "its score" if not controls or controls[0].tokens == "all" else "the score of the fact's tokens alone"
    return joined(
        "Each answer keeps its probabilities and gets other attention in place of its picked heads': that of an answer "
        "of its group and of nearest length (mean over 20 seeded exchanges), the group's mean of each layer, a head "
        "drawn at random, or the mean over heads; "
        f"then {scored} is computed again.",
        "Above 0 the real attention ranks better. 95 % bootstrap intervals on the same resamples.",
        f"Up to {left_out:,} answers of a group are left out, for want of a quality or a score." if left_out else "",
    )


def sweep_sentence(found: Sweep, group: str) -> str:
    """The value at the paper's alpha, and at 1, where attention has no part."""
    if found.best(group) is None:
        return f"Undefined: {found.of_group(group)[0].reason}."
    return (
        f"{METRICS[found.metric]} is {in_words(found.at_paper(group))} at the paper's alpha {found.paper_alpha:g}, and "
        f"{in_words(found.of_group(group)[-1])} at 1, where attention has no part."
    )


def best_alpha_sentence(found: Sweep, group: str) -> str:
    """The value at the best alpha; "" where none is defined."""
    best = found.best(group)
    if best is None:
        return ""
    highest = found.of_group(group)[found.alphas.index(best)]
    return f"It is highest at {best:g}: {in_words(highest)}. Only who knows the qualities can choose that."


def ablation_note(found: Ablated) -> str:
    """What a table leaves out: answers that chose its heads, and rows that the run cannot have."""
    chosen = f"Heads were chosen on {found.chosen_on:,} answers, which are in none of these numbers."
    lacking = "; ".join(map(name_of, found.missing))
    return joined(
        chosen if found.chosen_on else "",
        f"Not here, for the run does not keep all of their layers: {lacking}. Score it again with --layers all."
        if lacking
        else "",
    )


def _verdict(found: Estimate) -> str:
    if found.low > 0:
        return "Attention matters here"
    if found.high < 0:
        return "Attention misleads here"
    return "No sign that attention matters here"


def _others(control: GroupControl) -> str:
    """How high the metric is with attention that is no other answer's, beside the real attention's."""
    others = [one for one in control.exchanged if one.exchange != "shuffled" and not one.difference.reason]
    words = [
        f"with {' or '.join(names)} attention it is {side}"
        for side in ("higher", "lower", "no different")
        if (names := [EXCHANGES[one.exchange] for one in others if _side(one.difference) == side])
    ]
    return f"; {', '.join(words)}" if words else ""


def _side(difference: Estimate) -> str:
    """Where the exchanged attention lies, given the real one's minus it."""
    if difference.low > 0:
        return "lower"
    return "higher" if difference.high < 0 else "no different"
