"""Tokens and text as a reader can see them: spaces, line breaks, control characters and fragments of characters.

Text of models and users is data: shown like this, it cannot move the cursor, be invisible or change direction.
Numbers are formatted here too.
"""

import math
import unicodedata
from typing import NamedTuple

SPACE, NEWLINE, TAB = "·", "↵", "⇥"
_MARKS = {" ": SPACE, "\n": NEWLINE, "\t": TAB, "\r": "␍", "\x7f": "␡"}
_SIZES = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"), (1, "bytes"))
FLOATS = ("F32", "F16", "BF16")  # GGUF's names of what is not quantised
_UNSEEN = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"}


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


def label(piece: bytes, *, longest: int | None = None) -> str:
    """The parts of one token in a row, cut to `longest` characters."""
    text = "".join(part.text for part in parts(piece))
    return text if longest is None or len(text) <= longest else f"{text[: longest - 1]}…"


def visible(text: str) -> str:
    """Any text with every unseen character drawn, lone surrogates included."""
    return "".join(_part(character).text for character in text)


def running(text: str) -> str:
    """Any text on one line, as `visible` draws it, but with spaces as they are."""
    return " ".join(visible(words) for words in text.split(" "))


def lines(text: str) -> str:
    """Any text in its lines, each drawn as by `running`."""
    return "\n".join(map(running, text.split("\n")))


def shortened(text: str, *, longest: int = 40) -> str:
    """The text, cut to `longest` characters with an ellipsis at the end."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def number(value: float, *, places: int = 3) -> str:
    """A number with a typographic minus, and none on a rounded zero; a dash if undefined."""
    return "–" if math.isnan(value) else f"{value:z.{places}f}".replace("-", "−").replace("inf", "∞")


def size(num_bytes: int) -> str:
    """An amount of memory in powers of 1000: 16.1 GB."""
    unit, name = next((unit, name) for unit, name in _SIZES if num_bytes >= unit or unit == 1)
    return f"{num_bytes / unit:,.{int(unit > 1)}f} {name}"


def about_weights(quantisation: str, dtype: str) -> str:
    """How the weights are quantised, or stored in a GGUF file, and the dtype of the computation; "" if neither.

    GGUF's names are in capitals; what a model was quantised with when it was loaded is not.
    """
    if not quantisation:
        return ""
    if not quantisation.isupper():
        return f"The weights are quantised ({running(quantisation)}); the computation is in {running(dtype)}."
    stored = "stored" if quantisation in FLOATS else "quantised"
    return (
        f"The weights are {stored} as {running(quantisation)} in a GGUF file; the computation is in {running(dtype)}."
    )


def _part(character: str) -> Part:
    if character in _MARKS:
        return Part(_MARKS[character], mark=True)
    if ord(character) < 0x20:
        return Part(chr(0x2400 + ord(character)), mark=True)  # Unicode's pictures of control characters
    if unicodedata.category(character) in _UNSEEN:
        return Part(f"⟨U+{ord(character):04X}⟩", mark=True)
    return Part(character, mark=False)


def _joined(single: list[Part]) -> tuple[Part, ...]:
    runs = [single[0]]
    for part in single[1:]:
        if part.mark == runs[-1].mark:
            runs[-1] = Part(runs[-1].text + part.text, part.mark)
        else:
            runs.append(part)
    return tuple(runs)
