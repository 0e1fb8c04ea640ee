"""LUQ: how little each sample is supported by the others (Zhang et al., 2024), without splitting into sentences."""

import numpy as np

from rauq.judges.judges import CONTRADICTION, ENTAILMENT
from rauq.methods.answers import texts_of
from rauq.methods.lexical import ONE_SAMPLE
from rauq.methods.method import Evidence, Uncertainty
from rauq.methods.needs import present
from rauq.methods.pairs import every_pair


def luq(evidence: Evidence) -> Uncertainty:
    """1 minus the mean support of a sample by another, 0 to 1; nan for a single sample."""
    texts = texts_of(evidence.samples)
    if len(texts) < 2:
        return Uncertainty(np.nan, ONE_SAMPLE)
    judged = every_pair(present(evidence.judges.nli, "nli"), texts)
    return Uncertainty(lack_of_support(judged[..., ENTAILMENT], judged[..., CONTRADICTION]))


def lack_of_support(entailment: np.ndarray, contradiction: np.ndarray) -> float:
    """1 minus the mean over ordered pairs of p(entailment) / (p(entailment) + p(contradiction)), each (K, K)."""
    others = ~np.eye(len(entailment), dtype=bool)
    support = entailment[others] / (entailment[others] + contradiction[others])
    return 1.0 - float(support.mean())
