"""How uncertain an answer is compared with other answers of its model."""

from typing import Any

import numpy as np

from analysis.figures import outcomes
from analysis.one_answer.standing import nearest_in_words, rank_in_words, standing, worth_in_words
from pages.ui.inspect.reference import Reference
from rauq.labels import number, running
from rauq.recorded.scores import ReferenceScores, scores_of
from rauq.scoring.score import Score
from rauq.trace.trace import Trace

UNDEFINED = "No rank: the score is undefined."


def judged_payload(trace: Trace, score: Score, reference: Reference) -> dict[str, Any]:
    """Return what the reference says of the score, its tokens and the heads."""
    scores = reference.scores
    kept = (scores or scores_of(trace)) if score.settings.alignment == "predicting" else None  # whatever the alpha
    return {
        "standing": _standing(score, reference),
        "heads": None if kept is None else _heads(kept, trace),
        "underline": None if scores is None else scores.token_collapse,
        "underlineNote": "" if scores is None else _underline_note(scores),
        "worth": "" if scores is None or scores.weak_point is None else worth_in_words(scores.weak_point),
        "outcomes": {name: [look.colour for look in outcomes(dark=name == "dark")] for name in ("light", "dark")},
    }


def _heads(kept: ReferenceScores, trace: Trace) -> dict[str, Any] | None:
    """Return what each head (L * H,) of the answer says of the reference answers, with the words that explain it."""
    heads = kept.heads and kept.heads.of(trace.layers, trace.num_heads)
    if kept.heads is None or heads is None:
        return None
    low, high = (number(0.5 + side * heads.chance, places=2) for side in (-1, 1))
    count = sum(map(len, kept.heads.auc))
    return {
        "auc": [value for row in heads.auc for value in row],
        "inCorrect": [value for row in heads.in_correct for value in row],
        "chance": heads.chance,
        "sub": f"ROC-AUC in {len(kept.correct):,} answers of this model",
        "caption": (
            "ROC-AUC of each head's attention, correct vs incorrect, within kinds of question. Blue: more in "
            f"correct answers; orange: less; faint: within {low} to {high}, where the best of {count} heads stays with "
            "shuffled labels. Length and words explain a part: see Heads in Answer sets."
        ),
    }


def _underline_note(scores: ReferenceScores) -> str:
    if scores.token_collapse is None:
        return ""
    limit = number(scores.token_collapse, places=2)
    return f"Underlined: words with a collapse beyond {limit} nats, which one in five tokens of the reference exceeds."


def _standing(score: Score, reference: Reference) -> dict[str, Any]:
    if reference.scores is None:
        return {"reason": reference.reason} | ({"pending": True} if reference.pending else {})
    scores = reference.scores
    found = standing(score.uncertainty, np.array(scores.uncertainties), np.array(scores.correct))
    if found is None:
        return {"reason": UNDEFINED}
    return {
        "rank": rank_in_words(found),
        "nearest": nearest_in_words(found),
        "caution": caution(score, scores),
        "about": about_reference(score, scores, reference.name),
        "uncertainty": found.uncertainty,
        "edges": found.edges,
        "correct": found.correct,
        "incorrect": found.incorrect,
    }


def ranked(uncertainty: float | None, reference: Reference) -> str:
    """How an uncertainty ranks among the reference; empty where it has no rank."""
    scores = reference.scores
    if scores is None or uncertainty is None:
        return ""
    found = standing(uncertainty, np.array(scores.uncertainties), np.array(scores.correct))
    return "" if found is None else rank_in_words(found)


def caution(score: Score, scores: ReferenceScores) -> str:
    """Say so where an answer is longer than all that it is compared with; else empty."""
    length = score.span[1] - score.span[0]
    if scores.longest is None or length <= scores.longest:
        return ""
    return f"Caution: this answer is longer ({length} tokens) than all of these (at most {scores.longest})."


def about_reference(score: Score, scores: ReferenceScores, name: str) -> str:
    """Say which answers a score is compared with, and what the score is for."""
    return (
        f"Reference: {running(name)}, answers of {running(scores.model)} to the data set {running(scores.data)}. "
        f"RAUQ {number(score.uncertainty, places=2)}: for ranking, not a probability."
    )
