"""Does an answer name its reference? For references of a few words, and answers that are sentences."""

import math
import re

from analysis.plain_words import plain_text, plain_words

_ARTICLE = re.compile(r"^\W*(?:the|an?)\s+(?=\S)", re.IGNORECASE)
_SYMBOL = re.compile(r"[A-Z]\.?[A-Za-z]?\.?")
_NOT_A_SYMBOL = frozenset({"No"})  # far more often the answer no than nobelium
_ALSO_WORDS = frozenset({"A", "Am", "As", "At", "Be", "He", "I", "In", "My", "So", "Us", "We"})
_BEGINS = re.compile(r"(?:^|[.!?:;\n])\W*$")


def names_reference(answer: str, reference: str) -> float:
    """1 where the answer has the words of the reference, side by side, else 0; nan where the reference has no word.

    Case, accents, punctuation, a leading article, and the spelling of numbers and initials do not matter; the ends of
    words do, except in scripts without spaces. One or two Latin letters that begin with a capital are compared by case
    (Au, He, US), and not taken for the words He, I, In and the like at the beginning of a sentence. Plurals and
    synonyms are other words. A negation ("it is not Paris"), or a list of guesses, is not noticed.
    """
    wanted = _ARTICLE.sub("", plain_text(reference), count=1).strip()
    if not plain_words(wanted):
        return math.nan
    if _SYMBOL.fullmatch(wanted) and wanted not in _NOT_A_SYMBOL:
        return float(_has_symbol(plain_text(answer), wanted.replace(".", "")))
    return float(any(_has(plain_words(answer, joined=one), plain_words(wanted, joined=one)) for one in (False, True)))


def _has(words: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    return f" {' '.join(wanted)} " in f" {' '.join(words)} "


def _has_symbol(text: str, symbol: str) -> bool:
    """Whether a symbol of one or two letters stands in the text by itself, with points between them or without."""
    letters = r"\.?".join(symbol)
    pattern = re.compile(rf"(?<![\w']){letters}(?!\w|'(?!s\b))")
    return any(not (symbol in _ALSO_WORDS and _is_word(text, found, symbol)) for found in pattern.finditer(text))


def _is_word(text: str, found: re.Match[str], symbol: str) -> bool:
    """Whether what looks like a symbol is the English word: another one follows, and a sentence begins."""
    followed = re.match(r"'|\s+\w", text[found.end() : found.end() + 20]) is not None
    return followed and (symbol == "I" or _BEGINS.search(text[max(0, found.start() - 20) : found.start()]) is not None)
