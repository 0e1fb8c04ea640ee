"""The baselines of samples: how far samples of an answer differ, in words, hidden states, as a graph, and in meaning.

Lexical similarity: how many words, in the same order, the samples have in common (Fomicheva et al., 2020).
EigenScore: how far apart their hidden states of the middle layer are (Chen et al., 2024, INSIDE).
Graphs: edges between samples of similar meaning or words; degrees and spectrum (Lin et al., 2024).

A model that scores pairs of texts compares the meaning of samples. Semantic entropy: how the probability is spread over
meanings (Kuhn et al., 2023). Semantic density: how much probability lies near the answer in meaning (Qiu and
Miikkulainen, 2024). LUQ: how little each sample is supported by the others (Zhang et al., 2024), without splitting into
sentences. SAR: tokens and samples are weighted by their relevance to the meaning (Duan et al., 2024). CoCoA: an
uncertainty of the answer, times how much the samples differ from it (Vashurin et al., 2025). Kernel language entropy:
how little the samples support each other, as the entropy of heat that spreads between them (Nikitin et al., 2024).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np

from rauq.errors import InvalidInput, MissingPackage
from rauq.layout import EXTRAS_COMMAND
from rauq.methods.method import (
    Evidence,
    Method,
    Uncertainty,
    captured,
    logprobs_of,
    present,
    sums_of,
    text_of,
    texts_of,
    tokens_of,
)
from rauq.methods.pair_scorers.judges import (
    CONTRADICTION,
    ENTAILMENT,
    NEUTRAL,
    Facts,
    Judges,
    Similarity,
    Texts,
    every_pair,
)
from rauq.trace.trace import Trace

_ONE_SAMPLE = "it compares samples with each other, and there is only one"
_RIDGE, _SMALLEST = 1e-3, 1e-10
_SMALL = 0.9  # eigenvalues below it separate groups of samples
_HEAT, _NOTHING = 0.3, 1e-8  # of the heat kernel: its time t, and eigenvalues that are rounding
_ASKED = frozenset({"nli", "similarity", "keywords"})
_TEMPERATURE = 1e-3  # of SAR
_ALONE = 0.5  # the relevance of the only token of a sample
_IRRELEVANT = "removing any token of a sample leaves its similarity at 1"


def lexical_similarity(evidence: Evidence) -> Uncertainty:
    """Minus the mean ROUGE-L of pairs of samples, -1 to 0; nan for a single one.

    Raises:
        MissingPackage: rouge-score is not installed.
    """
    texts = texts_of(evidence.samples)
    return Uncertainty(-mean_rouge_l(texts)) if len(texts) > 1 else Uncertainty(np.nan, _ONE_SAMPLE)


def mean_rouge_l(texts: Sequence[str]) -> float:
    """The mean F1 of the longest common subsequence of words, stemmed, over all pairs of K > 1 texts.

    Raises:
        MissingPackage: rouge-score is not installed.
    """
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError as error:
        message = f"ROUGE-L needs rouge-score. {EXTRAS_COMMAND}"
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


def semantic_density(evidence: Evidence) -> Uncertainty:
    """Minus the density around the greedy answer, -1 to 0, where each different sample counts once.

    Both texts follow the question, which is the prompt without worked examples, as in the paper.
    """
    samples = _different(evidence.samples)
    premises = [_after(evidence.question, text_of(evidence.trace))] * len(samples)
    hypotheses = [_after(evidence.question, text_of(sample)) for sample in samples]
    judged = present(evidence.judges.nli, "nli")(premises, hypotheses)
    weights = np.exp([sample.logprobs.sum(dtype=np.float64) / len(tokens_of(sample)) for sample in samples])
    own = float(np.exp(evidence.trace.logprobs.mean(dtype=np.float64)))
    return Uncertainty(lack_of_density(own, weights, judged[:, CONTRADICTION] + judged[:, NEUTRAL] / 2))


def lack_of_density(own: float, weights: np.ndarray, distances: np.ndarray) -> float:
    """Minus the mean of 1 - distance, weighed: the greedy answer weighs `own` at distance 0.

    `weights` (K,) are probabilities a token, `distances` (K,) p(contradiction) + p(neutral) / 2.
    """
    near = np.maximum(0.0, 1 - distances)  # a distance of nan stays nan
    return -float((own + weights @ near) / (own + weights.sum()))


def _different(samples: Sequence[Trace]) -> list[Trace]:
    """The first sample of each text."""
    first: dict[str, Trace] = {}
    for sample in samples:
        first.setdefault(text_of(sample), sample)
    return list(first.values())


def luq(evidence: Evidence) -> Uncertainty:
    """1 minus the mean support of a sample by another, 0 to 1; nan for a single sample."""
    texts = texts_of(evidence.samples)
    if len(texts) < 2:
        return Uncertainty(np.nan, _ONE_SAMPLE)
    judged = every_pair(present(evidence.judges.nli, "nli"), texts)
    return Uncertainty(lack_of_support(judged[..., ENTAILMENT], judged[..., CONTRADICTION]))


def lack_of_support(entailment: np.ndarray, contradiction: np.ndarray) -> float:
    """1 minus the mean over ordered pairs of p(entailment) / (p(entailment) + p(contradiction)), each (K, K)."""
    others = ~np.eye(len(entailment), dtype=bool)
    support = entailment[others] / (entailment[others] + contradiction[others])
    return 1.0 - float(support.mean())


def sar(evidence: Evidence) -> Uncertainty:
    """Mean over the samples, usually negative; the end token has no part in it.

    How much a token matters is seen from the prompt and the sample without it. Tokens are left out as text, the
    reference leaves out their ids, which differs where several of them spell one character.
    """
    similarity = present(evidence.judges.similarity, "similarity")
    relevance = _relevance(similarity, evidence.samples, evidence.trace.prompt)
    if any(not each.any() for each in relevance):
        return Uncertainty(np.nan, _IRRELEVANT)
    between = every_pair(similarity, texts_of(evidence.samples))
    return Uncertainty(shifted_uncertainty([logprobs_of(sample) for sample in evidence.samples], relevance, between))


def shifted_uncertainty(
    logprobs: Sequence[np.ndarray], relevance: Sequence[np.ndarray], similarity: np.ndarray
) -> float:
    """Mean over K samples of -log(P_k + sum over the others of similarity (K, K) times P / 0.001).

    P_k = exp(sum of log-probabilities, weighed by relevance); both (n,) for each sample, in nats.
    """
    weighed = [row @ weights / weights.sum() for row, weights in zip(logprobs, relevance, strict=True)]
    probabilities = np.exp(weighed)
    others = similarity * (1 - np.eye(len(probabilities)))
    return -float(np.log(probabilities + others @ probabilities / _TEMPERATURE).mean())


def cocoa(confidence: Callable[[Evidence], Uncertainty]) -> Callable[[Evidence], Uncertainty]:
    """The uncertainty u of the greedy answer in nats, times the mean of 1 - s over the samples, each as often as drawn.

    s is the similarity of the answer and a sample, bare texts, averaged over both orders of the two, as in
    lm-polygraph. Source: Vashurin et al. (2025), arXiv 2502.04964, u * mean_j(1 - s(y, y_j)).
    """

    def compute(evidence: Evidence) -> Uncertainty:
        own, texts = [text_of(evidence.trace)] * len(evidence.samples), list(texts_of(evidence.samples))
        judged = present(evidence.judges.similarity, "similarity")([*own, *texts], [*texts, *own])
        return Uncertainty(confidence(evidence) * (1.0 - judged.mean()))

    return compute


def kernel_language_entropy(evidence: Evidence) -> Uncertainty:
    """The entropy of the heat kernel of the samples' graph, 0 to 1; nan for a single sample.

    An edge is p(entailment) + p(neutral) / 2, and the sum of both ways; kernel, t = 0.3 and the scale are the defaults
    of lm-polygraph (`heat_kernel_entropy`). Source: Nikitin et al. (2024), arXiv 2405.20003.
    """
    texts = texts_of(evidence.samples)
    if len(texts) < 2:
        return Uncertainty(np.nan, _ONE_SAMPLE)
    judged = every_pair(present(evidence.judges.nli, "nli"), texts)
    edges = judged[..., ENTAILMENT] + judged[..., NEUTRAL] / 2
    return Uncertainty(heat_kernel_entropy(edges + edges.T))


def _relevance(similarity: Similarity, samples: Sequence[Trace], prompt: str) -> list[np.ndarray]:
    """1 minus the similarity of each sample with and without each of its tokens; the judge is asked once."""
    lengths = [len(tokens_of(sample)) for sample in samples]
    whole = [_after(prompt, text_of(sample)) for sample in samples for _ in tokens_of(sample)]
    parts = [_after(prompt, part) for sample in samples for part in _without_each(tokens_of(sample))]
    relevance = np.split(1 - similarity(whole, parts), np.cumsum(lengths)[:-1])
    return [np.array([_ALONE]) if len(each) == 1 else each for each in relevance]


def _without_each(tokens: tuple[str, ...]) -> list[str]:
    return ["".join(tokens[:token] + tokens[token + 1 :]).strip() for token in range(len(tokens))]


def _after(prompt: str, text: str) -> str:
    return f"{prompt} {text}" if prompt else text


def with_facts(method: Method) -> Method:
    """The same method with the judge of facts: a separate row, since it is not the paper's judge."""
    return replace(
        method,
        id=f"{method.id}_facts",
        name=f"{method.name.removesuffix(' NLI entail.')} (same facts)",
        compute=partial(_on_facts, method),
        needs=method.needs - _ASKED | {"facts"},
    )


def _on_facts(method: Method, evidence: Evidence) -> Uncertainty:
    """Two answers mean the same if they state the same facts, and else contradict each other.

    This judge reads only answers, without question or prompt.
    """
    judges = _judges_of(present(evidence.judges.facts, "facts"))
    trace = replace(evidence.trace, prompt="")
    return method.uncertainty(replace(evidence, trace=trace, judges=judges, question=""))


def _judges_of(facts: Facts) -> Judges:
    """Judges that return 1 or 0."""

    def similarity(firsts: Texts, seconds: Texts) -> np.ndarray:
        pairs = zip(firsts, seconds, strict=True)
        return np.array([facts.same(first, second) for first, second in pairs], dtype=np.float64)

    def entailment(premises: Texts, hypotheses: Texts) -> np.ndarray:
        same = similarity(premises, hypotheses)
        probabilities = np.zeros((len(same), 3))
        probabilities[:, ENTAILMENT], probabilities[:, CONTRADICTION] = same, 1 - same
        return probabilities

    return Judges(nli=entailment, similarity=similarity, keywords=facts.keywords)
