"""The weak tokens of an answer, and the one for a headline: the first that does not repeat the question.

The rule makes a headline easier to read. `python -m benchmarks weak_points` says whether it finds incorrect facts.
"""

import math
from collections.abc import Iterator

import numpy as np

from rauq.scoring.score import Score, collapse_token
from rauq.trace.loops import loop_start
from rauq.trace.parts import shows_text
from rauq.trace.prompt_parts import is_document
from rauq.trace.trace import Trace
from rauq.trace.words import asked_tokens

# Up to this collapse, in nats, confidence is said to hold.
LARGEST_HOLD = math.log(4 / 3)


def weak_tokens(trace: Trace, score: Score) -> Iterator[int]:
    """The token of the largest collapse, then others that are not beside one of these, by their collapse.

    Of the others only those above LARGEST_HOLD that show text, and none in a loop at the end.
    """
    if (largest := collapse_token(trace, score)) is None:
        return
    yield largest
    found = [largest]
    values = np.where(shows_text(trace), score.collapse, np.nan)
    values[loop_start(trace) or len(values) :] = np.nan
    for token in np.argsort(-np.nan_to_num(values, nan=-np.inf), kind="stable").tolist():
        if not values[token] > LARGEST_HOLD:
            return
        if not any(_are_together(score, token, other) for other in found):
            found.append(token)
            yield token


def headline_token(trace: Trace, score: Score) -> int | None:
    """The first of the weak tokens that is no word of the question; the largest collapse where each is one.

    None where no collapse is defined.
    """
    largest, asked = collapse_token(trace, score), of_question(trace)
    if largest is None or not asked[largest]:
        return largest
    return next((token for token in weak_tokens(trace, score) if not asked[token]), largest)


def of_question(trace: Trace) -> np.ndarray:
    """Which tokens of an answer are part of a word of its question, and of no other word: (N,) bool.

    The question is the prompt without its documents.
    """
    question = trace.prompt
    for part, text in zip(trace.prompt_parts, trace.part_texts, strict=bool(trace.part_texts)):
        question = question.replace(text, " ") if text and is_document(part.name) else question
    return asked_tokens(trace.answer_tokens, question)


def compared_span(score: Score, token: int) -> tuple[int, int]:
    """The tokens, from a first to before a last, that a score by surprisal compares without a gap around this one."""
    gaps = np.flatnonzero(np.isnan(score.collapse))
    before, after = gaps[gaps < token], gaps[gaps > token]
    return int(before[-1]) + 1 if before.size else 0, int(after[0]) if after.size else len(score.collapse)


def _are_together(score: Score, token: int, other: int) -> bool:
    """Whether two tokens are side by side, or, by surprisal, in one name."""
    return abs(token - other) <= 1 or (score.by == "surprisal" and token in range(*compared_span(score, other)))
