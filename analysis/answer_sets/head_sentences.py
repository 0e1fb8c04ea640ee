"""What the view Heads says: which heads separate correct from incorrect answers, and whether words explain it."""

from collections.abc import Sequence

import numpy as np

from analysis.answer_sets.sentences import joined, left_out
from analysis.answer_sets.separation import HeldOut, Labelled, Separation
from analysis.answer_sets.word_attention import WordAttention
from analysis.stats import Intervals
from rauq.labels import number


def about_separation(found: Separation, same: Separation, layers: Sequence[int]) -> str:
    """How many heads separate correct from incorrect answers beyond chance, and among those of the `same` length."""
    if found.best is None:
        return f"Nothing to compare: {found.labelled.reason}"
    row, head = found.best
    best = f"layer {layers[row]} head {head}, ROC-AUC {_short(found.auc[found.best])}"
    if not found.beyond_chance:
        return (
            f"No head separates correct from incorrect answers beyond chance; the best of {found.auc.size:,} is {best}"
        )
    at_length = "" if same.best is None else f" ({same.num_beyond:,} at equal length)"
    return (
        f"{found.num_beyond:,} of {found.auc.size:,} heads separate{'s' * (found.num_beyond == 1)} correct from "
        f"incorrect answers beyond chance{at_length}; best: {best}"
    )


def about_directions(found: Separation) -> str:
    """Which way the heads beyond chance go."""
    if not found.beyond_chance:
        return ""
    return f"Beyond chance: {found.num_higher:,} with more attention in correct answers, {found.num_lower:,} with less."


def about_held_out(half: HeldOut) -> str:
    """How the heads that one half chose do on the other half."""
    if half.reason:
        return f"Held-out values are undefined: {half.reason}."
    ends = _short(np.nanmin(half.auc.value)), _short(np.nanmax(half.auc.value))
    said = (
        f"Chosen on one half of the answers, the {len(half.heads)} strongest have ROC-AUC {ends[0]} to {ends[1]} on "
        "the other"
    )
    if np.isnan(half.auc.low).all():
        return f"{said}; too few answers for intervals."
    up = half.chosen > 0.5
    kept = int(((half.auc.low > 0.5) & up).sum() + ((half.auc.high < 0.5) & ~up).sum())
    return f"{said}; {kept} of {len(half.heads)} intervals exclude 0.5."


def about_length(same: Separation) -> str:
    """How many answers can be compared with others of the same group and length."""
    if same.best is None:
        return f"Answers of equal length cannot be compared: {same.labelled.reason}."
    return f"{len(same.labelled.correct):,} answers have both sides in their group at equal length."


def about_controls(found: Intervals) -> str:
    """How three values separate: the attention that RAUQ uses, the mean over all heads, and the number of tokens."""
    picked, mean, length = (_with_interval(found, at) for at in range(3))
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


def separation_caption(found: Separation) -> str:
    """What the map shows, and the limit of chance."""
    if found.best is None:
        return f"Nothing to compare: {found.labelled.reason}."
    limits = f"{_short(0.5 - found.chance)} to {_short(0.5 + found.chance)}"
    return (
        "ROC-AUC of each head's mean attention, correct vs incorrect, within groups. Blue: more in correct answers; "
        f"orange: less. With labels shuffled within groups, the best of {found.auc.size:,} stays within {limits} in "
        "95 % of cases. Ringed: selected most often in its layer."
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
    own = "Held-out: on the half of the answers that did not choose the heads. Brackets: 95 % bootstrap intervals."
    if words is None:
        return joined(own, "Words alone: known only for the whole answer.")
    return joined(
        own,
        "Words alone: of the attention expected from pairs of tokens; residual: of the rest; known for layers "
        f"{words.layers[0]} to {words.layers[-1]}.",
        f"{words.num_mostly_unseen:,} of {int(np.isfinite(words.unseen).sum()):,} answers have mostly pairs that no "
        "other answer has.",
    )


def interval_words(found: Intervals, at: int) -> str:
    """An area under the curve with its interval; "–" where it is undefined."""
    return _with_interval(found, at) if np.isfinite(found.value[at]) else "–"


def _with_interval(found: Intervals, at: int) -> str:
    if np.isnan(found.value[at]):
        return "undefined"
    if np.isnan(found.low[at]):
        return _short(found.value[at])
    return f"{_short(found.value[at])} [{_short(found.low[at])}, {_short(found.high[at])}]"


def _short(value: float) -> str:
    return number(float(value), places=2)
