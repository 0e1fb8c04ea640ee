"""The scores that are compared: what RAUQ and its signals give, surprisals, and controls that know no probability."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from analysis.evidence.written import CHOSEN, PAPERS
from analysis.normalisation import plain_words
from benchmarks.written.reading import Reading
from rauq.scoring.surprisal import compared_tokens, token_surprisals
from rauq.trace.words import named_tokens, word_tokens

Score = Callable[[Reading], float]
LENGTH = "control: length in tokens"
_CAPITAL = re.compile(r"\b[^\W\d_a-z]\w*")


def inner(values: np.ndarray) -> np.ndarray:
    """Without the first and the last token, where others are left."""
    return values[1:-1] if len(values) > 2 else values


def judged(read: Reading) -> np.ndarray:
    """Surprisals (N,), the first minus the entropy there."""
    return token_surprisals(-read.surprisals, read.entropies)


def compared(read: Reading) -> np.ndarray:
    """The tokens (N,) of names and numbers, or else of other words."""
    return compared_tokens(read.texts, read.item.question)[1]


def names(read: Reading) -> np.ndarray:
    """The tokens (N,) of names and numbers, or else of all words."""
    found = named_tokens(read.texts, read.item.question)
    return found if found.any() else words(read)


def words(read: Reading) -> np.ndarray:
    """The tokens (N,) of all words, or else all."""
    found = word_tokens(read.texts)
    return found if found.any() else np.ones_like(found)


def _two_largest(values: np.ndarray) -> float:
    return float(np.sort(values)[-2:].mean())


def _drop(read: Reading) -> float:
    return float("nan") if read.elsewhere is None else float((read.surprisals - read.elsewhere).max())


SCORES: Mapping[str, Score] = MappingProxyType(
    {
        PAPERS: lambda read: read.rauq[0],
        "RAUQ, probability": lambda read: read.rauq[1],
        "mean surprisal": lambda read: read.surprisals.mean(),
        "largest surprisal": lambda read: read.surprisals.max(),
        "largest surprisal, first and last token left out": lambda read: inner(read.surprisals).max(),
        "largest surplus over the best alternative, first and last token left out": lambda read: inner(
            read.surprisals - read.best
        ).max(),
        "largest surprisal minus entropy": lambda read: (read.surprisals - read.entropies).max(),
        "largest collapse, entropy": lambda read: read.collapse[0].max(),
        "largest collapse, probability": lambda read: read.collapse[1].max(),
        "largest rise of surprisal over that after another question": _drop,
        "mean of the two largest surprisals": lambda read: _two_largest(read.surprisals[words(read)]),
        "largest surprisal of words, first token minus entropy": lambda read: judged(read)[words(read)].max(),
        "largest surprisal of names and numbers": lambda read: read.surprisals[compared(read)].max(),
        CHOSEN: lambda read: judged(read)[compared(read)].max(),
        "mean of the two largest surprisals of names and numbers, first token minus entropy": lambda read: _two_largest(
            judged(read)[compared(read)]
        ),
    }
)
CONTROLS: Mapping[str, Score] = MappingProxyType(
    {
        LENGTH: lambda read: len(read.texts),
        "control: place of the largest surprisal": lambda read: read.surprisals.argmax() / len(read.texts),
        "control: number of capitals": lambda read: len(_CAPITAL.findall("".join(read.texts))),
    }
)
WORDS_ALONE = "control: rarity of the words alone"


def rated(answers: Sequence[Reading]) -> Mapping[str, np.ndarray]:
    """Every score and control of each answer (A,); higher is less certain, nan where it is not known."""
    found = {name: np.array([of(one) for one in answers], dtype=float) for name, of in {**SCORES, **CONTROLS}.items()}
    return {**found, WORDS_ALONE: rarity([one.item.text for one in answers])}


def rarity(texts: Sequence[str]) -> np.ndarray:
    """How rare the rarest word of each text is among these texts: minus the logarithm of the share that has it (A,)."""
    bags = [frozenset(plain_words(text)) for text in texts]
    counts = Counter(word for bag in bags for word in bag)
    return np.array([max((-np.log(counts[word] / len(bags)) for word in bag), default=0.0) for bag in bags])
