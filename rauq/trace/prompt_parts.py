"""The parts of a prompt, such as a document and a question: how they are named in its text, and which tokens they hold.

A part may come in passages: neighbours of one name, which touch. What is in no part counts as other; the first token of
the prompt counts apart, in no part.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np

from rauq.errors import InvalidInput

FIXED = ("first token", "answer so far", "other")
"""What an answer token attends to besides the parts: the first columns of the extra `part_shares`, in this order."""
FIRST_TOKEN, ANSWER_SO_FAR, OTHER = range(len(FIXED))
DOCUMENT = "document"
"""The name of a document that is marked in a prompt; a further one has a number, such as `document 2`."""
MOST_PARTS = 1000
LONGEST_NAME = 100

_MARKER = re.compile(r"[A-Za-z][\w-]*")
_MOST_SAID = 60  # characters of what was given in a message


class PromptPart(NamedTuple):
    """A part of a prompt: its name, its first token, and the one after its last."""

    name: str
    start: int
    stop: int


class Span(NamedTuple):
    """A part of a text: its name, its first code point, and the one after its last."""

    name: str
    start: int
    end: int


Piece = TypeVar("Piece", PromptPart, Span)


def column_names(parts: Sequence[PromptPart]) -> tuple[str, ...]:
    """The columns (G,) of the extra `part_shares`."""
    return (*FIXED, *(part.name for part in parts))


def is_document(name: str) -> bool:
    """Whether a part is a document."""
    return re.fullmatch(rf"{DOCUMENT}( \d+)?", name) is not None


def whole_parts(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """Parts whose passages are put together again; what is no part is left as it is."""
    whole: list[Piece] = []
    for piece in pieces:
        if whole and whole[-1].name == piece.name and whole[-1][2] == piece[1]:
            whole[-1] = type(piece)(piece.name, whole[-1][1], piece[2])
        else:
            whole.append(piece)
    return tuple(whole)


def columns_of(parts: Sequence[PromptPart], num_prompt: int) -> np.ndarray:
    """The column of each token of the prompt: (M,) integers."""
    columns = np.full(num_prompt, OTHER)
    for column, part in enumerate(parts, start=len(FIXED)):
        columns[part.start : part.stop] = column
    columns[:1] = FIRST_TOKEN
    return columns


def fault(parts: object, num_prompt: int) -> str:
    """Why these are no parts of a prompt of so many tokens; empty where they are."""
    if not (isinstance(parts, tuple) and all(isinstance(part, PromptPart) for part in parts)):
        return f"prompt_parts is {_short(parts)}, not a tuple of PromptPart"
    if len(parts) > MOST_PARTS:
        return f"prompt_parts are {len(parts):,}, and at most {MOST_PARTS:,} are allowed"
    if named := next(_wrong_names([part.name for part in whole_parts(parts)]), ""):
        return f"prompt_parts: {named}"
    edges = [edge for part in parts for edge in (part.start, part.stop)]
    inside = all(type(edge) is int and 0 <= edge <= num_prompt for edge in edges)
    if not inside or any(part.start >= part.stop for part in parts) or edges != sorted(edges):
        return f"prompt_parts {_short(parts)} are not ascending spans of the {num_prompt} tokens of the prompt"
    return ""


def checked_spans(given: Sequence[object], length: int) -> list[Span]:
    """Spans of a text of so many code points, ascending.

    Raises:
        InvalidInput: one is not a name with a start and an end, is empty, reaches beyond the text or overlaps another,
            or a name is used for something else, or twice for spans that do not touch.
    """
    spans = sorted((_span(one, length) for one in given), key=lambda span: span.start)
    if problem := next(_wrong_names([span.name for span in whole_parts(spans)]), ""):
        message = f"Got prompt_parts in which {problem}."
        raise InvalidInput(message)
    for first, second in pairwise(spans):
        if first.end > second.start:
            message = (
                f"The parts {first.name!r} ({first.start} to {first.end}) and {second.name!r} ({second.start} to "
                f"{second.end}) of the prompt overlap. Each character can be in one part: end the first at "
                f"{second.start} at most."
            )
            raise InvalidInput(message)
    return spans


def marked_spans(text: str, names: Sequence[str]) -> list[Span]:
    """What stands between `<name>` and `</name>`, for each of these names; further parts of a name are numbered from 2.

    Raises:
        InvalidInput: no usable name, or one that is not in the text, is not closed, has nothing in it, or stands inside
            another.
    """
    if wrong := [name for name in names if not _MARKER.fullmatch(name) or len(name) > LONGEST_NAME]:
        message = (
            f"Got {_short(wrong[0])} as the name of a marker; it must begin with a letter, with letters, digits, - and "
            "_ after it, such as document for <document> and </document>."
        )
        raise InvalidInput(message)
    spans = list(_between_marks(text, names))
    if missing := [name for name in names if name not in {span.name for span in spans}]:
        message = (
            f"The prompt has no <{missing[0]}>. Put <{missing[0]}> and </{missing[0]}> around that part of the text, "
            "or leave the name out of prompt_parts."
        )
        raise InvalidInput(message)
    return numbered(spans)


def numbered(spans: Iterable[Span]) -> list[Span]:
    """The same with names that differ: the second document is `document 2`."""
    counts: Counter[str] = Counter()
    found = []
    for span in spans:
        counts[span.name] += 1
        number = counts[span.name]
        found.append(span if number == 1 else span._replace(name=f"{span.name} {number}"))
    return found


def tokens_of(spans: Sequence[Span], texts: Sequence[str]) -> tuple[PromptPart, ...]:
    """The parts of a prompt whose M tokens have these texts, from ascending spans of the joined text.

    A token that crosses a border belongs to the part that has most of its characters, and at a tie to the first one.

    Raises:
        InvalidInput: a part would have no token, or the first token of the prompt alone, which counts apart.
    """
    if len(spans) > MOST_PARTS:
        message = f"Got {len(spans):,} parts of the prompt, and at most {MOST_PARTS:,} are allowed. Name fewer."
        raise InvalidInput(message)
    owners = _owners(spans, np.array([len(text) for text in texts]))
    parts = []
    for number, span in enumerate(spans):
        own = np.flatnonzero(owners == number)
        if not own[own > 0].size:
            message = (
                f"The part {span.name!r} ({span.start} to {span.end}) of the prompt has no token of its own: tokens "
                "belong to the part with most of their characters, and the first token counts apart. Make it longer."
            )
            raise InvalidInput(message)
        parts.append(PromptPart(span.name, int(own[0]), int(own[-1]) + 1))
    return tuple(parts)


def _owners(spans: Sequence[Span], lengths: np.ndarray) -> np.ndarray:
    """The span of each of M tokens of these lengths, -1 for none: (M,)."""
    ends = np.cumsum(lengths)
    starts = ends - lengths
    ends = np.maximum(ends, starts + 1)  # a token without text is the beginning of the next character
    shared = []
    for span in spans:
        around = slice(np.searchsorted(ends, span.start, side="right"), np.searchsorted(starts, span.end))
        shared.append((around, np.minimum(ends[around], span.end) - np.maximum(starts[around], span.start)))
    outside = ends - starts
    for around, counts in shared:
        outside[around] -= counts
    owners, most = np.full(len(lengths), -1), outside - 0.5  # at a tie, a part comes before what is in none
    for number, (around, counts) in enumerate(shared):
        more = counts > most[around]
        owners[around][more], most[around][more] = number, counts[more]
    return owners


def _between_marks(text: str, names: Sequence[str]) -> Iterator[Span]:
    opened: re.Match[str] | None = None
    for mark in re.finditer(rf"<(?P<closes>/?)(?P<name>{'|'.join(map(re.escape, names))})>", text):
        _check_mark(mark, opened)
        if opened is not None:
            yield Span(mark["name"], opened.end(), mark.start())
        opened = None if mark["closes"] else mark
    if opened is not None:
        message = (
            f"The prompt opens {opened[0]} at character {opened.start()} and does not close it. Put "
            f"</{opened['name']}> at the end of that part."
        )
        raise InvalidInput(message)


def _check_mark(mark: re.Match[str], opened: re.Match[str] | None) -> None:
    """Refuse a mark that does not fit what is open before it."""
    name, problem = mark["name"], ""
    if opened is None and mark["closes"]:
        problem = (
            f"closes {mark[0]} at character {mark.start()}, and <{name}> was not opened before. Put <{name}> in front "
            f"of that part, or remove {mark[0]}."
        )
    elif opened is not None and not (mark["closes"] and name == opened["name"]):
        problem = (
            f"has {mark[0]} at character {mark.start()} inside <{opened['name']}>, which is still open: parts cannot "
            f"be nested. Close it with </{opened['name']}> first."
        )
    elif opened is not None and not mark.string[opened.end() : mark.start()].strip():
        problem = f"has nothing between <{name}> and </{name}>. Put text there, or remove both."
    if problem:
        message = f"The prompt {problem}"
        raise InvalidInput(message)


def _span(given: object, length: int) -> Span:
    if not (isinstance(given, tuple | list) and len(given) == 3 and all(type(edge) is int for edge in given[1:])):
        message = (
            f"Got {_short(given)} as a part of the prompt. Give its name, its first code point and the one after its "
            "last, such as ('document', 0, 250)."
        )
        raise InvalidInput(message)
    span = Span(*given)
    if not 0 <= span.start < span.end <= length:
        problem = "is empty" if span.start == span.end else f"does not lie in its {length} code points"
        message = (
            f"The part {_short(span.name)} of the prompt, from {span.start} to {span.end}, {problem}. Give "
            f"0 <= start < end <= {length}."
        )
        raise InvalidInput(message)
    return span


def _wrong_names(names: Sequence[object]) -> Iterator[str]:
    for name in names:
        if not (isinstance(name, str) and name.strip() and len(name) <= LONGEST_NAME and _is_unicode(name)):
            yield f"a part has the name {_short(name)}; a name is a text of 1 to {LONGEST_NAME} characters"
        elif name in FIXED:
            yield f"a part has the name {name!r}, which stands for something else; give it another name"
    if repeated := [name for name, count in Counter(map(str, names)).items() if count > 1]:
        yield f"two parts have the name {_short(repeated[0])}; give each a name of its own"


def _is_unicode(name: str) -> bool:
    return name.encode(errors="ignore").decode() == name


def _short(given: object) -> str:
    said = repr(given)
    return said if len(said) <= _MOST_SAID else f"{said[:_MOST_SAID]}…"
