"""Methods that read probabilities: of the answer's tokens, of their alternatives, of "True" when asked about it."""

import string
from collections.abc import Sequence

import numpy as np

from rauq.errors import InvalidInput
from rauq.methods.method import Evidence, Uncertainty, captured, present, tokens_of
from rauq.methods.pair_scorers.judges import CONTRADICTION, ENTAILMENT, Entailment
from rauq.trace.trace import NUM_ALTERNATIVES, Alternative, Trace

_STRIPPED = string.punctuation + " \n"
_ROUNDING = 1e-3  # of log-probabilities in low precision


def msp(evidence: Evidence) -> Uncertainty:
    """Minus the log-probability of the whole answer in nats, end token included; it grows with the length."""
    return Uncertainty(-evidence.trace.logprobs.sum(dtype=np.float64))


def perplexity(evidence: Evidence) -> Uncertainty:
    """Minus the mean log-probability of a token in nats: the logarithm of what is elsewhere called perplexity."""
    return Uncertainty(-evidence.trace.logprobs.mean(dtype=np.float64))


def mean_token_entropy(evidence: Evidence) -> Uncertainty:
    """The mean entropy of the next token in nats."""
    return Uncertainty(evidence.trace.entropies.mean(dtype=np.float64))


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
    there as it was generated, white space and stop tokens included, without the end token (`rauq.model.p_true`).
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
