"""On how many incorrect answers the marked token is part of the incorrect name."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from analysis.evidence.written import CHOSEN
from analysis.stats import Z
from benchmarks.written.reading import Answers, Reading
from benchmarks.written.scores import compared, judged, words

Mark = Callable[[Reading], np.ndarray]


def _at(token: int, count: int) -> np.ndarray:
    chosen = np.zeros(count)
    chosen[token] = 1
    return chosen


def _largest(values: np.ndarray, among: np.ndarray) -> np.ndarray:
    return _at(int(np.where(among, values, -np.inf).argmax()), len(values))


def _capitals(read: Reading) -> np.ndarray:
    """Any of the tokens that begin with a capital or a digit, after the first one; else any word."""
    found = np.array([text.strip()[:1].isupper() or text.strip()[:1].isdigit() for text in read.texts])
    found[0] &= not found[1:].any()
    return _any_of(found if found.any() else words(read))


def _any_of(among: np.ndarray) -> np.ndarray:
    return among / among.sum()


MARKS: Mapping[str, Mark] = MappingProxyType(
    {
        "largest collapse, entropy": lambda read: _largest(read.collapse[0], words(read)),
        "largest collapse, probability": lambda read: _largest(read.collapse[1], words(read)),
        "largest surprisal": lambda read: _largest(read.surprisals, words(read)),
        CHOSEN: lambda read: _largest(judged(read), compared(read)),
        "control: any word": lambda read: _any_of(words(read)),
        "control: the first word": lambda read: _at(int(np.flatnonzero(words(read))[0]), len(read.texts)),
        "control: the last word": lambda read: _at(int(np.flatnonzero(words(read))[-1]), len(read.texts)),
        "control: any word with a capital, or a number": _capitals,
    }
)


def hits(mark: Mark, answers: Answers) -> np.ndarray:
    """The probability (n,) that the marked token is part of the name, in each incorrect answer that has one."""
    chosen = [one for one in answers.read if not one.item.correct and one.name.any()]
    return np.array([mark(one)[one.name].sum() for one in chosen])


def share_with_interval(found: np.ndarray) -> tuple[float, float, float]:
    """The mean of values from 0 to 1, with a 95 % interval (Wilson), each value being of a question of its own."""
    n, share = len(found), float(found.mean())
    middle, half = (share + Z**2 / (2 * n)) / (1 + Z**2 / n), np.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2))
    half *= Z / (1 + Z**2 / n)
    return share, middle - half, middle + half
