"""Where in an answer the texts stand that carry its fact."""

import re
from collections.abc import Sequence


def fact_spans(answer: str, texts: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """Characters (start, end) of every occurrence of every text in the answer, in order; case does not matter.

    An occurrence inside a longer word or number is none: 5 does not occur in 50. Scripts that write without spaces
    have no such limits.
    """
    found = {
        match.span()
        for text in texts
        if text.strip()
        for match in re.finditer(re.escape(text.strip()), answer, re.IGNORECASE)
        if not _cut(answer, match.start()) and not _cut(answer, match.end())
    }
    return tuple(sorted(found))


def _cut(answer: str, place: int) -> bool:
    """Whether the place lies inside a word or a number."""
    return 0 < place < len(answer) and all(_spaced(letter) for letter in answer[place - 1 : place + 1])


def _spaced(letter: str) -> bool:
    return letter.isdigit() or letter.lower() != letter.upper()
