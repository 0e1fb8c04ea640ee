"""The judges that methods ask, as plain functions: any that keep to these shapes will do."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

Texts = Sequence[str]

Entailment = Callable[[Texts, Texts], np.ndarray]
"""Premises and hypotheses to probabilities (n, 3) of contradiction, neutral and entailment."""

Similarity = Callable[[Texts, Texts], np.ndarray]
"""First and second texts to their similarity in meaning (n,), 0 to 1."""

Keywords = Callable[[str], Sequence[tuple[int, int]]]
"""A text to the stretches of it that name something: characters from a first to before a last."""

CONTRADICTION, NEUTRAL, ENTAILMENT = 0, 1, 2


@dataclass(frozen=True, kw_only=True)
class Facts:
    """A judge that is exact for one prompt, because the truth about it is known (`rauq.judges.facts`).

    `same` tells whether two answers state the same facts, `keywords` where in an answer they stand.
    """

    same: Callable[[str, str], bool]
    keywords: Keywords


@dataclass(frozen=True, kw_only=True)
class Judges:
    """What is at hand; None where a judge is not. `idf` (V,) weighs the tokens of the model's vocabulary."""

    nli: Entailment | None = None
    similarity: Similarity | None = None
    keywords: Keywords | None = None
    idf: np.ndarray | None = None
    facts: Facts | None = None
