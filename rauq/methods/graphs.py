"""Samples as a graph, joined where they mean or say the same: its degrees and its spectrum (Lin et al., 2024)."""

from collections.abc import Callable, Sequence

import numpy as np

from rauq.judges.judges import ENTAILMENT
from rauq.methods.answers import texts_of
from rauq.methods.method import Evidence, Uncertainty
from rauq.methods.needs import present
from rauq.methods.pairs import every_pair

_SMALL = 0.9  # eigenvalues below it tell groups of samples apart


def from_entailment(measure: Callable[[np.ndarray], float]) -> Callable[[Evidence], Uncertainty]:
    """The measure of the samples' graph, whose edges are probabilities of entailment, averaged over both ways."""

    def compute(evidence: Evidence) -> Uncertainty:
        nli = present(evidence.judges.nli, "nli")
        edges = every_pair(nli, texts_of(evidence.samples))[..., ENTAILMENT]
        return Uncertainty(measure((edges + edges.T) / 2))

    return compute


def from_words(measure: Callable[[np.ndarray], float]) -> Callable[[Evidence], Uncertainty]:
    """The measure of the samples' graph, whose edges are the share of words that two samples have in common."""
    return lambda evidence: Uncertainty(measure(jaccard(texts_of(evidence.samples))))


def degmat(edges: np.ndarray) -> float:
    """How much is missing to samples that are all joined: edges (K, K) of 0 to 1, symmetric, to 0 to 1."""
    return 1.0 - float(edges.mean())


def eigval_laplacian(edges: np.ndarray) -> float:
    """A soft number of groups: the sum of 1 - lambda over the eigenvalues of the Laplacian below 1."""
    return float(np.maximum(0.0, 1.0 - np.linalg.eigvalsh(_laplacian(edges))).sum())


def eccentricity(edges: np.ndarray) -> float:
    """The norm of the centred eigenvectors of small eigenvalues: how far samples lie from each other."""
    values, vectors = np.linalg.eigh(_laplacian(edges))
    small = vectors[:, values < _SMALL]
    return float(np.linalg.norm(small - small.mean(axis=0)))


def jaccard(texts: Sequence[str]) -> np.ndarray:
    """Words in common over words in all, lower case and split at white space: (K, K) for K texts that have words."""
    words = [set(text.lower().split()) for text in texts]
    return np.array([[len(a & b) / len(a | b) for b in words] for a in words])


def _laplacian(edges: np.ndarray) -> np.ndarray:
    """I - D^(-1/2) W D^(-1/2); a sample that is joined to nothing, not even itself, is a group of its own."""
    degrees = edges.sum(axis=1)
    joined = degrees > 0
    scale = np.where(joined, degrees, np.inf) ** -0.5
    laplacian: np.ndarray = np.diag(joined.astype(np.float64)) - scale[:, None] * edges * scale
    return laplacian
