"""Scores so far in words."""

from collections.abc import Mapping
from types import MappingProxyType

from analysis.online.curves import OnlineScore

NAMES: Mapping[OnlineScore, str] = MappingProxyType(
    {
        "rauq": "RAUQ, heads selected so far",
        "rauq_fixed": "RAUQ, heads fixed",
        "rauq_mean": "RAUQ, mean of heads",
        "mean_entropy": "mean entropy",
        "mean_logprob": "mean −log p",
        "token_confidence": "−log c of the token",
        "token_entropy": "entropy of the token",
        "token_logprob": "−log p of the token",
        "num_tokens": "control: number of tokens",
    }
)
