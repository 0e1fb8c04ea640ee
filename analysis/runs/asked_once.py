"""A judge of pairs of texts that several methods ask the same: it answers once, and what that took is not forgotten."""

import time
from dataclasses import dataclass, field

import numpy as np

from rauq.judges.judges import Entailment, Texts


@dataclass(eq=False)
class AskedOnce:
    """A judge that looks at each pair once. `spared` are the seconds that pairs took which were asked again."""

    judge: Entailment
    spared: float = 0.0
    known: dict[tuple[str, str], tuple[np.ndarray, float]] = field(default_factory=dict)

    def __call__(self, premises: Texts, hypotheses: Texts) -> np.ndarray:
        """What the judge says of each pair: (n, 3)."""
        pairs = list(zip(premises, hypotheses, strict=True))
        new = list(dict.fromkeys(pair for pair in pairs if pair not in self.known))
        self.spared += sum(self.known[pair][1] for pair in set(pairs) - set(new))
        if new:
            begun = time.perf_counter()
            rows = self.judge(*zip(*new, strict=True))
            each = (time.perf_counter() - begun) / len(new)
            self.known |= {pair: (row, each) for pair, row in zip(new, rows, strict=True)}
        return np.array([self.known[pair][0] for pair in pairs]).reshape(len(pairs), -1)
