"""Attention Score: how much tokens attend to themselves in the middle layer (Sriramanan et al., 2024, LLM-Check)."""

import numpy as np

from rauq.methods.answers import captured
from rauq.methods.method import Evidence, Uncertainty

_EPSILON = 1e-12
_NOT_THERE = "the model skips tokens of the prompt, so their attention is not known"


def attention_score(evidence: Evidence) -> Uncertainty:
    """Over prompt and answer; a sum, so it grows with the length of the prompt."""
    return _score(captured(evidence.trace, "diagonal"))


def attention_score_answer(evidence: Evidence) -> Uncertainty:
    """Over the answer without its last token, which nothing is predicted from; 0 for an answer of one token."""
    return _score(_of_answer(evidence))


def attention_score_answer_head(evidence: Evidence) -> Uncertainty:
    """Over the answer without its last token, of the head that there attends most to its own token."""
    return _score(strongest(_of_answer(evidence)))


def log_attention(weights: np.ndarray) -> float:
    """Minus the sum over tokens of log(weight + 1e-12), averaged over the heads: weights (H, T) to nats."""
    return -float(np.log(weights + _EPSILON).sum(axis=1).mean())


def strongest(weights: np.ndarray) -> np.ndarray:
    """The head of the largest mean weight: (H, T) to (1, T); the lowest of several, and of no tokens."""
    head = int(weights.sum(axis=1).argmax())
    return weights[head : head + 1]


def _of_answer(evidence: Evidence) -> np.ndarray:
    return captured(evidence.trace, "diagonal")[:, len(evidence.trace.prompt_ids) : -1]


def _score(weights: np.ndarray) -> Uncertainty:
    return Uncertainty(log_attention(weights), _NOT_THERE if np.isnan(weights).any() else "")
