"""Captions of the figures that compare methods, and sentences that state their results."""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from analysis.answer_sets.sentences import joined, left_out, with_sign
from analysis.intervals import LEAST
from analysis.methods.ablations import Ablated
from analysis.methods.attention_permutation import DERANGEMENTS, EXCHANGES, REPLACED, Exchange, GroupControl, Sweep
from analysis.methods.comparison import (
    ALL,
    RAUQ,
    WITHIN,
    Comparison,
    Metric,
    Paired,
    Rejections,
    headline_groups,
    is_reversed,
    name_of,
    reversals,
    title_of,
)
from analysis.methods.errors import End, ErrorAnalysis
from analysis.paper import published_errors, published_runtime
from analysis.runs.own import needs_of, uses_judge
from analysis.runs.timings import Cost
from analysis.stats import METRICS, SMALLEST, Estimate, in_words, is_slight, sign_of
from rauq.labels import listed, number

_PLACES = MappingProxyType({ALL: " over all answers", WITHIN: " within groups"})


def comparison_sentences(comparison: Comparison, *, called: str = "methods") -> tuple[str, ...]:
    """RAUQ's place and the first among all answers and, where there are groups, by the mean within these."""
    names = headline_groups(comparison.groups)
    return tuple(
        comparison_sentence(
            comparison.methods,
            comparison.of_group(name),
            metric=comparison.metric,
            called=called,
            group=name if len(names) > 1 else "",
        )
        for name in names
    )


def comparison_sentence(
    methods: Sequence[str],
    estimates: Sequence[Estimate],
    *,
    metric: Metric,
    called: str = "methods",
    group: str = "",
) -> str:
    """RAUQ's place among the methods, or variants, of one column, and the first; `group` is named unless empty.

    No method is called better than another: that is said of paired differences alone, whose interval supports it.
    """
    by = f"{'mean ' if group == WITHIN else ''}{METRICS[metric]}{_PLACES.get(group, '')}"
    values = np.array([found.value for found in estimates])
    there = np.flatnonzero(~np.isnan(values))
    if not len(there):
        reason = next((estimate.reason for estimate in estimates), "no method is selected")
        return f"No method has a {by}: {reason}."
    best = int(there[values[there].argmax()])
    leader = f"{name_of(methods[best])} is first of {len(there)} {called} by {by}"
    own = list(methods).index(RAUQ) if RAUQ in methods else best
    if own == best or np.isnan(values[own]):
        return f"{leader}, {in_words(estimates[best])}."
    place = int((values[there] > values[own]).sum()) + 1
    return f"{leader}, {in_words(estimates[best])}; RAUQ is {_ordinal(place)}, {in_words(estimates[own])}."


def paired_sentences(paired: Paired) -> tuple[str, ...]:
    """How many methods RAUQ is better and worse than, over all answers and within groups, and what turns round."""
    names = headline_groups(paired.groups)
    counted = [
        paired_sentence(paired.of_group(name), paired.base, where=_PLACES[name] if len(names) > 1 else "")
        for name in names
    ]
    return (*counted, *filter(None, [reversal_sentence(paired)]))


def reversal_sentence(paired: Paired) -> str:
    """The methods that rank worse than RAUQ over all answers and better within groups, or the other way round."""
    words = []
    for method in reversals(paired):
        place = paired.methods.index(method)
        pooled, within = paired.of_group(ALL)[place], paired.of_group(WITHIN)[place]
        words.append(f"{name_of(method)} ({with_sign(pooled)} over all answers, {with_sign(within)} within groups)")
    if not words:
        return ""
    return f"The difference has the opposite sign within groups, both beyond noise: {'; '.join(words)}."


def paired_sentence(found: Sequence[Estimate], base: str, *, where: str = "") -> str:
    """How many methods `base` is significantly better than, and worse than."""
    defined = [one for one in found if not one.reason]
    if found and not defined:
        return f"{name_of(base)} cannot be compared with other methods: {found[0].reason}."
    if defined and all(one.no_interval for one in defined):
        return f"{name_of(base)} cannot be compared with other methods{where}: {defined[0].no_interval}."
    better, worse = (sum(sign_of(one) == sign for one in defined) for sign in (1, -1))
    slight = sum(map(is_slight, defined))
    level = len(defined) - better - worse - slight
    return joined(
        f"{name_of(base)} ranks significantly better than {better} of {len(defined)} methods{where}, worse than "
        f"{worse}.",
        f"Not significantly different from {level} (95 % interval includes 0)." if level else "",
        _slight_sentence(slight),
    )


def _slight_sentence(count: int) -> str:
    if not count:
        return ""
    what = "difference is" if count == 1 else "differences are"
    return f"{count} further significant {what} below {SMALLEST:g} and not counted."


def undefined_sentence(methods: Sequence[str], estimates: Sequence[Estimate]) -> str:
    """Which methods of a column are undefined, and why; "" where all are, or none."""
    undefined: dict[str, list[str]] = {}
    for method, one in zip(methods, estimates, strict=True):
        if one.reason:
            undefined.setdefault(one.reason, []).append(name_of(method))
    if all(estimate.reason for estimate in estimates):
        return ""
    words = [f"{', '.join(names)}: {reason}" for reason, names in undefined.items()]
    return f"Undefined and not ranked: {'; '.join(words)}." if words else ""


def costs_sentence(costs: Sequence[Cost]) -> str:
    """The overhead of RAUQ and of the methods that compare samples; "" where one of the two is not known.

    One prompt at a time where that was measured, else in batches, which is not comparable with the paper's.
    """
    alone = _rauq_and_samples({cost.method: cost.alone.overhead for cost in costs if cost.alone})
    if alone:
        return f"Overhead relative to plain generation, one prompt at a time: {alone}"
    batched = _rauq_and_samples({cost.method: cost.overhead for cost in costs if not math.isnan(cost.overhead)})
    return f"Overhead in batches, not comparable with the paper's numbers: {batched}" if batched else ""


def _rauq_and_samples(overheads: Mapping[str, float]) -> str:
    sampled = [100 * overhead for method, overhead in overheads.items() if "samples" in needs_of(method)]
    if RAUQ not in overheads or not sampled:
        return ""
    low, high = (f"{end:,.0f}" for end in (min(sampled), max(sampled)))
    return (
        f"RAUQ {number(100 * overheads[RAUQ], places=1)} %, methods that compare samples "
        f"{low if low == high else f'{low} to {high}'} %."
    )


def charges_note(costs: Sequence[Cost]) -> str:
    """What each measured overhead includes; "" where no time is known."""
    alone = next((cost.alone for cost in costs if cost.alone), None)
    parts = [
        f"Overhead one at a time: median of {alone.pairs} prompts; it includes the capture, the samples and the "
        "computation of the method."
        if alone
        else "",
        "Overhead in batches: without the capture, which is part of the generation; samples of several prompts are "
        "drawn together."
        if any(not math.isnan(cost.overhead) for cost in costs)
        else "",
    ]
    return joined(*parts)


def judges_note(methods: Sequence[str]) -> str:
    """What replaces the paper's NLI model; "" where nothing does."""
    if not any(map(uses_judge, methods)):
        return ""
    return (
        "Same facts: instead of the paper's NLI model, two answers are equivalent if their facts agree; this works for "
        "prompts with known facts only. With such a binary judge DegMat and LUQ give the same ranking."
    )


def within_note(found: Comparison | Sweep | Sequence[GroupControl]) -> str:
    """What the mean within groups is, and how many groups it leaves out; "" where there are no groups."""
    each = _groups_left_out(found)
    if not each:
        return ""
    left = sum(each)
    return joined(
        f"Mean within groups: over {len(each) - left} of {len(each)} groups, as the paper averages over data sets.",
        f"Left out: {left}, with correct or incorrect answers to fewer than {LEAST} questions." if left else "",
    )


def _groups_left_out(found: Comparison | Sweep | Sequence[GroupControl]) -> list[bool]:
    """Of each group beside the mean, whether it is left out of it; empty where there is no such mean."""
    if isinstance(found, Comparison):
        each = [found.of_group(name) for name in found.groups]
    elif isinstance(found, Sweep):
        each = list(found.real)
    else:
        each = [(control.real,) for control in found]
    return [all(one.reason or one.no_interval for one in several) for several in each[2:]]


def intervals_caption(comparison: Comparison) -> str:
    """What a row of the figure and of the table shows."""
    of_prr = "up to half of the answers rejected; 1 is the best ranking, 0 a random one"
    scale = of_prr if comparison.metric == "prr" else "0.5 is a random ranking"
    asked = f" answers to {comparison.questions:,} questions" if comparison.questions < comparison.answers else ""
    return f"{METRICS[comparison.metric]} ({scale}) with 95 % intervals by question; n = {comparison.answers:,}{asked}."


def paired_caption(paired: Paired) -> str:
    """What a difference shows."""
    return (
        f"{name_of(paired.base)} minus the other method, paired over the answers that have both: above 0 "
        f"{name_of(paired.base)} ranks better. 95 % intervals by question, not corrected for multiple comparisons."
    )


def rejections_caption(rejections: Rejections, *, at: float = 0.2) -> str:
    """Mean quality after rejecting a share of the answers by each of the methods."""
    if rejections.n < 2:
        few = f"only {rejections.n}" if rejections.n else "no"
        return f"Rejection is undefined: {few} answer has a quality and an uncertainty by each of these methods."
    place = min(int(at * rejections.n), len(rejections.curves[0].rejected) - 1)
    first = rejections.curves[0]
    gains = [
        f"{name_of(method)} {number(curve.kept_quality[place], places=2)}"
        for method, curve in zip(rejections.methods, rejections.curves, strict=True)
    ]
    return joined(
        f"Mean quality after rejecting the {100 * first.rejected[place]:.0f} % most uncertain of {rejections.n:,} "
        f"answers: {', '.join(gains)}; oracle {number(first.oracle[place], places=2)}, random "
        f"{number(first.random[place], places=2)}.",
        left_out(rejections.excluded, missing="uncertainty by one of the methods"),
    )


def errors_sentence(found: ErrorAnalysis, method: str) -> str:
    """The two rows of the paper's error analysis, and the share among all answers."""
    if not found.highest.n:
        return f"Nothing to compare: {found.reason}."
    return (
        f"Erroneous, ordered by {name_of(method)}: {_erroneous(found.highest)} of the most uncertain, "
        f"{_erroneous(found.lowest)} of the least uncertain, {_erroneous(found.all)} in all."
    )


def errors_note(found: ErrorAnalysis) -> str:
    """How ties were broken, and which answers are left out; "" where there is nothing to add."""
    if not found.highest.n:
        return ""
    return joined(
        "Ties in uncertainty are broken by a seeded draw." if found.drawn else "",
        f"Fewer at each end than the paper's 20: {found.reason}." if found.reason else "",
        left_out(found.excluded, missing="uncertainty"),
    )


def published_note() -> str:
    """What the paper's numbers can be compared with."""
    return (
        "Published by the authors of RAUQ, with another model on other data: compare the order of the methods with the "
        "run above, not the values. Dash: not reported in the paper."
    )


def published_overheads() -> str:
    """The overhead of the methods in the paper."""
    rows = published_runtime().sort_values("overhead_percent", kind="stable")
    costs = [f"{name_of(row.method)} {row.overhead_percent:g} %" for row in rows.itertuples() if row.overhead_percent]
    return f"Published overhead, Llama-3.1 8B: {', '.join(costs)}."


COMPARABLE = "Compare it with an overhead measured one prompt at a time, not in batches."


def published_shares() -> str:
    """The paper's error analysis."""
    shares = published_errors().set_index("scores")["erroneous_percent"]
    return (
        f"Published, Llama-3.1 8B on TruthfulQA: {shares['highest']} % of the answers with the 20 highest RAUQ "
        f"scores were erroneous, and {shares['lowest']} % of those with the 20 lowest."
    )


def _erroneous(end: End) -> str:
    return f"{end.erroneous:,} of {end.n:,} ({100 * end.share:.0f} %)"


def _ordinal(place: int) -> str:
    ending = "th" if place % 100 in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(place % 10, "th")
    return f"{place}{ending}"


def control_sentences(controls: Sequence[GroupControl]) -> tuple[str, ...]:
    """Whether attention matters, over all answers and within groups, and whether that turns round."""
    shown = controls[: len(headline_groups([control.group for control in controls]))]
    differences = [control.under("shuffled").difference for control in shown]
    turns = len(shown) > 1 and is_reversed(*differences)
    words = [
        control_sentence(control, where=_PLACES[control.group] if len(shown) > 1 else " here") for control in shown
    ]
    return (*words, *(["The difference has the opposite sign within groups, both beyond noise."] if turns else []))


def control_sentence(control: GroupControl, *, where: str = " here") -> str:
    """Whether attention matters in this group: the ranking with other attention, compared with the answer's own."""
    shuffled = control.under("shuffled")
    found = shuffled.difference
    if found.reason:
        return f"Whether attention matters{where.removesuffix(' here')} is undefined: {found.reason}."
    with_own, with_other = (number(value) for value in (shuffled.estimate.value + found.value, shuffled.estimate.value))
    tokens = "" if control.tokens == "all" else " on the fact tokens"
    metric = f"{'mean ' if control.group == WITHIN else ''}{METRICS[control.metric]}"
    return (
        f"{_verdict(found)}{where}{tokens}: {with_sign(found)} of {metric}, {with_own} with an answer's own attention "
        f"and {with_other} with another's, over {found.n:,} answers{_others(control)}."
    )


def control_caption(controls: tuple[GroupControl, ...]) -> str:
    """What is permuted, and what a difference shows."""
    left_out = max((control.real.excluded for control in controls), default=0)
    scored = "its score" if not controls or controls[0].tokens == "all" else "the score of the fact tokens"
    return joined(
        "Each answer keeps its probabilities; the attention of its selected heads is replaced by that of another "
        f"answer of its group (nearest length, mean of {DERANGEMENTS} draws), the group mean, a random head, or the "
        f"mean over heads. Then {scored} is recomputed.",
        "Above 0 the real attention ranks better. Paired 95 % intervals by question.",
        f"Up to {left_out:,} answers of a group are left out: no quality or no score." if left_out else "",
    )


def sweep_sentence(sweep: Sweep) -> str:
    """Whether real attention ranks better than shuffled at the paper's alpha, over all answers and within groups."""
    if sweep.best(ALL) is None:
        return f"Undefined: {sweep.of_group(ALL)[0].reason}."
    names = headline_groups(sweep.groups)
    differences = [_at(sweep, "shuffled", name, sweep.paper_alpha) for name in names]
    places = [_PLACES[name] if len(names) > 1 else "" for name in names]
    words = [f"{place} ({with_sign(one)})" for place, one in zip(places, differences, strict=True)]
    verdicts = [_than(difference) for difference in differences]
    first = f"ranks {verdicts[0]} than shuffled" if verdicts[0] else "cannot be compared with shuffled"
    more = " and" if verdicts[0] == verdicts[-1] else f", {verdicts[-1] or 'and cannot be compared'}"
    return f"At the paper's alpha {sweep.paper_alpha:g} real attention {first}{more.join(words)}."


def than_shuffled(sweep: Sweep) -> str:
    """How real attention ranks compared with shuffled at the paper's alpha, over all answers; "" where undefined."""
    return "" if sweep.best(ALL) is None else _than(_at(sweep, "shuffled", ALL, sweep.paper_alpha))


def why_not_at_paper_alpha(sweep: Sweep) -> str:
    """Why real attention cannot be compared with shuffled at the paper's alpha."""
    found = sweep.of_group(ALL)[0] if sweep.best(ALL) is None else _at(sweep, "shuffled", ALL, sweep.paper_alpha)
    return found.reason or found.no_interval


def attention_sentences(sweep: Sweep) -> tuple[str, ...]:
    """Whether real attention ranks better than shuffled, constant and none, over all answers and within groups."""
    return tuple(filter(None, (_attention_sentence(sweep, name) for name in headline_groups(sweep.groups))))


def _attention_sentence(sweep: Sweep, group: str) -> str:
    """That at the paper's alpha and at the best one; "" where none is defined."""
    best, paper = sweep.best(group), sweep.paper_alpha
    if best is None:
        return ""
    metric = METRICS[sweep.metric]
    values = {alpha: in_words(sweep.of_group(group)[sweep.alphas.index(alpha)]) for alpha in (paper, best)}
    also = " and the best" if best == paper else ""
    at_paper = f"at alpha {paper:g} (the paper's for {sweep.signal}{also}; {metric} {values[paper]})"
    words = [f"{title_of(group).capitalize()}: {at_paper} real attention {_against(sweep, group, paper)}"]
    if best != paper:
        then = "attention is not used" if best == 1 else f"it {_against(sweep, group, best)}"
        words.append(f"at alpha {best:g} (the best, chosen by the labels; {values[best]}) {then}")
    return f"{'; '.join(words)}."


def _at(sweep: Sweep, exchange: Exchange, group: str, alpha: float) -> Estimate:
    """Real attention minus an exchanged one at one alpha."""
    return sweep.under(exchange, group)[sweep.alphas.index(alpha)].difference


def _against(sweep: Sweep, group: str, alpha: float) -> str:
    """Than which other attention the real one ranks better, and than which it does not, each with its interval."""
    others = {name: _at(sweep, name, group, alpha) for name in REPLACED}
    words = []
    for verdict in ("better", "negligibly better", "no better", "negligibly worse", "worse"):
        names = [f"{name} ({with_sign(one)})" for name, one in others.items() if _than(one) == verdict]
        words += [f"{verdict} than {listed(names)}"] if names else []
    unknown = [name for name, one in others.items() if not _than(one)]
    ranks = [f"ranks {', '.join(words)}"] if words else []
    return " and ".join([*ranks, *([f"cannot be compared with {listed(unknown)}"] if unknown else [])])


def _than(real_minus_other: Estimate) -> str:
    """The verdict on real attention; "" where it is undefined or has no interval."""
    if real_minus_other.reason or real_minus_other.no_interval:
        return ""
    if is_slight(real_minus_other):
        return "negligibly better" if real_minus_other.value > 0 else "negligibly worse"
    return {1: "better", -1: "worse", 0: "no better"}[sign_of(real_minus_other)]


def ablation_note(ablated: Ablated) -> str:
    """What a table leaves out: answers used to choose heads, and rows whose layers the run does not keep."""
    chosen = f"Heads were selected on {ablated.chosen_on:,} answers, which are excluded from these numbers."
    missing = "; ".join(map(name_of, ablated.missing))
    return joined(
        chosen if ablated.chosen_on else "",
        f"Not computed, because the run does not store all of their layers: {missing}. Score it again with --layers "
        "all."
        if missing
        else "",
    )


def _verdict(estimate: Estimate) -> str:
    if estimate.no_interval:
        return "Whether attention matters cannot be said"
    if is_slight(estimate):
        return "Attention has a negligible effect"
    sides = {1: "Attention matters", -1: "Attention makes the ranking worse", 0: "No significant effect of attention"}
    return sides[sign_of(estimate)]


def _others(control: GroupControl) -> str:
    """How the other kinds of replaced attention compare with the real attention."""
    others = [
        one
        for one in control.exchanged
        if one.exchange != "shuffled" and not (one.difference.reason or one.difference.no_interval)
    ]
    words = [
        f"with {' or '.join(names)} attention it is {side}"
        for side in ("higher", "lower", "negligibly different", "not significantly different")
        if (names := [EXCHANGES[other.exchange] for other in others if _side(other.difference) == side])
    ]
    return f"; {', '.join(words)}" if words else ""


def _side(difference: Estimate) -> str:
    """Whether the metric with replaced attention is higher or lower, given the real one's minus it."""
    if is_slight(difference):
        return "negligibly different"
    return {1: "lower", -1: "higher", 0: "not significantly different"}[sign_of(difference)]
