"""The tokens of an answer as the browser draws them: as running text, in which a character is never cut in two."""

import math
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any

from rauq.labels import Part, label, running_parts, token_labels, visible, whole_characters
from rauq.trace.parts import shows_text
from rauq.trace.trace import Trace


@lru_cache(maxsize=8)
def drawn_tokens(trace: Trace) -> tuple[dict[str, Any], ...]:
    """Return what is drawn of each token, with the most probable ones at its place."""
    is_text = shows_text(trace)
    return tuple(
        token | {"quiet": not is_text[index], "alternatives": _alternatives(trace, index)}
        for index, token in enumerate(bare_tokens(trace.pieces))
    )


def bare_tokens(pieces: Sequence[bytes], *, goes_on: bool = False) -> list[dict[str, Any]]:
    """Return what is drawn of tokens before they have numbers; `goes_on`: more will follow.

    `shows` are the tokens whose marks and colours are drawn at this one: a character of several tokens is drawn at the
    last of them, and a token that has nothing visible at its neighbour.
    """
    whole = whole_characters(pieces, goes_on=goes_on)
    texts = [text[_is_spaced(piece) :] for piece, text in zip(pieces, whole, strict=True)]
    drawn = [
        _parts(piece, parts, is_whole=piece == text)
        for piece, text, parts in zip(pieces, whole, running_parts(texts), strict=True)
    ]
    shows = _shows(pieces, whole, drawn)
    labels = token_labels(pieces, longest=60)
    return [_bare_token(*one) for one in zip(pieces, labels, drawn, shows, strict=True)]


def _is_spaced(piece: bytes) -> bool:
    return piece.startswith(b" ") and bool(piece.strip())


def _parts(piece: bytes, parts: tuple[Part, ...], *, is_whole: bool) -> tuple[Part, ...]:
    if is_whole and piece in {b" ", b"  "}:
        return (Part(piece.decode(), mark=False),)
    return parts if piece else (Part("∅", mark=True),)


def _shows(
    pieces: Sequence[bytes], whole: Sequence[bytes], drawn: Sequence[tuple[Part, ...]]
) -> tuple[tuple[int, ...], ...]:
    ends, drawn_ends = (list(accumulate(map(len, texts))) for texts in (pieces, whole))
    shows: list[list[int]] = [[] for _ in pieces]
    for token, parts in enumerate(drawn):
        is_visible = any(character.isprintable() for part in parts for character in part.text)
        found = max(token, bisect_left(drawn_ends, ends[token]))  # where its last character is drawn
        place = found if found < len(pieces) else token
        if place == token and not is_visible:
            place = max(0, token - 1)
        for one in {token, place} if is_visible else {place}:
            shows[one].append(token)
    return tuple(map(tuple, shows))


def _bare_token(piece: bytes, text: str, drawn: tuple[Part, ...], shows: tuple[int, ...]) -> dict[str, Any]:
    """Return what is drawn of a token in running text, where a space is a space; `label` draws it as a mark.

    `bytes`: those of a token that is a part of a character, else "".
    """
    own = label(piece, longest=60)
    return {
        "parts": [[text, mark] for text, mark in drawn],
        "shows": shows,
        "space": _is_spaced(piece),
        "quiet": False,
        "blank": not piece.strip(),
        "endsLine": piece.endswith(b"\n"),
        "label": text,
        "bytes": "" if text == own else own,
    }


def _alternatives(trace: Trace, index: int) -> list[tuple[str, float, bool]]:
    chosen = int(trace.answer_ids[index])
    return [
        (visible(text) or "∅", math.exp(logprob), token == chosen) for token, text, logprob in trace.alternatives[index]
    ]
