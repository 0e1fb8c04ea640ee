"""What the comparison of detectors says: which way it went on these answers, and how to read it."""

from typing import NamedTuple

from analysis.detectors.comparison import HEADS_RAUQ, RAUQ, WORDS, Detectors, Judgement, Split
from analysis.stats import Estimate, in_words
from rauq.labels import number

SPLIT_NAMES: dict[Split, str] = {"questions": "unseen questions", "groups": "groups left out"}


class _Against(NamedTuple):
    """What all heads and RAUQ are compared with on a split: its id, its name, and the verdicts in its favour."""

    other: str
    name: str
    equal: str
    worse: str


_AGAINST: dict[Split, _Against] = {
    "questions": _Against(WORDS, "the words alone", "Words alone do as well", "Words alone rank better"),
    "groups": _Against(RAUQ, "RAUQ alone", "RAUQ alone does as well", "RAUQ alone ranks better"),
}


def detectors_sentence(found: Detectors) -> str:
    """Whether heads rank answers better than words to unseen questions, and better than RAUQ in groups left out."""
    return " ".join(_compared(found, split, against) for split, against in _AGAINST.items())


def _compared(found: Detectors, split: Split, against: _Against) -> str:
    where = SPLIT_NAMES[split].capitalize()
    minus = {WORDS: found.minus_words, RAUQ: found.minus_rauq}[against.other]
    if reason := found.reasons[split] or _main(minus[split], found).reason:
        return f"{where}: undefined, {reason}."
    change = _main(minus[split], found)
    own, rest = (_two(_main(found.judged[split][one], found)) for one in (HEADS_RAUQ, against.other))
    within = " within groups" if found.num_groups > 1 else ""
    return (
        f"{where}: PRR{within} {own} with all heads and RAUQ, {rest} with {against.name}. {_verdict(change, against)} "
        f"({_signed(change)})."
    )


def _verdict(change: Estimate, against: _Against) -> str:
    if change.low <= 0 <= change.high:
        return against.equal if change.value <= 0 else "No significant difference"
    return "Heads rank better" if change.value > 0 else against.worse


def _main(judged: Judgement, found: Detectors) -> Estimate:
    return judged.within if found.num_groups > 1 else judged.all


def detectors_caption(found: Detectors) -> str:
    """What is fitted, and how to read it."""
    within = " within groups" if found.num_groups > 1 else ""
    apart = "; on the right, without its whole group" if found.num_groups > 1 else ""
    return (
        "Logistic regression on the mean previous-token attention of all heads, or on words, length or group instead. "
        f"Each answer is scored by fits without it and its question{apart}. PRR{within}, 95 % bootstrap intervals."
    )


def table_caption(found: Detectors) -> str:
    """How many answers are used, and which of the numbers can be compared."""
    left = f" {found.excluded:,} without verdict, attention or score are left out." if found.excluded else ""
    return (
        f"{found.num_answers:,} answers, {found.num_heads:,} heads.{left} All answers: PRR over all groups together. "
        "When groups are left out, compare within groups: scores of different fits share no scale. Intervals leave out "
        "the variation between fits."
    )


def _signed(found: Estimate) -> str:
    return in_words(found) if found.value <= 0 else f"+{in_words(found)}"


def _two(found: Estimate) -> str:
    return number(found.value, places=2)
