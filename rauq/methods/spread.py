"""How far samples lie apart: in their words, inside the model, and as a graph.

Lexical similarity: how many words, in the same order, the samples have in common (Fomicheva et al., 2020).
EigenScore: how far apart they lie in the middle of the model (Chen et al., 2024, INSIDE).
Graphs: samples are joined where they mean or say the same; its degrees and its spectrum (Lin et al., 2024).
"""

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np

from rauq.errors import InvalidInput, MissingPackage
from rauq.methods.answers import captured, texts_of
from rauq.methods.method import Evidence, Uncertainty, present
from rauq.methods.pair_scorers.judges import ENTAILMENT, every_pair

ONE_SAMPLE = "it compares samples with each other, and there is only one"
_RIDGE, _SMALLEST = 1e-3, 1e-10
_SMALL = 0.9  # eigenvalues below it tell groups of samples apart


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
            "a hidden state is not known: a sample of one token, after thinking or of a model that skips the prompt",
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
