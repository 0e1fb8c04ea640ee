"""How far samples differ: in their words, in their hidden states, and as a graph.

Lexical similarity: how many words, in the same order, the samples have in common (Fomicheva et al., 2020).
EigenScore: how far apart their hidden states of the middle layer are (Chen et al., 2024, INSIDE).
Graphs: edges between samples of similar meaning or words; degrees and spectrum (Lin et al., 2024); the entropy of heat
that spreads on them (Nikitin et al., 2024, kernel language entropy).
"""

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np

from rauq.errors import InvalidInput, MissingPackage
from rauq.methods.method import Evidence, Uncertainty, captured, present, texts_of
from rauq.methods.pair_scorers.judges import ENTAILMENT, every_pair

ONE_SAMPLE = "it compares samples with each other, and there is only one"
_RIDGE, _SMALLEST = 1e-3, 1e-10
_SMALL = 0.9  # eigenvalues below it separate groups of samples
_HEAT, _NOTHING = 0.3, 1e-8  # of the heat kernel: its time t, and eigenvalues that are rounding


def lexical_similarity(evidence: Evidence) -> Uncertainty:
    """Minus the mean ROUGE-L of pairs of samples, -1 to 0; nan for a single one.

    Raises:
        MissingPackage: rouge-score is not installed.
    """
    texts = texts_of(evidence.samples)
    return Uncertainty(-mean_rouge_l(texts)) if len(texts) > 1 else Uncertainty(np.nan, ONE_SAMPLE)


def mean_rouge_l(texts: Sequence[str]) -> float:
    """The mean F1 of the longest common subsequence of words, stemmed, over all pairs of K > 1 texts.

    Raises:
        MissingPackage: rouge-score is not installed.
    """
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError as error:
        message = "ROUGE-L needs rouge-score. pip install -r requirements-extra.txt"
        raise MissingPackage(message) from error
    scorer = RougeScorer(["rougeL"], use_stemmer=True)
    pairs = [scorer.score(first, second)["rougeL"].fmeasure for first, second in combinations(texts, 2)]
    return float(np.mean(pairs))


def eigen_score(evidence: Evidence) -> Uncertainty:
    """The mean log eigenvalue of the samples' covariance, of the states that predicted their last tokens.

    Raises:
        NotCaptured: a sample has no hidden state.
        InvalidInput: their hidden states are not of one size.
    """
    states = [captured(sample, "hidden") for sample in evidence.samples]
    if len({len(state) for state in states}) > 1:
        message = "The hidden states of the samples differ in size. Draw all samples from one model."
        raise InvalidInput(message)
    if not np.isfinite(states).all():
        return Uncertainty(
            np.nan,
            "a hidden state is unknown: a one-token sample has none after thinking, or if the model skips the prompt",
        )
    return Uncertainty(mean_log_eigenvalue(np.array(states)))


def mean_log_eigenvalue(states: np.ndarray) -> float:
    """Of E E^T + 0.001 I, with the states E (K, d) each centred over its own features."""
    centred = states - states.mean(axis=1, keepdims=True)
    eigenvalues = np.linalg.eigvalsh(centred @ centred.T + _RIDGE * np.eye(len(states)))
    return float(np.log(np.maximum(eigenvalues, _SMALLEST)).mean())


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
    """1 minus the mean edge, 0 to 1: 0 if all samples are fully joined. Edges (K, K) of 0 to 1, symmetric."""
    return 1.0 - float(edges.mean())


def eigval_laplacian(edges: np.ndarray) -> float:
    """A soft number of groups: the sum of 1 - lambda over the eigenvalues of the Laplacian below 1."""
    return float(np.maximum(0.0, 1.0 - np.linalg.eigvalsh(_laplacian(edges))).sum())


def eccentricity(edges: np.ndarray) -> float:
    """The norm of the centred eigenvectors of small eigenvalues: how far samples lie from each other."""
    values, vectors = np.linalg.eigh(_laplacian(edges))
    small = vectors[:, values < _SMALL]
    return float(np.linalg.norm(small - small.mean(axis=0)))


def heat_kernel_entropy(edges: np.ndarray) -> float:
    """The von Neumann entropy -sum lambda log lambda of the heat kernel of the graph, over log K, its largest value.

    The kernel is exp(-0.3 (D - W)), with edges W (K, K), symmetric and at least 0, and their degrees D. Both sides are
    divided by the roots of its diagonal, and all by the number K > 1 of samples: the eigenvalues lambda sum to 1.
    """
    values, vectors = np.linalg.eigh(np.diag(edges.sum(axis=1)) - edges)
    kernel = (vectors * np.exp(-_HEAT * values)) @ vectors.T
    scale = np.sqrt(kernel.diagonal())
    spectrum = np.linalg.eigvalsh(kernel / np.outer(scale, scale)) / len(edges)
    some = spectrum[np.abs(spectrum) > _NOTHING]
    return -float((some * np.log(some)).sum() / np.log(len(edges)))


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
