"""Focus: uncertainty flows to a token from those that it attends to most (Zhang et al., 2023)."""

import numpy as np

from rauq.methods.answers import captured, tokens_of
from rauq.methods.method import Evidence, Uncertainty
from rauq.methods.needs import present
from rauq.spans import tokens_in

_GAMMA = 0.9
_IN_LOGARITHM, _IN_SHARE = 1e-5, 1e-6


def simple_focus(evidence: Evidence) -> Uncertainty:
    """Minus the mean of log-probabilities that flow along the attention, in nats."""
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
    """-log(P + 1e-5) + 2^H, and for keywords 0.9 of what flows along the attention (N, N) is added: (N,).

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
