"""Tokens and text as a reader can see them: spaces, line breaks, control characters and fragments of characters.

Text of models and users is data: shown like this, it cannot move the cursor, be invisible or change direction.
Numbers are formatted here too.
"""

import math
import unicodedata
from bisect import bisect_left, bisect_right
from codecs import getincrementaldecoder
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Literal, NamedTuple, get_args

SPACE, NEWLINE, TAB = "·", "↵", "⇥"
_MARKS = {" ": SPACE, "\n": NEWLINE, "\t": TAB, "\r": "␍", "\x7f": "␡"}
_SIZES = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"), (1, "bytes"))
EngineName = Literal["transformers", "llama.cpp"]
ENGINES: tuple[EngineName, ...] = get_args(EngineName)
TRANSFORMERS, LLAMA = ENGINES
VLLM = "vllm"  # which runs as a server of its own
FLOATS = ("F32", "F16", "BF16")  # GGUF's names of what is not quantised
_UNSEEN = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"}
_JOINERS = {"\u200c", "\u200d"}  # Persian, Indic scripts and emoji are written with them
_DIRECTION_MARKS = {"\u200e", "\u200f", "\u061c"}
_FIRST_JOINING = "\u0590"  # no script before this character is written with joiners
Direction = Literal["ltr", "rtl"]
_MARK_OF: dict[Direction, str] = {"ltr": "\u200e", "rtl": "\u200f"}


class Part(NamedTuple):
    """A run of a token's label: `mark` if it replaces a character that is not visible."""

    text: str
    mark: bool


def parts(piece: bytes) -> tuple[Part, ...]:
    """What to draw for the raw bytes of one token; bytes that are no whole character are drawn in hexadecimal."""
    try:
        text = piece.decode("utf-8")
    except UnicodeDecodeError:
        return (Part(f"⟨{piece.hex(' ').upper()}⟩", mark=True),)
    if not text:
        return (Part("∅", mark=True),)
    return _joined([_part(character) for character in text])


def running_parts(pieces: Sequence[bytes]) -> tuple[tuple[Part, ...], ...]:
    """What to draw of each token in running text, given its `whole_characters`; nothing where it has no bytes.

    Joiners between letters stand as they are, and a mark of direction has its effect beside its label, so that the text
    reads as it was typed.
    """
    before, drawn = "", []
    for piece in pieces:
        text = piece.decode("utf-8", "surrogateescape")
        is_text = text.encode("utf-8", "replace") == piece
        drawn.append(_joined(_running(text, before)) if is_text and text else parts(piece) if piece else ())
        before = text[-1:] or before
    return tuple(drawn)


def whole_characters(pieces: Sequence[bytes], *, goes_on: bool = False) -> tuple[bytes, ...]:
    """The bytes of tokens, each character that several of them share as a whole in the last of these.

    `goes_on`: a last character that is not complete yet is left out.
    """
    text = b"".join(pieces)
    decoded = getincrementaldecoder("utf-8")("surrogateescape").decode(text, final=not goes_on)
    starts = [0, *accumulate(len(character.encode("utf-8", "surrogateescape")) for character in decoded)]
    ends = accumulate(map(len, pieces))
    cuts = [0, *(starts[bisect_right(starts, end) - 1] for end in ends)]
    return tuple(text[start:stop] for start, stop in pairwise(cuts))


def boxed_parts(pieces: Sequence[bytes]) -> tuple[tuple[Part, ...], ...]:
    """What to draw of each token in a box of its own, with whole characters; never nothing."""
    drawn = running_parts(whole_characters(pieces))
    return tuple(
        found if any(character.isprintable() for part in found for character in part.text) else (Part(own, mark=True),)
        for own, found in zip(token_labels(pieces), drawn, strict=True)
    )


def direction(pieces: Sequence[bytes]) -> Direction:
    """The direction in which most letters of an answer read, given the bytes of its tokens."""
    return letters_direction(pieces) or "ltr"


def letters_direction(pieces: Sequence[bytes]) -> Direction | None:
    """The direction in which most letters of tokens read; None where they have none."""
    kinds = list(map(unicodedata.bidirectional, b"".join(pieces).decode("utf-8", "replace")))
    leftward, rightward = kinds.count("R") + kinds.count("AL"), kinds.count("L")
    if not leftward + rightward:
        return None
    return "rtl" if leftward > rightward else "ltr"


def order_marks(pieces: Sequence[bytes]) -> tuple[str, ...]:
    """An invisible direction mark for each token: set on both sides of its box, it orders boxes as text is ordered.

    A token without letters or digits has none: its place depends on its neighbours, as in a text.
    """
    return tuple(map(_order_mark, whole_characters(pieces)))


def _order_mark(piece: bytes) -> str:
    if (found := letters_direction([piece])) is not None:
        return _MARK_OF[found]
    return _MARK_OF["ltr"] if any(map(str.isdigit, piece.decode("utf-8", "replace"))) else ""


def label(piece: bytes, *, longest: int | None = None) -> str:
    """The parts of one token in a row, cut to `longest` characters."""
    text = "".join(part.text for part in parts(piece))
    return text if longest is None or len(text) <= longest else f"{text[: longest - 1]}…"


def token_labels(pieces: Sequence[bytes], *, longest: int | None = None) -> tuple[str, ...]:
    """The label of each token; one that is a part of a character has that character, and which part of it: "国 1/2".

    `longest`: characters to which a label without a part is cut.
    """
    text, ends = b"".join(pieces), list(accumulate(map(len, pieces)))
    decoded = getincrementaldecoder("utf-8")("surrogateescape").decode(text, final=True)
    starts = [0, *accumulate(len(character.encode("utf-8", "surrogateescape")) for character in decoded)]
    return tuple(
        _label_in(text, ends, starts, token) or label(piece, longest=longest) for token, piece in enumerate(pieces)
    )


def _label_in(text: bytes, ends: Sequence[int], starts: Sequence[int], token: int) -> str:
    """The label of a token that cuts a character; "" of any other, and where the bytes are no character."""
    begin, end = (ends[token - 1] if token else 0), ends[token]
    first, last = starts[bisect_right(starts, begin) - 1], starts[bisect_left(starts, end)]
    if (first, last) == (begin, end) or begin == end:
        return ""
    split = first if first < begin else starts[bisect_left(starts, end) - 1]
    after = starts[bisect_right(starts, split)]
    sharing = range(bisect_right(ends, split), bisect_left(ends, after) + 1)
    return f"{label(text[first:last])} {token - sharing.start + 1}/{len(sharing)}"


def visible(text: str) -> str:
    """Any text with every unseen character drawn, lone surrogates included."""
    return "".join(_part(character).text for character in text)


def running(text: str) -> str:
    """Any text on one line, as `visible` draws it, but with spaces, and joiners between letters, as they are."""
    return "".join(
        character if character == " " or _is_joining(character, before) else _part(character).text
        for before, character in pairwise(f" {text}")
    )


def lines(text: str) -> str:
    """Any text in its lines, each drawn as by `running`."""
    return "\n".join(map(running, text.split("\n")))


def shortened(text: str, *, longest: int = 40) -> str:
    """The text, cut to `longest` characters with an ellipsis at the end."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def listed(names: Sequence[str]) -> str:
    """One name or more in a sentence: "a, b and c"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def number(value: float, *, places: int = 3) -> str:
    """A number with a typographic minus, and none on a rounded zero; a dash if undefined."""
    return "–" if math.isnan(value) else f"{value:z.{places}f}".replace("-", "−").replace("inf", "∞")


def amount(value: float, *, places: int = 3) -> str:
    """How much there is of something, as `number` writes it: "< 0.01" where that would read as nothing at all."""
    is_nothing = value > 0 and not float(f"{value:.{places}f}")
    return f"< {number(10.0**-places, places=places)}" if is_nothing else number(value, places=places)


def size(num_bytes: int) -> str:
    """An amount of memory in powers of 1000: 16.1 GB."""
    unit, name = next((unit, name) for unit, name in _SIZES if num_bytes >= unit or unit == 1)
    return f"{num_bytes / unit:,.{int(unit > 1)}f} {name}"


def about_weights(quantisation: str, dtype: str, adapter: str, engine: str = "") -> str:
    """How the weights are quantised or stored in a GGUF file, what computes with them, and the adapter.

    "" if neither. GGUF's names are in capitals; what a model was quantised with when it was loaded is not.
    """
    applied = f"The adapter {running(adapter)} is applied." if adapter else ""
    return " ".join(filter(None, (_about_quantisation(quantisation, dtype, engine), applied)))


def _about_quantisation(quantisation: str, dtype: str, engine: str) -> str:
    if not quantisation:
        return ""
    if not quantisation.isupper():
        return f"The weights are quantised ({running(quantisation)}); the computation is in {running(dtype)}."
    stored = "stored" if quantisation in FLOATS else "quantised"
    computed = (
        f"{running(engine)} computes with them as they are"
        if engine.startswith(LLAMA)
        else f"the computation is in {running(dtype)}"
    )
    return f"The weights are {stored} as {running(quantisation)} in a GGUF file; {computed}."


def _part(character: str) -> Part:
    if character in _MARKS:
        return Part(_MARKS[character], mark=True)
    if ord(character) < 0x20:
        return Part(chr(0x2400 + ord(character)), mark=True)  # Unicode's pictures of control characters
    if unicodedata.category(character) in _UNSEEN:
        return Part(f"⟨U+{ord(character):04X}⟩", mark=True)
    return Part(character, mark=False)


def _running(text: str, before: str) -> list[Part]:
    found = []
    for previous, character in pairwise((before or " ") + text):
        if _is_joining(character, previous):
            found.append(Part(character, mark=False))
            continue
        if character in _DIRECTION_MARKS:
            found.append(Part(character, mark=False))
        found.append(_part(character))
    return found


def _is_joining(character: str, before: str) -> bool:
    is_after_letter = before >= _FIRST_JOINING and unicodedata.category(before)[0] in "LMS"
    return character in _JOINERS and is_after_letter


def _joined(single: list[Part]) -> tuple[Part, ...]:
    runs = [single[0]]
    for part in single[1:]:
        if part.mark == runs[-1].mark:
            runs[-1] = Part(runs[-1].text + part.text, part.mark)
        else:
            runs.append(part)
    return tuple(runs)
