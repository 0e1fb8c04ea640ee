"""What came out of the control, of alpha and of the ablations, in sentences of numbers that are honest either way.

They are made of our own words and numbers alone: nothing in them has to be quoted.
"""

from analysis.answer_sets.captions import joined, signed
from analysis.estimate import Estimate, in_words
from analysis.methods.ablations import Ablated
from analysis.methods.control_ranking import EXCHANGES, GroupControl
from analysis.methods.names import name_of
from analysis.methods.sweep import Sweep
from analysis.metrics import METRICS
from rauq.labels import number


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
