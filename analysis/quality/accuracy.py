"""Is an answer right, where the reference is a letter of a multiple choice, a number, or a few words."""

import re
from decimal import Decimal

from analysis.quality.overlap import exact_match

_CHOICE = re.compile(r"\W*([A-Ja-j])\W*")
_MARKED_CHOICE = re.compile(r"(?i:answer|choice|option)(?i:\s+is)?\s*:?\s*\(?([A-J])(?![\w'+-])")
# A letter that begins the answer, unless it is an article or a pronoun, or one of several letters.
_FIRST_CHOICE = re.compile(r"\W*([A-J])(?:(?<![AI])|(?![ \t]+\w))(?![\w'+-])(?!\W*\s(?:or|and)\s)")

_CURRENCY = re.compile(r"[$€£]\s*")
_NUMBER = re.compile(r"(?:(?<![\w)])[-−])?(?:(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+)")
_RESULT = re.compile(r"(?:####|the answer is)(.*)", re.IGNORECASE)


def accuracy(answer: str, reference: str) -> float:
    """1 where the answer is right, else 0.

    A reference of one letter from A to J asks for that choice (MMLU). A number, or a solution with a number behind
    "####" (GSM8k), asks for that number: behind the first "####" or "the answer is" of the answer, else its last one.
    Any other reference asks for its words.
    """
    if re.fullmatch(r"\(?[A-J][).]?", reference.strip()):
        return float(_choice(answer) == _choice(reference))
    wanted = _reference_number(reference)
    if wanted is not None:
        return float(_number(answer) == wanted)
    return exact_match(answer, reference)


def _choice(text: str) -> str:
    found = _CHOICE.fullmatch(text) or _MARKED_CHOICE.search(text) or _FIRST_CHOICE.match(text)
    return found[1].upper() if found else ""


def _reference_number(reference: str) -> Decimal | None:
    bare = _CURRENCY.sub("", reference.strip()).rstrip("%.")
    return _number(reference) if "####" in reference or _NUMBER.fullmatch(bare) else None


def _number(text: str) -> Decimal | None:
    marked = _RESULT.search(text)
    found = (_numbers(marked[1]) if marked else []) or _numbers(text)
    return Decimal(found[-1].replace(",", "").replace("−", "-")) if found else None


def _numbers(text: str) -> list[str]:
    return _NUMBER.findall(_CURRENCY.sub("", text))
