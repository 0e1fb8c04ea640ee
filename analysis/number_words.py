"""Numbers of English texts in one spelling: digits, without separators between thousands, as short as possible."""

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
