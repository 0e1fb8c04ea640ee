"""Is an answer right, where the reference is a letter of a multiple choice, a number, or a few words."""

import re
from decimal import Decimal
from fractions import Fraction

from analysis.quality.overlap import exact_match

_CHOICE = re.compile(r"\W*([A-Ja-j])\W*")
_MARKED_CHOICE = re.compile(r"(?i:answer|choice|option)(?i:\s+is)?\s*:?\s*\(?([A-J])(?![\w'+-])")
# A letter that begins the answer, unless it is an article or a pronoun, or one of several letters.
_FIRST_CHOICE = re.compile(r"\W*([A-J])(?:(?<![AI])|(?![ \t]+\w))(?![\w'+-])(?!\W*\s(?:or|and)\s)")

# Currency, bold marks, spaces and text of LaTeX, and the calculations <<3*6=18>> that GSM8k's solutions hold.
_MARKUP = re.compile(r"\\?[$€£¥₹]\s*|(?<!\d)\*\*|\*\*(?!\d)|\\[()\[\],;!]|\\text\w*|<<[^<>]*>>")
_LATEX_COMMA = re.compile(r"(?<=\d)\{,\}(?=\d)")
_LATEX_FRACTION = re.compile(r"\\[dt]?frac\{([^{}]*)\}\{([^{}]*)\}")

_PLAIN = r"(?:(?<![\w)])[-−])?(?:(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+)"
# A number may go on as a fraction (1/2), as a mixed number (3 1/2), or as a time of day (5:30, read as 5.5).
_NUMBER = re.compile(rf"({_PLAIN})(?:(?: (\d+))?/([1-9]\d*)(?![\d/])|:([0-5]\d)(?!\d))?")

_RESULT = re.compile(r"(?:####|\\boxed|\banswer\s+is\b|\banswer:(?=\s*[-−.\d]))[\s:]*(.*)", re.IGNORECASE)
_UNIT = r"[a-z%]*(?:\s+[a-z]+){0,2}[\s(){}]*"
_OPERATOR = r"(?:[-−+*/×÷·^x]|\\?times|\\cdot|\\div|plus|minus|divided by)"
_EQUALS = r"(?:=|≈|(?:,\s*)?(?:which\s+)?(?:is|equals|makes|gives)\b)"
# From the first number of a calculation up to its result.
_CALCULATION = re.compile(
    rf"(?:{_PLAIN}{_UNIT}(?:{_OPERATOR}|{_EQUALS})[\s(){{}}]*)+{_PLAIN}{_UNIT}{_EQUALS}[\s{{]*(?={_PLAIN})",
    re.IGNORECASE,
)


def accuracy(answer: str, reference: str) -> float:
    r"""1 where the answer is right, else 0.

    A reference of one letter from A to J asks for that choice (MMLU). A number, or a solution with a number behind
    "####" (GSM8k), asks for that number. In the answer it is read behind the first "####", "answer is" or `\boxed`
    whose line has one: the result of an equation that begins there, else the first number. Without such a mark it is
    the last number of the answer. Any other reference asks for its words.
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


def _reference_number(reference: str) -> Fraction | None:
    bare = _MARKUP.sub("", reference.strip()).rstrip("%.")
    return _number(reference) if "####" in reference or re.fullmatch(_PLAIN, bare) else None


def _number(text: str) -> Fraction | None:
    bare = _LATEX_FRACTION.sub(r"\1/\2", _LATEX_COMMA.sub(",", _MARKUP.sub("", text)))
    for marked in _RESULT.finditer(bare):
        if first := _NUMBER.search(marked[1]):
            calculation = _CALCULATION.match(marked[1], first.start())
            result = _NUMBER.match(marked[1], calculation.end()) if calculation else None
            return _value(result or first)
    numbers = list(_NUMBER.finditer(bare))
    return _value(numbers[-1]) if numbers else None


def _value(found: re.Match[str]) -> Fraction:
    number, over, under, minutes = found.groups()
    whole = Fraction(Decimal(number.replace(",", "").replace("−", "-")))
    sign = -1 if number[0] in "-−" else 1
    if minutes:
        return whole + sign * Fraction(int(minutes), 60)
    if over:
        return whole + sign * Fraction(Decimal(over)) / Fraction(Decimal(under))
    return whole / Fraction(Decimal(under)) if under else whole
