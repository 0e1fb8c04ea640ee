"""What the signals of tokens find, in a sentence made of their numbers, and how to read the figure and the table."""

import math
from collections.abc import Callable
from types import MappingProxyType
from typing import Literal

import pandas as pd

from analysis.answer_sets.sentences import joined
from analysis.stats import Estimate, in_words
from analysis.tokens.detection import COMPARISONS, SIGNALS, Comparison, Detection, Found, Ranked, Signal
from rauq.labels import number

SIGNAL_NAMES = MappingProxyType[Signal, str](
    {
        "collapse": "Collapse",
        "probability": "1 - probability",
        "entropy": "Entropy",
        "selected": "1 - attention, head that gives the score",
        "best": "1 - attention, best head on other answers",
    }
)
_IN_A_SENTENCE = MappingProxyType[Signal, str](
    {
        "collapse": "collapse",
        "probability": "low probability",
        "entropy": "entropy",
        "selected": "low attention of the head that gives the score",
        "best": "low attention of the best head",
    }
)
COMPARISON_NAMES = MappingProxyType[Comparison, str](
    {
        "wrong": "wrong tokens, incorrect answers",
        "right": "correct facts, correct answers",
        "place": "facts at the same place",
    }
)


def undefined_reason(detection: Detection) -> str:
    """Why no signal can be judged; "" where one can."""
    return "" if any(not own.wrong.auc.reason for own in detection.found) else detection.found[0].wrong.auc.reason


def detection_claim(detection: Detection) -> str:
    """Whether a signal finds wrong tokens, or facts of either kind."""
    if reason := undefined_reason(detection):
        return f"No signal can be judged: {reason}"
    best, own = _highest(detection, lambda one: one.wrong.auc)
    return _CLAIMS[_finds(own)].format(f"{best[:1].upper()}{best[1:]}")


_Finds = Literal["nothing", "tokens", "errors", "facts"]
_CLAIMS = MappingProxyType[_Finds, str](
    {
        "nothing": "No signal is shown to find wrong tokens",
        "tokens": "{} marks wrong tokens",
        "errors": "{} marks wrong tokens, and correct facts less",
        "facts": "{} marks facts, not errors",
    }
)


def _finds(own: Found) -> _Finds:
    """What a signal ranks above other tokens: wrong ones more than correct facts, or both; "tokens": unknown which."""
    wrong, right = own.wrong.auc, own.right.auc
    if not wrong.low > _CHANCE:
        return "nothing"
    if right.reason:
        return "tokens"
    return "errors" if right.high < wrong.low else "facts"


def detection_sentence(detection: Detection) -> str:
    """Which signal ranks wrong tokens highest, if above others at all, and whether it does more than find facts."""
    if reason := undefined_reason(detection):
        return f"No signal can be judged: {reason}."
    best, own = _highest(detection, lambda one: one.wrong.auc)
    wrong, right, finds = in_words(own.wrong.auc), in_words(own.right.auc), _finds(own)
    if finds == "nothing":
        return f"No signal ranks wrong tokens above others: the highest ROC-AUC is {wrong}, of {best}."
    more = {
        "tokens": "",
        "errors": f"; correct facts lower, {right}",
        "facts": f"; but correct facts as high, {right}: it finds facts rather than errors",
    }[finds]
    return f"{best[:1].upper()}{best[1:]} ranks wrong tokens above others: ROC-AUC {wrong}{more}."


_CHANCE = 0.5


def _highest(detection: Detection, metric: Callable[[Found], Estimate]) -> tuple[str, Found]:
    """The signal that is highest by an estimate, as a sentence calls it, and what it finds."""

    def value(place: int) -> float:
        one = metric(detection.found[place])
        return -1.0 if one.reason else one.value

    place = max(range(len(SIGNALS)), key=value)
    return _IN_A_SENTENCE[SIGNALS[place]], detection.found[place]


def place_sentence(detection: Detection) -> str:
    """Which signal tells wrong facts from correct ones at the same place; "" where nothing can be judged."""
    if undefined_reason(detection):
        return ""
    best, own = _highest(detection, lambda one: one.place)
    if own.place.reason:
        return f"Wrong and correct facts cannot be compared: {own.place.reason}."
    if own.place.low > _CHANCE:
        return f"Of facts at the same place, {best} ranks the wrong ones highest: ROC-AUC {in_words(own.place)}."
    return f"Of facts at the same place, no signal ranks the wrong ones above the correct ones ({in_words(own.place)})."


def detection_caption(detection: Detection) -> str:
    """What is drawn, and how to read it."""
    return (
        f"How well each signal ranks tokens; 0.5 is chance, bars are 95 % intervals by question. {_counts(detection)}"
    )


def detection_about() -> str:
    """What the three panels compare."""
    return (
        "Left: mean over incorrect answers. Middle, the control: correct facts. Right: first tokens of wrong vs "
        "correct facts, at one position within one group."
    )


def _counts(detection: Detection) -> str:
    return f"{detection.incorrect:,} incorrect, {detection.correct:,} correct answers."


def table_caption(detection: Detection) -> str:
    """How to read the average precision, and which tokens count."""
    both = zip(detection.shares, ("wrong in incorrect answers", "facts in correct ones"), strict=True)
    shares = [f"{number(100 * share, places=0)} % {name}" for share, name in both if not math.isnan(share)]
    return joined(
        "Tokens without text and the first token, which has no attention, are left out.",
        f"Average precision compares with the share of such tokens: {', '.join(shares)}." if shares else "",
        "The best head of an answer is chosen on the other half of the answers.",
    )


def heads_caption() -> str:
    """How to read the map of heads."""
    return (
        "Each head alone: ROC-AUC of its attention in incorrect answers. Blue: less attention on wrong tokens than on "
        "others. These are multiple comparisons; the control above holds for heads too."
    )


def detection_cells(detection: Detection) -> pd.DataFrame:
    """A row for each signal: ROC-AUC and average precision, over answers and pooled, with intervals, in words."""
    columns: dict[str, list[str]] = {
        "Signal": [SIGNAL_NAMES[signal] for signal in SIGNALS],
        "Same place: ROC-AUC": [_cell(one.place) for one in detection.found],
    }
    for side in ("wrong", "right"):
        for field, title in _FIELDS.items():
            own = [getattr(getattr(one, side), field) for one in detection.found]
            columns[f"{side.capitalize()}: {title}"] = [_cell(one) for one in own]
    return pd.DataFrame(columns)


_FIELDS = MappingProxyType(
    {
        "auc": "ROC-AUC",
        "pooled_auc": "ROC-AUC, pooled",
        "precision": "average precision",
        "pooled_precision": "average precision, pooled",
    }
)


def _cell(estimate: Estimate) -> str:
    return "–" if estimate.reason else in_words(estimate)


def detection_table(detection: Detection) -> pd.DataFrame:
    """A row for each signal, comparison and metric, in full."""
    return pd.DataFrame(
        [
            {
                "signal": SIGNAL_NAMES[signal],
                "comparison": COMPARISON_NAMES[comparison],
                "metric": metric,
                **_numbers(one),
            }
            for signal, own in zip(SIGNALS, detection.found, strict=True)
            for comparison in COMPARISONS
            for metric, one in _metrics(own, comparison).items()
        ]
    )


def _metrics(own: Found, comparison: Comparison) -> dict[str, Estimate]:
    if comparison == "place":
        return {"ROC-AUC within group and position": own.place}
    ranked: Ranked = getattr(own, comparison)
    return {title: getattr(ranked, field) for field, title in _FIELDS.items()}


def _numbers(estimate: Estimate) -> dict[str, object]:
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high, "n": estimate.n, **estimate.missing}
