"""Judges of pairs of texts, asked economically: all pairs at once, and none of them twice."""

from collections.abc import Callable, Sequence

import numpy as np

from rauq.errors import NonFiniteLogits
from rauq.judges.judges import Texts

PairJudge = Callable[[Texts, Texts], np.ndarray]


def every_pair(judge: PairJudge, texts: Sequence[str]) -> np.ndarray:
    """What the judge, called once, says of all K x K ordered pairs, of each text with itself too: (K, K, ...)."""
    count = len(texts)
    judged = judge([text for text in texts for _ in texts], list(texts) * count)
    return judged.reshape(count, count, *judged.shape[1:])


def remembering(judge: PairJudge) -> PairJudge:
    """The judge, which is asked about each pair of texts once, however many methods look at it.

    Raises, when asked:
        NonFiniteLogits: what it says is nan or infinite, from which a label would be picked all the same.
    """
    known: dict[tuple[str, str], np.ndarray] = {}

    def ask(firsts: Texts, seconds: Texts) -> np.ndarray:
        pairs = list(zip(firsts, seconds, strict=True))
        new = list(dict.fromkeys(pair for pair in pairs if pair not in known))
        if new:
            judged = judge([first for first, _ in new], [second for _, second in new])
            if not np.isfinite(judged).all():
                message = "A judge gave numbers that are not finite. Choose another judge."
                raise NonFiniteLogits(message)
            known.update(zip(new, judged, strict=True))
        return np.array([known[pair] for pair in pairs])

    return ask
