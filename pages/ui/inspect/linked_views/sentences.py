"""The sentences of a long answer as the browser draws them: their tokens, their scores and their ranks."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from rauq.labels import number, running
from rauq.scoring.score import Score
from rauq.scoring.sentence_scores import SentenceScore, sentence_scores
from rauq.trace.trace import Trace

READS = 80  # tokens: from here on an answer reads as text, sentence by sentence
_MEAN = ("uncertainty", "Uncertainty: mean of −log c over the tokens of a sentence.")
_SURPRISAL = (
    "largest surprisal",
    "Largest surprisal: of the tokens of a sentence that are compared. Longer sentences tend to have a larger one.",
)


def sentence_payload(trace: Trace, score: Score) -> dict[str, Any]:
    """Return the sentences of an answer in order, and what their score is; none of a short answer."""
    name, about = _SURPRISAL if score.by == "surprisal" else _MEAN
    return {"sentences": _drawn_sentences(trace, score), "sentenceScore": {"name": name, "about": about}}


def _drawn_sentences(trace: Trace, score: Score) -> list[dict[str, Any]]:
    if len(trace.pieces) < READS:
        return []
    scored = sentence_scores(trace, score)
    ranks = sentence_ranks(scored)
    return [_drawn_sentence(trace.answer, *one) for one in zip(scored, ranks, strict=True)]


def sentence_ranks(sentences: Sequence[SentenceScore]) -> list[int | None]:
    """Return how many sentences are more uncertain, plus 1; None where the uncertainty is undefined."""
    values = np.array([sentence.uncertainty for sentence in sentences])
    defined = np.sort(values[~np.isnan(values)])
    above = len(defined) - np.searchsorted(defined, values, side="right")
    return [None if np.isnan(value) else int(more) + 1 for value, more in zip(values, above, strict=True)]


def _drawn_sentence(answer: str, sentence: SentenceScore, rank: int | None) -> dict[str, Any]:
    return {
        "tokens": sentence.tokens,
        "text": running(" ".join(answer[sentence.start : sentence.end].split())),
        "uncertainty": number(sentence.uncertainty, places=2),
        "weakest": sentence.weakest_token,
        "rank": rank,
        "reason": sentence.reason if rank is None else "",
    }
