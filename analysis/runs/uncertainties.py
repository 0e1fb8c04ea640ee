"""The uncertainties that a run keeps of each answer: the paper's, and the baselines that a trace alone gives."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from rauq.batch import batch
from rauq.score import score_many
from rauq.trace import Trace


def _rauq(traces: Sequence[Trace]) -> np.ndarray:
    return score_many(batch(traces)).uncertainty


def _msp(traces: Sequence[Trace]) -> np.ndarray:
    return np.array([-trace.logprobs.sum(dtype=float) for trace in traces])


def _perplexity(traces: Sequence[Trace]) -> np.ndarray:
    return np.array([-trace.logprobs.mean(dtype=float) for trace in traces])


def _mean_token_entropy(traces: Sequence[Trace]) -> np.ndarray:
    return np.array([trace.entropies.mean(dtype=float) for trace in traces])


# Each gives nats, higher is less sure; perplexity is its logarithm.
UNCERTAINTIES: Mapping[str, Callable[[Sequence[Trace]], np.ndarray]] = MappingProxyType(
    {"rauq": _rauq, "msp": _msp, "perplexity": _perplexity, "mean_token_entropy": _mean_token_entropy}
)


NAMES: Mapping[str, str] = MappingProxyType(
    {"rauq": "RAUQ", "msp": "MSP", "perplexity": "Perplexity", "mean_token_entropy": "Mean Token Entropy"}
)


def uncertainties(traces: Sequence[Trace], methods: Sequence[str]) -> dict[str, np.ndarray]:
    """Each method's uncertainty (A,) of answers of one model, at the paper's settings; nan where it was not asked for.

    Source: paper, section on baselines.
    """
    return {
        name: uncertainty(traces) if traces and name in methods else np.full(len(traces), np.nan)
        for name, uncertainty in UNCERTAINTIES.items()
    }
