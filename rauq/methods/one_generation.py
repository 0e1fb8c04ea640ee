"""The baselines of one generation: of its probabilities, and of its attention.

Probabilities are those of the answer's tokens, of their alternatives, and of "True" when asked about it.

RAUQ (LIG) reads attributions in place of attention. Attention Score (Sriramanan et al., 2024, LLM-Check) is how much
tokens attend to themselves in the middle layer. In Focus (Zhang et al., 2023) a token takes over uncertainty from the
tokens that it attends to most. Head Entropy (arXiv 2602.13699) and attention divergence (arXiv 2605.05025) are how
widely the attention of each head is spread; which sign and which mean over tokens, layers and heads is ours.
"""

import string
from collections.abc import Sequence

import numpy as np

from rauq.errors import InvalidInput
from rauq.methods.method import Evidence, Uncertainty, captured, present, tokens_of
from rauq.methods.pair_scorers.judges import CONTRADICTION, ENTAILMENT, Entailment
from rauq.scoring.score import score_many
from rauq.scoring.surprisal import compared_tokens, token_surprisals
from rauq.trace.parts import tokens_in
from rauq.trace.trace import NUM_ALTERNATIVES, Alternative, Trace

_STRIPPED = string.punctuation + " \n"
_ROUNDING = 1e-3  # of log-probabilities in low precision
_EPSILON = 1e-12
_GAMMA, _IN_LOGARITHM, _IN_SHARE = 0.9, 1e-5, 1e-6  # of Focus
_NOT_THERE = "the model skips tokens of the prompt, so their attention is not known"


def msp(evidence: Evidence) -> Uncertainty:
    """Minus the log-probability of the whole answer in nats, end token included; it grows with the length."""
    return Uncertainty(-evidence.trace.logprobs.sum(dtype=np.float64))


def perplexity(evidence: Evidence) -> Uncertainty:
    """Minus the mean log-probability of a token in nats: the logarithm of what is elsewhere called perplexity."""
    return Uncertainty(-evidence.trace.logprobs.mean(dtype=np.float64))


def mean_token_entropy(evidence: Evidence) -> Uncertainty:
    """The mean entropy of the next token in nats."""
    return Uncertainty(evidence.trace.entropies.mean(dtype=np.float64))


def largest_surprisal(evidence: Evidence) -> Uncertainty:
    """The largest surprisal of a name or number that the question lacks, in nats (`rauq.scoring.surprisal`)."""
    trace = evidence.trace
    compared = compared_tokens(trace.answer_tokens, evidence.question)[1]
    return Uncertainty(token_surprisals(trace.logprobs, trace.entropies)[compared].max())


def self_certainty(evidence: Evidence) -> Uncertainty:
    """Minus the mean over N tokens of KL(uniform || p) = -(1/V) sum over the vocabulary of log(V p), nats, at most 0.

    V is the width of the logits. The sign is that of lm-polygraph, whose V counts only tokens of probability above 0:
    another constant for a model that rules tokens out. Source: Kang et al. (2025), arXiv 2502.18581.
    """
    means = captured(evidence.trace, "mean_logprob")
    return Uncertainty(means.mean() + np.log(evidence.trace.vocab_size))


def p_true(evidence: Evidence) -> Uncertainty:
    """Minus the log-probability in nats that the model, asked in a second prompt, calls its answer true; at least 0.

    The question is the prompt without worked examples, where lm-polygraph repeats the whole prompt. The answer stands
    there as it was generated, white space and stop tokens included, without the end token (`rauq.p_true_judge`).
    Source: Kadavath et al. (2022), arXiv 2207.05221.

    Raises:
        InvalidInput: the judge returns a number above 0, which is no log-probability.
    """
    found = present(evidence.judges.p_true, "p_true")(evidence.question, "".join(tokens_of(evidence.trace)))
    if found > _ROUNDING:
        message = f"The judge of P(True) returned {found:g}. Give one that returns a log-probability, at most 0."
        raise InvalidInput(message)
    return Uncertainty(-found)


def ccp(evidence: Evidence) -> Uncertainty:
    """Minus the product over the tokens, -1 to 0 (Fadeeva et al., 2024); a score of the sequence, end token included.

    The chosen token is compared with up to nine others at its place, each decoded alone and without its context.
    """
    trace = evidence.trace
    if not all(trace.alternatives):
        return Uncertainty(np.nan, "a token of this answer has no alternatives")
    rows = [_chosen_first(trace, token) for token in range(len(trace.answer_ids))]
    relations = _relations(present(evidence.judges.nli, "nli"), rows)
    return Uncertainty(claim_uncertainty([[one.logprob for one in row] for row in rows], relations))


def claim_uncertainty(logprobs: Sequence[Sequence[float]], relations: Sequence[np.ndarray]) -> float:
    """Minus the product over N tokens of p(chosen or entailed) / p(chosen, entailed or contradicted).

    Each token has log-probabilities (k,) in nats, the chosen one's first, and relations (k - 1,) of the others to it:
    1 entailment, -1 contradiction, 0 neither, which does not count.
    """
    steps = []
    for row, relation in zip(logprobs, relations, strict=True):
        chosen, others = np.exp(row[0]), np.exp(row[1:])
        same = chosen + others[relation > 0].sum()
        steps.append(same / (same + others[relation < 0].sum()))
    return -float(np.prod(steps))


def relation_of(forth: np.ndarray, back: np.ndarray) -> np.ndarray:
    """What two texts are to each other, from the label each way: 1, -1 or 0, (n,).

    If one way is neutral, the other counts; entailment one way and contradiction the other is neither.
    """
    sign = np.zeros(3, dtype=int)
    sign[ENTAILMENT], sign[CONTRADICTION] = 1, -1
    return np.sign(sign[forth] + sign[back])


def _chosen_first(trace: Trace, token: int) -> list[Alternative]:
    row, chosen = trace.alternatives[token], int(trace.answer_ids[token])
    others = [one for one in row if one.id != chosen]
    text = next((one.text for one in row if one.id == chosen), trace.answer_tokens[token])
    own = Alternative(chosen, text, float(trace.logprobs[token]))
    return [own, *others[: NUM_ALTERNATIVES - 1]]


def _relations(nli: Entailment, rows: Sequence[Sequence[Alternative]]) -> list[np.ndarray]:
    """One call of the judge for all tokens, in both directions."""
    texts = [[one.text.strip(_STRIPPED) for one in row] for row in rows]
    chosen = [row[0] for row in texts for _ in row[1:]]
    others = [text for row in texts for text in row[1:]]
    if not others:
        return [np.zeros(0, dtype=int) for _ in rows]
    labels = nli([*chosen, *others], [*others, *chosen]).argmax(axis=1)
    relations = relation_of(labels[: len(chosen)], labels[len(chosen) :])
    return np.split(relations, np.cumsum([len(row) - 1 for row in rows])[:-1])


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
