"""The judges that methods use, as plain functions; any function of these types can be used."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from rauq.detectors.detector import Detector
from rauq.errors import NonFiniteLogits

Texts = Sequence[str]

Entailment = Callable[[Texts, Texts], np.ndarray]
"""Premises and hypotheses to probabilities (n, 3) of contradiction, neutral and entailment."""

Similarity = Callable[[Texts, Texts], np.ndarray]
"""First and second texts to their similarity in meaning (n,), 0 to 1."""

PairJudge = Callable[[Texts, Texts], np.ndarray]
"""Either of the two."""

Keywords = Callable[[str], Sequence[tuple[int, int]]]
"""A text to the stretches of it that name something: characters from a first to before a last."""

TruthJudge = Callable[[str, str], float]
"""A question and an answer to the log-probability that the model calls the answer true, in nats."""

CONTRADICTION, NEUTRAL, ENTAILMENT = 0, 1, 2


@dataclass(frozen=True, kw_only=True)
class Facts:
    """A judge that is exact for one prompt, because the truth about it is known.

    `same` tells whether two answers state the same facts, `keywords` where in an answer they stand.
    """

    same: Callable[[str, str], bool]
    keywords: Keywords


@dataclass(frozen=True, kw_only=True)
class Judges:
    """The available judges; None for one that is missing. `idf` (V,) weighs the tokens of the model's vocabulary.

    `detectors` are fitted supervised methods, each used by the method of its id. `p_true` is the model that gave the
    answer: `rauq.p_true_judge(lm)`.
    """

    nli: Entailment | None = None
    similarity: Similarity | None = None
    keywords: Keywords | None = None
    idf: np.ndarray | None = None
    facts: Facts | None = None
    detectors: tuple[Detector, ...] = ()
    p_true: TruthJudge | None = None


def every_pair(judge: PairJudge, texts: Sequence[str]) -> np.ndarray:
    """The judge's output, in one call, for all K x K ordered pairs, of each text with itself too: (K, K, ...)."""
    count = len(texts)
    judged = judge([text for text in texts for _ in texts], list(texts) * count)
    return judged.reshape(count, count, *judged.shape[1:])


@dataclass(eq=False)
class CachedJudge:
    """A judge that scores each pair of texts once, however many methods use it.

    `spared`: the seconds saved by not scoring pairs again.

    Raises, when asked:
        NonFiniteLogits: an output is nan or infinite, for which there would still be a most probable label.
    """

    judge: PairJudge
    spared: float = 0.0
    known: dict[tuple[str, str], tuple[np.ndarray, float]] = field(default_factory=dict)

    def __call__(self, firsts: Texts, seconds: Texts) -> np.ndarray:
        """The judge's output for each pair: (n, ...)."""
        pairs = list(zip(firsts, seconds, strict=True))
        new = list(dict.fromkeys(pair for pair in pairs if pair not in self.known))
        self.spared += sum(self.known[pair][1] for pair in set(pairs) - set(new))
        if new:
            self._ask(new)
        return np.array([self.known[pair][0] for pair in pairs])

    def _ask(self, pairs: Sequence[tuple[str, str]]) -> None:
        begun = time.perf_counter()
        judged = self.judge([first for first, _ in pairs], [second for _, second in pairs])
        if not np.isfinite(judged).all():
            message = "A judge returned numbers that are not finite. Choose another judge."
            raise NonFiniteLogits(message)
        each = (time.perf_counter() - begun) / len(pairs)
        self.known |= {pair: (row, each) for pair, row in zip(pairs, judged, strict=True)}
