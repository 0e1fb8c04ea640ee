"""Semantic density: how much probability lies near the answer in meaning (Qiu and Miikkulainen, 2024)."""

from collections.abc import Sequence

import numpy as np

from rauq.judges.judges import CONTRADICTION, NEUTRAL
from rauq.methods.answers import text_of, tokens_of
from rauq.methods.method import Evidence, Uncertainty
from rauq.methods.needs import present
from rauq.trace import Trace


def semantic_density(evidence: Evidence) -> Uncertainty:
    """Minus the density around the greedy answer, -1 to 0, where each different sample counts once.

    Both texts follow the question, which is the prompt without worked examples, as in the paper.
    """
    samples = _different(evidence.samples)
    premises = [_after(evidence.question, evidence.trace)] * len(samples)
    judged = present(evidence.judges.nli, "nli")(premises, [_after(evidence.question, one) for one in samples])
    weights = np.exp([one.logprobs.sum(dtype=np.float64) / len(tokens_of(one)) for one in samples])
    own = float(np.exp(evidence.trace.logprobs.mean(dtype=np.float64)))
    return Uncertainty(lack_of_density(own, weights, judged[:, CONTRADICTION] + judged[:, NEUTRAL] / 2))


def lack_of_density(own: float, weights: np.ndarray, distances: np.ndarray) -> float:
    """Minus the mean of 1 - distance, weighed: the greedy answer weighs `own` at distance 0.

    `weights` (K,) are probabilities a token, `distances` (K,) p(contradiction) + p(neutral) / 2.
    """
    near = np.maximum(0.0, 1 - distances)  # a distance that is nan stays so
    return -float((own + weights @ near) / (own + weights.sum()))


def _different(samples: Sequence[Trace]) -> list[Trace]:
    """The first sample of each text."""
    first: dict[str, Trace] = {}
    for sample in samples:
        first.setdefault(text_of(sample), sample)
    return list(first.values())


def _after(question: str, trace: Trace) -> str:
    return f"{question} {text_of(trace)}" if question else text_of(trace)
