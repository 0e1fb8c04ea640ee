"""The sentences of a text, with exact offsets; a line, such as an item of a list, is at least a sentence of its own.

The rules are rough, and their abbreviations are English. They take time linear in the length of the text, whatever it
contains.
"""

import re
from collections.abc import Iterator
from itertools import accumulate, pairwise

Span = tuple[int, int]

_CLOSING = "\"'*_`)\\]}»”’›」』）】〉》"  # noqa: RUF001 - quotes as they are written
_END = re.compile(rf"[.!?…؟۔。！？｡．।॥።։]+[{_CLOSING}]*\s*")  # noqa: RUF001 - full stops of many scripts
_NEEDS_NO_SPACE = frozenset("。！？｡．।॥።")  # noqa: RUF001
_OPENING = "\"'*_([{«“‘‹「『（【〈《¿¡-–—"  # noqa: RUF001
_MARKER = re.compile(r"\s*(?:\d{1,3}|[A-Za-z])[.)]\s")  # of an item of a list
_LAST_WORD = re.compile(r"[^\s(\[/-]*$")
_LONGEST_WORD = 24  # characters: no abbreviation is longer
_INITIALS = re.compile(r"[^\W\d_](?:\.[^\W\d_])*")  # J. and U.S.
_ABBREVIATIONS = frozenset(
    (
        "al approx apr aug ave ca capt cf ch co col corp dec dept dr ed eds est etc feb fig figs gen gov inc jan jr "
        "lt ltd messrs mr mrs ms mt nov oct p pp ph.d prof rep rev sen sep sept sgt sr st viz vol vs"
    ).split()
)
_BEFORE_NUMBERS = frozenset("art eq no nos nr sec".split())
_OPENERS = frozenset(
    (
        "A After All An And Another Are As At Because Before Both But By Can Could Did Do Does During Each Every First "
        "For From Had Has Have He Her Here His How However I If In Is It Its Many Most My No Not Of On One Or Other "
        "Our She Since So Some Such That The Their Then There These They This Those To Was We Were What When Where "
        "Which While Who Why With Yes You Your"
    ).split()
)
"""Words that begin a new sentence after an abbreviation, where any other capital may be that of a name."""


def sentences(text: str) -> tuple[Span, ...]:
    """First character and end (exclusive) of each sentence, in code points; joined they are the text.

    A sentence has the white space that follows it. Line breaks always end it. What has neither letters nor digits, such
    as a dividing line or an emoji, belongs to the sentence before, or to the first one.
    """
    starts = [0] if text else []
    starts += [start for start, end in _parts(text) if start and any(map(str.isalnum, text[start:end]))]
    if len(starts) > 1 and not any(map(str.isalnum, text[: starts[1]])):
        del starts[1]
    return tuple(pairwise([*starts, len(text)]))


def passages(text: str, *, most: int) -> tuple[Span, ...]:
    """First character and end of each of at most so many groups of neighbouring sentences; joined they are the text.

    A group has as many sentences as another, or one more. A space between two groups is in the second one: tokens begin
    with it.
    """
    spans = sentences(text)
    count = min(most, len(spans))
    starts = [spans[len(spans) * group // count][0] for group in range(count)]
    cuts = [start - 1 if start and text[start - 1] == " " else start for start in starts]
    return tuple(pairwise([*cuts, len(text)])) if cuts else ()


def _parts(text: str) -> Iterator[Span]:
    """The sentences of each line, those without letters and digits too."""
    lines = text.splitlines(keepends=True)
    for first, line in zip(accumulate(map(len, lines), initial=0), lines, strict=False):
        marker = _MARKER.match(line)
        ends = [match.end() for match in _END.finditer(line, marker.end() if marker else 0) if _is_end(line, match)]
        cuts = [0, *(end for end in ends if end < len(line)), len(line)]
        yield from ((first + start, first + end) for start, end in pairwise(cuts))


def _is_end(line: str, match: re.Match[str]) -> bool:
    """Whether a full stop or its like, with the space after it, ends a sentence within a line."""
    if match[0][0] in _NEEDS_NO_SPACE:
        return True
    following = line[match.end() : match.end() + _LONGEST_WORD].lstrip(_OPENING)
    if not match[0][-1].isspace() or following[:1].islower():
        return False
    before = line[max(0, match.start() - _LONGEST_WORD) : match.start()]
    return not (match[0].rstrip() == "." and _is_abbreviated(before, following))


def _is_abbreviated(before: str, following: str) -> bool:
    """Whether a single full stop between these belongs to an abbreviation, and the sentence goes on."""
    match = _LAST_WORD.search(before)
    word = match[0].lstrip(_OPENING) if match else ""
    if word.casefold() in _BEFORE_NUMBERS:
        return following[:1].isdigit()
    is_known = word.casefold() in _ABBREVIATIONS or _INITIALS.fullmatch(word) is not None
    return is_known and re.split(r"\W", following, maxsplit=1)[0] not in _OPENERS
