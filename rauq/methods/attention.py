"""Methods that read attention: Attention Score (Sriramanan et al., 2024, LLM-Check), Focus (Zhang et al., 2023).

RAUQ (LIG) reads attributions in its place. Attention Score is how much tokens attend to themselves in the middle layer.
In Focus a token takes over uncertainty from the tokens that it attends to most. Head Entropy (arXiv 2602.13699) and
attention divergence (arXiv 2605.05025) are how widely the attention of each head is spread; which sign and which mean
over tokens, layers and heads is ours.
"""

import numpy as np

from rauq.methods.method import Evidence, Uncertainty, captured, present, tokens_of
from rauq.scoring.score import score_many
from rauq.trace.parts import tokens_in

_EPSILON = 1e-12
_GAMMA, _IN_LOGARITHM, _IN_SHARE = 0.9, 1e-5, 1e-6  # of Focus
_NOT_THERE = "the model skips tokens of the prompt, so their attention is not known"


def rauq_lig(evidence: Evidence) -> Uncertainty:
    """RAUQ in the paper's setting on a trace whose weights are LIG attributions (`LanguageModel.attribute`)."""
    scores = score_many(evidence.answers)
    return Uncertainty(scores.uncertainty[0], str(scores.reasons[0]))


def attention_score(evidence: Evidence) -> Uncertainty:
    """How much tokens attend to themselves, in prompt and answer: a sum, so it grows with the length of the prompt."""
    return _score(captured(evidence.trace, "diagonal"))


def attention_score_answer(evidence: Evidence) -> Uncertainty:
    """Over the answer without its last token, from which nothing is predicted; 0 for an answer of one token."""
    return _score(_of_answer(evidence))


def attention_score_answer_head(evidence: Evidence) -> Uncertainty:
    """Over the answer without its last token, of the head with the highest mean weight on its own token there."""
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


def head_entropy(evidence: Evidence) -> Uncertainty:
    """Mean Renyi-2 entropy -log sum_j a_ij^2 of the rows of attention, in nats, at least 0; sinks are left out.

    a_ij: the weight on key j of the query that predicts answer token i. arXiv 2602.13699 has this entropy for each
    head. Aggregation ours: mean over tokens, layers and heads; wider attention counts as less certain.
    """
    return Uncertainty(captured(evidence.trace, "attention_entropy")[..., 1].mean())


def attention_divergence(evidence: Evidence) -> Uncertainty:
    """Minus the mean KL divergence log n_i - H(a_i) of rows of attention from uniform, in nats, at most 0.

    H: Shannon entropy. n_i: all tokens up to the query that predicts answer token i, also those that a window hides;
    sinks are left out. Source of the divergence: arXiv 2605.05025. Aggregation ours: mean over tokens, layers and
    heads; attention nearer to uniform counts as less certain.
    """
    entropies = captured(evidence.trace, "attention_entropy")[..., 0]
    keys = len(evidence.trace.prompt_ids) + np.arange(entropies.shape[2])
    return Uncertainty((entropies - np.log(keys)).mean())


def simple_focus(evidence: Evidence) -> Uncertainty:
    """Minus the mean of log-probabilities, propagated along the attention, in nats."""
    trace = evidence.trace
    flow = shares(captured(trace, "max_attention"))
    return Uncertainty(-flowing(trace.logprobs.astype(np.float64), flow).mean())


def focus(evidence: Evidence) -> Uncertainty:
    """The mean over the keywords of the answer; nan for an answer without one, which the reference ranks most certain.

    Keywords come from the whole text. The reference walks over words and decoded tokens in step instead, and with
    transformers 5 that walk sees one keyword at most.
    """
    trace, keywords = evidence.trace, keyword_tokens(evidence)
    if not keywords.any():
        return Uncertainty(np.nan, "the answer has no keyword")
    probabilities, entropies = captured(trace, "focus").T
    tokens = focus_of_tokens(probabilities, entropies, captured(trace, "max_attention"), keywords)
    return Uncertainty(tokens[keywords].mean())


def focus_of_tokens(
    probabilities: np.ndarray, entropies: np.ndarray, attention: np.ndarray, keywords: np.ndarray
) -> np.ndarray:
    """-log(P + 1e-5) + 2^H, and for keywords 0.9 of what is propagated along the attention (N, N) is added: (N,).

    P (N,) of the chosen token and H (N,) in bits are the columns of the extra `focus`; `keywords` (N,) bool.
    """
    own = np.exp2(entropies) - np.log(probabilities + _IN_LOGARITHM)
    flow = np.where(keywords[:, None], shares(attention), 0.0)
    return flowing(own, _GAMMA * flow)


def shares(attention: np.ndarray) -> np.ndarray:
    """Of each row of the attention (N, N) on tokens before, the part on each: a row that attends to none has none."""
    return attention / (attention.sum(axis=1, keepdims=True) + _IN_SHARE)


def flowing(own: np.ndarray, flow: np.ndarray) -> np.ndarray:
    """f_j = own_j + sum over k < j of flow_jk f_k: (N,)."""
    total = own.copy()
    for token in range(1, len(own)):
        total[token] += flow[token, :token] @ total[:token]
    return total


def keyword_tokens(evidence: Evidence) -> np.ndarray:
    """Which tokens of the answer belong to a keyword, (N,) bool; the end token never does."""
    tokens = tokens_of(evidence.trace)
    text = "".join(tokens)
    before = len(text) - len(text.lstrip())
    spans = present(evidence.judges.keywords, "keywords")(text.strip())
    inside = tokens_in(tokens, [(first + before, last + before) for first, last in spans])
    return np.pad(inside, (0, len(evidence.trace.answer_ids) - len(tokens)))
