"""The views of the page Methods that ask what is left of a method, or of a signal of single tokens, beyond controls."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from analysis.exports.tables import Table
from analysis.survival.answers import of_run, signal_of_run
from analysis.survival.figures import added_rungs, no_rungs, ranking_rungs
from analysis.survival.labelled import ANSWERS, TOKENS, Level
from analysis.survival.ladder import Ladder, ladder_of
from analysis.survival.sentences import caption, ladder_table, more, shown_table, verdict, verdict_claim
from analysis.survival.tokens import tokens_of_run
from analysis.views.answer_set import AnswerSet
from analysis.views.methods import Choices, base_of
from analysis.views.variants import facts_of
from analysis.views.view import Picture, Seen, View
from rauq.errors import InvalidInput

_TITLE = "Does it survive?"


@dataclass(frozen=True, eq=False, kw_only=True)
class Survived:
    """The ladder of a method; None where there are too few answers, and why."""

    ladder: Ladder | None
    reason: str = ""


def _survived(ladder: Callable[[AnswerSet, Choices], Ladder], answers: AnswerSet, choices: Choices) -> Survived:
    try:
        return Survived(ladder=ladder(answers, choices))
    except InvalidInput as error:
        return Survived(ladder=None, reason=str(error))


def _judged(answers: AnswerSet) -> np.ndarray:
    """The rows with a quality; how many have none is said of every view."""
    return answers.rows[np.isfinite(answers.quality)]


def _of_answers(answers: AnswerSet, choices: Choices) -> Ladder:
    given, rows = of_run(answers.run, _judged(answers), thresholds=answers.thresholds)
    return ladder_of(given, signal_of_run(answers.run, choices.method, rows), seed=choices.seed)


def _of_tokens(answers: AnswerSet, choices: Choices) -> Ladder:
    found = tokens_of_run(answers.run, _judged(answers), thresholds=answers.thresholds)
    return ladder_of(found.given, found.signal(choices.token_signal), seed=choices.seed)


_READING = {
    ANSWERS: "Grey circle: labels shuffled within groups. Blue: a control alone. Square: texts that the labels were "
    "made from.",
    TOKENS: "Grey circle: labels turned in a circle within answers. Blue: a control alone.",
}


def ladder_pictures(found: Survived, level: Level, *, name: str) -> tuple[Picture, ...]:
    """What ranks, and beside it what the signal adds; or why nothing can be said."""
    ranking = f"{name}_ranking", f"What ranks the {level.name}", "ROC-AUC of the signal and of each control"
    if (ladder := found.ladder) is None:
        return (Picture(*ranking, "Nothing can be judged here.", partial(no_rungs, found.reason)),)
    return (
        Picture(*ranking, f"Orange: the signal. {_READING[level]}", partial(ranking_rungs, ladder), share=0.55),
        Picture(
            f"{name}_added",
            "What the signal adds",
            "Differences of ROC-AUC that the signal makes",
            "What is added to ROC-AUC. Teal: beyond noise, and enough for a claim. Grey: no claim.",
            partial(added_rungs, ladder),
            share=0.45,
        ),
    )


def ladder_tables(found: Survived, *, name: str) -> tuple[Table, ...]:
    """All rungs, with what each asks."""
    if (ladder := found.ladder) is None:
        return ()
    heading = f"{_TITLE} {ladder.signal}"
    return (Table(name, heading, caption(ladder), ladder_table(ladder), cells=shown_table(ladder)),)


def _claim(seen: Seen[Choices, Survived]) -> str:
    return verdict_claim(seen.result.ladder) if seen.result.ladder else seen.result.reason


def _sentence(seen: Seen[Choices, Survived]) -> str:
    return verdict(seen.result.ladder) if seen.result.ladder else seen.result.reason


def _more(seen: Seen[Choices, Survived]) -> str:
    return more(seen.result.ladder) if seen.result.ladder else ""


SURVIVAL = View[Choices, Survived](
    id="survives",
    title=_TITLE,
    topic="What does the ranking rest on?",
    question="What is left of a method beyond words, length, group and chance?",
    needs=frozenset({"method"}),
    compute=partial(_survived, _of_answers),
    claim=_claim,
    sentence=_sentence,
    more=_more,
    pictures=lambda seen: ladder_pictures(seen.result, ANSWERS, name="survival"),
    tables=lambda seen: ladder_tables(seen.result, name="survival"),
    reported=lambda answers, choices: (replace(choices, method=base_of(answers.run)),),
)
TOKEN_SURVIVAL = View[Choices, Survived](
    id="token_survives",
    title="Signals of tokens",
    topic="What does the ranking rest on?",
    question="What is left of a signal of single tokens beyond their words, capitals, digits and position?",
    needs=frozenset({"token_signal"}),
    compute=partial(_survived, _of_tokens),
    claim=_claim,
    sentence=_sentence,
    more=_more,
    pictures=lambda seen: ladder_pictures(seen.result, TOKENS, name="token_survival"),
    tables=lambda seen: ladder_tables(seen.result, name="token_survival"),
    reported=lambda answers, choices: (choices,) if facts_of(answers).any() else (),
)
