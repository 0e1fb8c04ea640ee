"""Whether an answer is correct, and how uncertain it is compared with other answers of its model."""

from typing import Any

import numpy as np

from analysis.figures import outcomes
from analysis.one_answer.standing import Standing, nearest_in_words, rank_in_words, standing
from rauq.labels import number, running
from rauq.recorded.answers import Recorded
from rauq.recorded.scores import ReferenceScores, scores_of
from rauq.scoring.score import Score
from rauq.scoring.settings import is_paper_setting
from rauq.trace.trace import Trace

NO_REFERENCE = (
    "How uncertain this is, compared with other answers of the model, needs a run of it: score a data set on the page "
    "Runs."
)
OTHER_SETTING = "The reference answers are scored with the paper's setting. Reset to it to compare."
UNDEFINED = "No rank: the score is undefined."


def judged_payload(trace: Trace, score: Score, recorded: Recorded | None) -> dict[str, Any]:
    """Return the verdict, where it is known, and the rank of the score, or why it has none."""
    kept = scores_of(trace)
    return {
        "verdict": None if recorded is None else recorded.verdict,
        "correctAnswer": "" if recorded is None or recorded.correct else recorded.correct_answer,
        "standing": _standing(trace, score, kept),
        "heads": None if kept is None or score.settings.alignment != "predicting" else _heads(kept),
        "outcomes": {name: [look.colour for look in outcomes(dark=name == "dark")] for name in ("light", "dark")},
    }


def _heads(kept: ReferenceScores) -> dict[str, Any] | None:
    """Return what each head (L * H,) says of the reference answers, with the words that explain it."""
    if kept.heads is None:
        return None
    low, high = (number(0.5 + side * kept.heads.chance, places=2) for side in (-1, 1))
    count = sum(map(len, kept.heads.auc))
    return {
        "auc": [value for row in kept.heads.auc for value in row],
        "inCorrect": [value for row in kept.heads.in_correct for value in row],
        "sub": f"ROC-AUC in {len(kept.correct):,} answers of this model",
        "caption": (
            "ROC-AUC of each head's mean attention, correct vs incorrect answers of the reference, within kinds of "
            f"question. Blue: more in correct answers; orange: less. With shuffled labels, the best of {count} heads "
            f"stays within {low} to {high}. Length and words can explain a part: see Heads in Answer sets."
        ),
    }


def _standing(trace: Trace, score: Score, kept: ReferenceScores | None) -> dict[str, Any]:
    if kept is None:
        return {"reason": NO_REFERENCE}
    if not is_paper_setting(score.settings, trace.kind):
        return {"reason": OTHER_SETTING}
    found = standing(score.uncertainty, np.array(kept.uncertainties), np.array(kept.correct))
    return {"reason": UNDEFINED} if found is None else _in_words(found, kept)


def _in_words(found: Standing, kept: ReferenceScores) -> dict[str, Any]:
    about = (
        f"Reference: answers of {running(kept.model)} to the data set {kept.data}. RAUQ "
        f"{number(found.uncertainty, places=2)}: for ranking, not a probability."
    )
    return {
        "rank": rank_in_words(found),
        "nearest": nearest_in_words(found),
        "about": about,
        "uncertainty": found.uncertainty,
        "edges": found.edges,
        "correct": found.correct,
        "incorrect": found.incorrect,
    }
