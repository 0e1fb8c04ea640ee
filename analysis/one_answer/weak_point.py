"""What a weak point is worth: how often the token of the largest collapse carries the fact, against chance."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from analysis.normalisation import plain_text
from rauq.labels import number
from rauq.recorded.scores import WeakPointShare, WeakPointWorth
from rauq.trace.parts import tokens_in

LEAST = 20  # answers of a side: a share of fewer says nothing
_Z = 1.959964  # a normal variable exceeds it in 2.5 of 100 cases
_WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:['’-][^\W\d_]+)*")  # noqa: RUF001 - a typographic apostrophe
_BEGINS = re.compile(r"(?:^|[.!?:\n])\W*$")
_FUNCTION_WORDS = frozenset(
    (
        "a after all also although an and another any are as at be because been before both but by can could did do "
        "does during each every few first for from had has have he her here his how however i if in is it its many "
        "most my no not of on one or other our she since so some such than that the their then there these they this "
        "those to was we were what when where which while who why will with would yes you your"
    ).split()
)


def named_tokens(texts: Sequence[str], question: str) -> np.ndarray:
    """Which tokens are part of a name or a number that is not in the question: (N,) bool.

    A rough rule: a number, or a word with a capital, unless it is a function word (English) that begins a sentence.
    """
    answer, asked = "".join(texts), set(map(_folded, _WORD.findall(plain_text(question))))
    spans = [
        found.span() for found in _WORD.finditer(answer) if _is_name(found, answer) and _folded(found[0]) not in asked
    ]
    return tokens_in(texts, spans)


def _is_name(found: re.Match[str], answer: str) -> bool:
    word, before = found[0], answer[: found.start()]
    if _folded(word) in _FUNCTION_WORDS and (word == "I" or _BEGINS.search(before)):
        return False
    return word[0].isdigit() or word[0].isupper()


def _folded(word: str) -> str:
    return plain_text(word).casefold()


class WeakToken(NamedTuple):
    """Whether the weakest token of an answer carries the fact, and the share of its tokens that do."""

    hit: bool
    chance: float


def weak_token(collapse: np.ndarray, shown: np.ndarray, carries: np.ndarray) -> WeakToken | None:
    """Look at the largest `collapse` (N,) among the tokens that are `shown` (N,); which `carries` the fact (N,).

    None where none of these tokens carries the fact, or all do: there the largest has no choice.
    """
    candidates = np.flatnonzero(shown & ~np.isnan(collapse))
    chosen = carries[candidates]
    if not chosen.any() or chosen.all():
        return None
    return WeakToken(bool(chosen[np.argmax(collapse[candidates])]), float(chosen.mean()))


def weak_point_share(found: Iterable[WeakToken | None]) -> WeakPointShare | None:
    """The share of answers whose weakest token carries the fact; None with fewer than LEAST of them."""
    known = [one for one in found if one is not None]
    if len(known) < LEAST:
        return None
    chances = np.array([one.chance for one in known])
    spread = np.sqrt((chances * (1 - chances)).sum()) / len(known)
    numbers = (np.mean([one.hit for one in known]), chances.mean(), chances.mean() + _Z * spread)
    share, chance, limit = (round(float(value), 4) for value in numbers)
    return WeakPointShare(count=len(known), share=share, chance=chance, limit=limit)


def worth_in_words(worth: WeakPointWorth) -> str:
    """What the weakest point of an answer is worth, in a sentence or two; "" where too few answers count."""
    sides = {"incorrect": worth.incorrect, "correct": worth.correct}
    known = {side: found for side, found in sides.items() if found is not None}
    if not known:
        return ""
    what = "token marked as the fact" if worth.marked else "name or number that is not in the question"
    shares = " and ".join(
        f"{_percent(found.share)} of {found.count:,} {side} answers (chance: {_percent(found.chance)})"
        for side, found in known.items()
    )
    by_chance = [side for side, found in known.items() if found.share <= found.limit]
    return f"In the reference, the weakest point falls on a {what} in {shares}.{_verdict(by_chance) or _alike(worth)}"


def _alike(worth: WeakPointWorth) -> str:
    """That the weakest point tells nothing of the verdict, where the shares do not differ significantly (95 %)."""
    incorrect, correct = worth.incorrect, worth.correct
    if incorrect is None or correct is None:
        return ""
    hits = incorrect.share * incorrect.count + correct.share * correct.count
    common = hits / (incorrect.count + correct.count)
    spread = np.sqrt(common * (1 - common) * (1 / incorrect.count + 1 / correct.count))
    if abs(incorrect.share - correct.share) > _Z * spread:
        return ""
    return " The two shares do not differ significantly."


def _verdict(by_chance: Sequence[str]) -> str:
    if len(by_chance) > 1:
        return " Neither is above chance."
    return f" In {by_chance[0]} answers this is not above chance." if by_chance else ""


def _percent(share: float) -> str:
    return f"{number(100 * share, places=0)} %"
