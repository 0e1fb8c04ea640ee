"""SAR: tokens and samples count as much as they matter to the meaning (Duan et al., 2024)."""

from collections.abc import Sequence

import numpy as np

from rauq.judges.judges import Similarity
from rauq.methods.answers import logprobs_of, text_of, texts_of, tokens_of
from rauq.methods.method import Evidence, Uncertainty
from rauq.methods.needs import present
from rauq.methods.pairs import every_pair
from rauq.trace import Trace

_TEMPERATURE = 1e-3
_ALONE = 0.5  # the relevance of the only token of a sample
_IRRELEVANT = "no token of a sample matters to the judge of similarity"


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
    return Uncertainty(shifted_uncertainty([logprobs_of(one) for one in evidence.samples], relevance, between))


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
