"""Semantic entropy: how the probability is spread over meanings (Kuhn et al., 2023)."""

import numpy as np

from rauq.judges.judges import ENTAILMENT
from rauq.methods.answers import sums_of, texts_of
from rauq.methods.method import Evidence, Uncertainty
from rauq.methods.needs import present
from rauq.methods.pairs import every_pair


def semantic_entropy(evidence: Evidence) -> Uncertainty:
    """Minus the mean over samples of the log-probability of their meaning, in nats, end token included."""
    judged = every_pair(present(evidence.judges.nli, "nli"), texts_of(evidence.samples))
    entails = judged.argmax(axis=-1) == ENTAILMENT
    return Uncertainty(entropy_of_classes(classes_of(entails & entails.T), sums_of(evidence.samples)))


def classes_of(same: np.ndarray) -> np.ndarray:
    """The class (K,) of each sample, from which of them mean the same, (K, K) bool.

    A sample joins the first class whose first member means the same, so the order counts where the judge says that
    a is b and b is c, but not that a is c.
    """
    first_members: list[int] = []
    classes = np.empty(len(same), dtype=int)
    for sample in range(len(same)):
        joined = next((one for one, first in enumerate(first_members) if same[first, sample]), len(first_members))
        classes[sample] = joined
        if joined == len(first_members):
            first_members.append(sample)
    return classes


def entropy_of_classes(classes: np.ndarray, logprobs: np.ndarray) -> float:
    """Minus the mean over K samples of log P(class), where P sums over the members of a class, each as often as drawn.

    `classes` (K,), `logprobs` (K,) of whole samples in nats; P is not normalised over the classes.
    """
    sums = [np.logaddexp.reduce(logprobs[classes == one]) for one in classes]
    return -float(np.mean(sums))
