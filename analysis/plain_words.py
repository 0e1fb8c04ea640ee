"""A text as plain words, so that two spellings of one thing are equal: case, accents, punctuation, numbers, initials.

Scripts that put no spaces between words (Chinese, Japanese, Thai, Lao, Khmer, Burmese), and Korean, whose particles
are attached to words, become one word a character.
"""

import re
import unicodedata
from collections.abc import Mapping
from types import MappingProxyType

from analysis.number_words import with_digits, without_separators

_ACCENTS = re.compile("[\u0300-\u036f]")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
_LETTERS = str.maketrans(
    {"ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "ð": "d", "þ": "th", "\u0131": "i"}
    | {"æ": "ae", "Æ": "Ae", "œ": "oe", "Œ": "Oe", "\u2212": "-", "\u2010": "-", "\u2019": "'", "\u2018": "'"}
)
_POWER = re.compile(r"(?<=\d)(?=[⁰¹²³⁴⁵⁶⁷⁸⁹])")  # 10² is not 102
_POINT_OR_MINUS = re.compile(r"(?<=\d)\.(?=\d)|(?<![\w)-])-(?=\d)")
_NO_WORD = re.compile(r"[^\w\s]|_")
_POSSESSIVE = re.compile(r"(?<=\w)'s\b")
_INSIDE_A_WORD = re.compile(r"(?<=[^\W\d_])['-](?=[^\W\d_])")
_INITIALS = re.compile(r"(?<!\S)[a-z](?: [a-z](?!\S))+")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\U00020000-\U0003ffff]"
)
_ORDINALS = "fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split()
_SAME: Mapping[str, str] = MappingProxyType(
    {"first": "1st", "second": "2nd", "third": "3rd", "st": "saint", "mt": "mount", "%": "percent"}
    | {word: f"{value}th" for value, word in enumerate(_ORDINALS, 4)}
)


def plain_text(text: str) -> str:
    """The text without accents and invisible characters, in compatible characters (H₂O is H2O); case stays."""
    decomposed = unicodedata.normalize("NFKD", _POWER.sub("^", _INVISIBLE.sub("", text)))
    return unicodedata.normalize("NFC", _ACCENTS.sub("", decomposed)).translate(_LETTERS)


def plain_words(text: str, *, joined: bool = False) -> tuple[str, ...]:
    """The words of a text; none where it has nothing but punctuation.

    Initials, and words with hyphens or apostrophes, are several words (U.S. is u, s), or, with `joined`, one (us).
    """
    folded = _POSSESSIVE.sub("", without_separators(plain_text(text)).casefold()).replace("&", " and ")
    if joined:
        folded = _INSIDE_A_WORD.sub("", folded)
    spaced = " ".join(_UNSPACED.sub(r" \g<0> ", _without_punctuation(folded)).split())
    if joined:
        spaced = _INITIALS.sub(lambda found: found[0].replace(" ", ""), spaced)
    return tuple(_SAME.get(word, word) for word in with_digits(spaced).split())


def num_words(text: str) -> float:
    """How long a text is in words; three characters of a script without spaces count as one."""
    spaced, characters = _UNSPACED.subn(" ", text)
    return len(spaced.split()) + characters / 3


def _without_punctuation(text: str) -> str:
    """Spaces instead of punctuation; symbols, such as + and €, are words of their own."""
    of_numbers = {found.start() for found in _POINT_OR_MINUS.finditer(text)}
    return _NO_WORD.sub(lambda found: found[0] if found.start() in of_numbers else _or_space(found[0]), text)


def _or_space(letter: str) -> str:
    category = unicodedata.category(letter)[0]
    if category == "M":  # a vowel sign
        return letter
    return f" {letter} " if category == "S" or letter in "#%" else " "
