"""Judges of pairs of texts, asked economically: all pairs at once, and none of them twice."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from rauq.errors import NonFiniteLogits
from rauq.judges.judges import Texts

PairJudge = Callable[[Texts, Texts], np.ndarray]


def every_pair(judge: PairJudge, texts: Sequence[str]) -> np.ndarray:
    """What the judge, called once, says of all K x K ordered pairs, of each text with itself too: (K, K, ...)."""
    count = len(texts)
    judged = judge([text for text in texts for _ in texts], list(texts) * count)
    return judged.reshape(count, count, *judged.shape[1:])


@dataclass(eq=False)
class AskedOnce:
    """A judge that is asked about each pair of texts once, however many methods look at it.

    `spared` are the seconds that pairs took which were asked again.

    Raises, when asked:
        NonFiniteLogits: what it says is nan or infinite, from which a label would be picked all the same.
    """

    judge: PairJudge
    spared: float = 0.0
    known: dict[tuple[str, str], tuple[np.ndarray, float]] = field(default_factory=dict)

    def __call__(self, firsts: Texts, seconds: Texts) -> np.ndarray:
        """What the judge says of each pair: (n, ...)."""
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
            message = "A judge gave numbers that are not finite. Choose another judge."
            raise NonFiniteLogits(message)
        each = (time.perf_counter() - begun) / len(pairs)
        self.known |= {pair: (row, each) for pair, row in zip(pairs, judged, strict=True)}
