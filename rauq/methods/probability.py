"""Methods that read the probabilities of the answer's tokens alone (Fomicheva et al., 2020)."""

import numpy as np

from rauq.methods.method import Evidence, Uncertainty


def msp(evidence: Evidence) -> Uncertainty:
    """Minus the log-probability of the whole answer in nats, end token included; it grows with the length."""
    return Uncertainty(-evidence.trace.logprobs.sum(dtype=np.float64))


def perplexity(evidence: Evidence) -> Uncertainty:
    """Minus the mean log-probability of a token in nats: the logarithm of what is elsewhere called perplexity."""
    return Uncertainty(-evidence.trace.logprobs.mean(dtype=np.float64))


def mean_token_entropy(evidence: Evidence) -> Uncertainty:
    """The mean entropy of the next token in nats."""
    return Uncertainty(evidence.trace.entropies.mean(dtype=np.float64))
