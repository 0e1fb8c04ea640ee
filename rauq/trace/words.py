"""Which tokens of an answer belong to which of its words: names and numbers, and words that carry content.

The rules are rough, and their list of function words is English.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from rauq.trace.parts import tokens_in

_WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:['’-][^\W\d_]+)*")  # noqa: RUF001 - a typographic apostrophe
_BEGINS = re.compile(r"(?:^|[.!?:\n])\W*$")
_FUNCTION_WORDS = frozenset(
    (
        "a after all also although an and another answer any are as at be because been before both but by can "
        "could did do does during each every few first for from had has have he her here his how however i if "
        "in is it its many most my no not of on one or other our question she since so some such than that "
        "the their then there these they this those to was we were what when where which while who why will "
        "with would yes you your"
    ).split()
)


def named_tokens(texts: Sequence[str], question: str) -> np.ndarray:
    """Which tokens are part of a name or a number that is not in the question: (N,) bool.

    A number, or a word with a capital, unless it is a function word that begins a sentence.
    """
    return _tokens_of(texts, question, _is_name)


def content_tokens(texts: Sequence[str], question: str) -> np.ndarray:
    """Which tokens are part of a word that is neither a function word nor in the question: (N,) bool."""
    return _tokens_of(texts, question, lambda found, _: _folded(found[0]) not in _FUNCTION_WORDS)


def word_tokens(texts: Sequence[str]) -> np.ndarray:
    """Which tokens are part of a word or a number, and not of punctuation or white space alone: (N,) bool."""
    return tokens_in(texts, [found.span() for found in _WORD.finditer("".join(texts))])


def asked_tokens(texts: Sequence[str], question: str) -> np.ndarray:
    """Which tokens are part of a word that is in the question, and of no other word: (N,) bool."""
    asked, words = _words_of(question), list(_WORD.finditer("".join(texts)))
    of_question, others = (
        tokens_in(texts, [word.span() for word in words if (_folded(word[0]) in asked) is side])
        for side in (True, False)
    )
    return of_question & ~others


@lru_cache(maxsize=8)  # a page asks several times of one question, which may be long
def _words_of(question: str) -> frozenset[str]:
    return frozenset(_folded(word) for word in _WORD.findall(unicodedata.normalize("NFC", question)))


def _tokens_of(texts: Sequence[str], question: str, counts: Callable[[re.Match[str], str], bool]) -> np.ndarray:
    answer, asked = "".join(texts), _words_of(question)
    found = (word for word in _WORD.finditer(answer) if counts(word, answer) and _folded(word[0]) not in asked)
    return tokens_in(texts, [word.span() for word in found])


def _is_name(found: re.Match[str], answer: str) -> bool:
    word, before = found[0], answer[: found.start()]
    if _folded(word) in _FUNCTION_WORDS and (word == "I" or _BEGINS.search(before)):
        return False
    return word[0].isdigit() or word[0].isupper()


def _folded(word: str) -> str:
    """A word without accents, in lower case, in compatible characters."""
    parts = unicodedata.normalize("NFKD", word)
    return "".join(part for part in parts if not unicodedata.combining(part)).casefold()
