"""Which tokens of an answer a stretch of its text lies in."""

from collections.abc import Iterable, Sequence

import numpy as np


def tokens_in(answer_tokens: Sequence[str], spans: Iterable[tuple[int, int]]) -> np.ndarray:
    """Tokens that share a character with one of the spans, each from a first character to before a last: (N,) bool."""
    ends = np.cumsum([len(text) for text in answer_tokens])
    starts = ends - [len(text) for text in answer_tokens]
    inside = np.zeros(len(answer_tokens), dtype=bool)
    for first, last in spans:
        inside |= (starts < last) & (ends > first)
    return inside
