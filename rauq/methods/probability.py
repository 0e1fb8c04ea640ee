"""Methods that read the probabilities of the answer's tokens, and those of their alternatives."""

import string
from collections.abc import Sequence

import numpy as np

from rauq.methods.method import Evidence, Uncertainty, present
from rauq.methods.pair_scorers.judges import CONTRADICTION, ENTAILMENT, Entailment
from rauq.trace.trace import NUM_ALTERNATIVES, Alternative, Trace

_STRIPPED = string.punctuation + " \n"


def msp(evidence: Evidence) -> Uncertainty:
    """Minus the log-probability of the whole answer in nats, end token included; it grows with the length."""
    return Uncertainty(-evidence.trace.logprobs.sum(dtype=np.float64))


def perplexity(evidence: Evidence) -> Uncertainty:
    """Minus the mean log-probability of a token in nats: the logarithm of what is elsewhere called perplexity."""
    return Uncertainty(-evidence.trace.logprobs.mean(dtype=np.float64))


def mean_token_entropy(evidence: Evidence) -> Uncertainty:
    """The mean entropy of the next token in nats."""
    return Uncertainty(evidence.trace.entropies.mean(dtype=np.float64))


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

    One way neutral, the other decides; entailment one way and contradiction the other is neither.
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
    """The judge is asked once, both ways, about all tokens together."""
    texts = [[one.text.strip(_STRIPPED) for one in row] for row in rows]
    chosen = [row[0] for row in texts for _ in row[1:]]
    others = [text for row in texts for text in row[1:]]
    if not others:
        return [np.zeros(0, dtype=int) for _ in rows]
    labels = nli([*chosen, *others], [*others, *chosen]).argmax(axis=1)
    relations = relation_of(labels[: len(chosen)], labels[len(chosen) :])
    return np.split(relations, np.cumsum([len(row) - 1 for row in rows])[:-1])
