"""Texts made comparable: case, accents, punctuation, numbers as digits, and where sentences end."""

import re
import unicodedata
from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_VALUES: Mapping[str, int] = MappingProxyType(
    {word: value for value, word in enumerate(_SMALL)} | {word: 10 * value for value, word in enumerate(_TENS, 2)}
)
_SCALES: Mapping[str, int] = MappingProxyType({"thousand": 10**3, "million": 10**6, "billion": 10**9})

_UNIT, _TEEN, _TEN, _SCALE = (f"(?:{'|'.join(words)})" for words in (_SMALL[1:10], _SMALL[10:], _TENS, _SCALES))
_BELOW_100 = f"(?:{_TEN}(?: {_UNIT})?|{_TEEN}|{_UNIT}|zero)"
_BELOW_1000 = f"(?:(?:{_BELOW_100} )?hundred(?: (?:and )?{_BELOW_100})?|{_BELOW_100})"
_SCALED = rf"(?:{_BELOW_1000} |\d{{1,12}}(?:\.\d{{1,12}})? )?{_SCALE}"
_SPELT = re.compile(
    # "the one that", "no one" and "one of them" are no numbers
    rf"(?<!\S)(?:(?P<pronoun>(?:no|the|this|that|any|every|each|which) one(?! hundred| {_SCALE})|one(?= of| another))"
    rf"|(?P<year>(?:{_TEEN}|twenty) (?:{_TEN}(?: {_UNIT})?|{_TEEN}))"
    rf"|(?P<number>{_SCALED}(?: (?:and )?{_SCALED})*(?: (?:and )?{_BELOW_1000})?|{_BELOW_1000}))(?!\S)"
)

_SPACED = re.compile(r"(?<![\w.,])\d{1,3}(?:([,' ])\d{3})(?:\1\d{3})*(?!\d|[.,]\d{3}\b|\1\d)")
_WITH_POINTS = re.compile(r"(?<![\w.,])(?:(\d{1,3}(?:\.\d{3})+),(\d+)|(\d{1,3}(?:\.\d{3}){2,}))(?![.,]?\d)")
_DECIMAL_COMMA = re.compile(r"(?<![\w.,])(\d+),(\d{1,2}|\d{4,})(?![\d,])")
_CURRENCY = re.compile(r"[$€£¥₹]\s?(?=\d)|(?<=\d)\s?[$€£¥₹]")
_DIGITS = re.compile(r"-?\d+(?:\.\d+)?")


def without_separators(text: str) -> str:
    """The text with numbers such as 1,234 and 1 234 as 1234, 1.234,5 and 1234,5 as 1234.5, and $5 as 5.

    A single point or comma before three digits is read as in English: 1.234 is a decimal number, and 1,234 is not.
    """
    text = _WITH_POINTS.sub(_without_points, text)
    text = _SPACED.sub(lambda found: re.sub(r"\D", "", found[0]), text)
    return _CURRENCY.sub("", _DECIMAL_COMMA.sub(r"\1.\2", text))


def with_digits(spaced: str) -> str:
    """Lower-case words, one space apart, with their numbers as digits: "two hundred and six" is 206, 5.0 is 5."""
    # Written here, because no pinned package reads numbers in words.
    return " ".join(_shortest(word) for word in _SPELT.sub(_as_digits, spaced).split())


def _without_points(found: re.Match[str]) -> str:
    whole = (found[1] or found[3]).replace(".", "")
    return f"{whole}.{found[2]}" if found[2] else whole


def _as_digits(found: re.Match[str]) -> str:
    if found["pronoun"]:
        return found[0]
    if found["year"]:
        century, _, rest = found[0].partition(" ")
        return f"{_VALUES[century]}{_value(rest)}"
    return f"{_value(found[0]):f}"


def _value(words: str) -> Decimal:
    total, part = Decimal(0), Decimal(0)
    for word in words.split():
        if word in _SCALES:
            total, part = total + (part or 1) * _SCALES[word], Decimal(0)
        elif word == "hundred":
            part = 100 * (part or Decimal(1))
        elif word != "and":
            part += _VALUES[word] if word in _VALUES else Decimal(word)
    return total + part


def _shortest(word: str) -> str:
    if not _DIGITS.fullmatch(word):
        return word
    digits = "".join(letter if letter in "-." else str(unicodedata.digit(letter)) for letter in word)
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


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


_ENDING = re.compile(r"[.!?\u2026]+[\"'\u201d\u2019)\]]*\s+|[\u3002\uff01\uff1f]+[\u201d\u2019\u300d\u300f\uff09]*\s*")
_ABBREVIATION = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|No|vs|etc|cf|Inc|Ltd|Co|e\.g|i\.e|[A-Z])|\.[a-zA-Z])\.\s+$"
)


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, in order and stripped; none where there is no text.

    A full stop behind an abbreviation or an initial ends nothing, nor does any mark before a small letter.
    """
    # Written here, because nltk and spaCy would download a model for it.
    sentences, start = [], 0
    for ending in _ENDING.finditer(text):
        following = text[ending.end() : ending.end() + 1]
        if following.islower() or _ABBREVIATION.search(text[start : ending.end()]):
            continue
        sentences.append(text[start : ending.end()].strip())
        start = ending.end()
    return [sentence for sentence in (*sentences, text[start:].strip()) if sentence]
