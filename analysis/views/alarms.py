"""The view of alarms: what would be stopped while it is written, by RAUQ so far and by simpler scores."""

from functools import partial

import numpy as np
import pandas as pd

from analysis.answer_sets.sentences import joined
from analysis.exports.tables import Table
from analysis.online.compared import COMPARED, RAUQ, STATED, AlarmCurves, alarm_curves, truth
from analysis.online.curves import NAMES, OnlineScore
from analysis.online.figures import alarm_lines
from analysis.views.answer_set import AnswerSet
from analysis.views.methods import Choices
from analysis.views.view import Picture, Seen, View
from rauq.labels import listed, number

_HOW = (
    "Share of incorrect answers that a score would stop, at each share of correct ones that it may stop. Band: 95 % "
    "interval of RAUQ. Dotted: stopping at random."
)
_RULE = (
    "An answer is stopped after the first token, other than its last, at which the score exceeds a threshold. "
    "Thresholds are learned on the correct answers to half of the questions and applied to the other half; means over "
    "random halves. Intervals are by question. The control stops every answer after a fixed number of tokens."
)
_RATE = f"{100 * STATED:.0f} %"
_SIMPLER = tuple(name for name in COMPARED if name != RAUQ)
_WORDS: dict[OnlineScore, str] = {"num_tokens": "the number of tokens alone"}


def _alarms(answers: AnswerSet, _choices: Choices) -> AlarmCurves:
    return alarm_curves(answers.batch("predicting"), truth(answers.sides), clusters=answers.clusters)


def _claim(seen: Seen[Choices, AlarmCurves]) -> str:
    found = seen.result
    if found.reason:
        return f"What an alarm would stop is not known: {found.reason}"
    if not float(found.stopped[RAUQ].incorrect[found.stated, 1]) > STATED:
        return "An alarm by RAUQ is not shown to stop more incorrect answers than correct ones"
    best = max(_SIMPLER, key=lambda name: _share(found, name))
    return (
        f"At {_RATE} false alarms, RAUQ would stop {_share(found, RAUQ):.0f} % of incorrect answers, and "
        f"{_WORDS.get(best, NAMES[best])} {_share(found, best):.0f} %"
    )


def _share(found: AlarmCurves, name: OnlineScore) -> float:
    """The percentage of incorrect answers that alarms by a score stop at the stated rate."""
    return 100 * float(found.stopped[name].incorrect[found.stated, 0])


def _sentence(seen: Seen[Choices, AlarmCurves]) -> str:
    found = seen.result
    if found.reason:
        return f"What an alarm would stop is not known: {found.reason}"
    return (
        f"At a false-alarm rate of {_RATE}, RAUQ so far would stop {_percent(found, RAUQ)} of incorrect answers before "
        "their last token"
    )


def _more(seen: Seen[Choices, AlarmCurves]) -> str:
    found = seen.result
    if found.reason:
        return ""
    shares, points = (
        listed([f"{_WORDS.get(name, NAMES[name])} {of(found, name)}" for name in _SIMPLER])
        for of in (_percent, _points)
    )
    return joined(
        f"Simpler scores would stop: {shares}.",
        f"RAUQ minus these, in points: {points}. Where an interval includes 0, no difference is shown.",
        _to_use(float(found.thresholds[found.stated])),
    )


def _points(found: AlarmCurves, name: OnlineScore) -> str:
    ends = 100 * found.stopped[name].difference[found.stated]
    value, low, high = (f"{end:+z.0f}".replace("-", "−") for end in ends)
    return f"{value} [{low}, {high}]"


def _to_use(threshold: float) -> str:
    if np.isnan(threshold):
        return ""
    return f"Threshold for this rate, learned on all correct answers here: {number(threshold, places=2)} nats."


def _percent(found: AlarmCurves, name: OnlineScore) -> str:
    value, low, high = (number(100 * float(end), places=0) for end in found.stopped[name].incorrect[found.stated])
    return f"{value} % [{low}, {high}]"


def _pictures(seen: Seen[Choices, AlarmCurves]) -> tuple[Picture, ...]:
    alt = "Share of incorrect answers that are stopped, by false-alarm rate"
    return (Picture("alarms", "Alarms", alt, _HOW, partial(alarm_lines, seen.result), about=_RULE),)


def _tables(seen: Seen[Choices, AlarmCurves]) -> tuple[Table, ...]:
    caption = "Percent of the answers, and of the tokens of incorrect ones. Low and high: 95 % interval by question."
    frame = pd.DataFrame(
        [_row(seen.result, name, place) for name in COMPARED for place in range(len(seen.result.rates))]
    )
    return (Table("alarms", "Alarms", caption, frame, place="folded"),)


def _row(found: AlarmCurves, name: OnlineScore, place: int) -> dict[str, object]:
    own = found.stopped[name]
    shares = {
        "correct_stopped_percent": own.correct,
        "incorrect_stopped_percent": own.incorrect,
        "tokens_of_incorrect_saved_percent": own.saved,
    }
    return {
        "score": NAMES[name],
        "false_alarm_rate_percent": 100 * found.rates[place],
        "threshold_nats": float(found.thresholds[place]) if name == RAUQ else np.nan,
        **{
            f"{title}{end}": float(100 * share[place, column])
            for title, share in shares.items()
            for column, end in enumerate(("", "_low", "_high"))
        },
    }


ALARMS = View[Choices, AlarmCurves](
    id="alarms",
    title="Alarms",
    topic="Which answers are found?",
    question="How many incorrect answers would an alarm stop while they are written?",
    needs=frozenset({"thresholds"}),
    compute=_alarms,
    claim=_claim,
    sentence=_sentence,
    more=_more,
    pictures=_pictures,
    tables=_tables,
)
