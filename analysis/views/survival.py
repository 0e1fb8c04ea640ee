"""The view of the page Methods that asks what is left of a method once simpler explanations are controlled."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from analysis.exports.tables import Table
from analysis.survival.answers import of_run, signal_of_run
from analysis.survival.figures import added_rungs, no_rungs, ranking_rungs
from analysis.survival.ladder import Ladder, ladder_of
from analysis.survival.sentences import caption, ladder_table, more, shown_table, verdict, verdict_claim
from analysis.views.answer_set import AnswerSet
from analysis.views.methods import Choices, base_of
from analysis.views.view import Picture, Seen, View
from rauq.errors import InvalidInput

_TITLE = "Does it survive?"


@dataclass(frozen=True, eq=False, kw_only=True)
class Survived:
    """The ladder of a method; None where there are too few answers, and why."""

    ladder: Ladder | None
    reason: str = ""


def _survived(answers: AnswerSet, choices: Choices) -> Survived:
    try:
        return Survived(ladder=_ladder(answers, choices))
    except InvalidInput as error:
        return Survived(ladder=None, reason=str(error))


def _ladder(answers: AnswerSet, choices: Choices) -> Ladder:
    judged = answers.rows[np.isfinite(answers.quality)]  # how many are not is said of every view
    given, rows = of_run(answers.run, judged, thresholds=answers.thresholds)
    return ladder_of(given, signal_of_run(answers.run, choices.method, rows), seed=choices.seed)


_RANKING = ("survival_ranking", "What ranks the answers", "ROC-AUC of the signal and of each control")


def _pictures(found: Survived) -> tuple[Picture, ...]:
    """What ranks the answers, and beside it what the signal adds; or why nothing can be said."""
    if (ladder := found.ladder) is None:
        return (Picture(*_RANKING, "Nothing can be judged here.", partial(no_rungs, found.reason)),)
    return (
        Picture(
            *_RANKING,
            "Orange: the signal. Grey circle: labels shuffled within groups. Blue: a control alone. Square: texts that "
            "the labels were made from.",
            partial(ranking_rungs, ladder),
            share=0.55,
        ),
        Picture(
            "survival_added",
            "What the signal adds",
            "Differences of ROC-AUC that the signal makes",
            "What is added to ROC-AUC. Teal: beyond noise, and enough for a claim. Grey: not shown.",
            partial(added_rungs, ladder),
            share=0.45,
        ),
    )


def _table(ladder: Ladder) -> Table:
    """All rungs, with what each asks."""
    heading = f"{_TITLE} {ladder.signal}"
    return Table("survival", heading, caption(ladder), ladder_table(ladder), cells=shown_table(ladder))


def _claim(seen: Seen[Choices, Survived]) -> str:
    return verdict_claim(seen.result.ladder) if seen.result.ladder else seen.result.reason


def _sentence(seen: Seen[Choices, Survived]) -> str:
    return verdict(seen.result.ladder) if seen.result.ladder else seen.result.reason


SURVIVAL = View[Choices, Survived](
    id="survives",
    title=_TITLE,
    topic="What does the ranking rest on?",
    question="What is left of a method beyond words, length, group and chance?",
    needs=frozenset({"method"}),
    compute=_survived,
    claim=_claim,
    sentence=_sentence,
    more=lambda seen: more(seen.result.ladder) if seen.result.ladder else "",
    pictures=lambda seen: _pictures(seen.result),
    tables=lambda seen: (_table(seen.result.ladder),) if seen.result.ladder else (),
    reported=lambda answers, choices: (replace(choices, method=base_of(answers.run)),),
)
