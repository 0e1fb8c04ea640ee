"""Methods that read how much of its attention an answer gives to the prompt: lookback ratio, and RAUQ with it.

Row j of attention is the query that predicts answer token j; its sums over prompt and answer are `part_shares`.
"""

from dataclasses import replace

import numpy as np

from rauq.methods.method import Evidence, Uncertainty, captured
from rauq.scoring.score import score_many
from rauq.trace.prompt_parts import ANSWER_SO_FAR
from rauq.trace.trace import Trace


def lookback_ratio(evidence: Evidence) -> Uncertainty:
    """Minus the mean lookback ratio over tokens, layers and heads, -1 to 0; nan for an answer of one token.

    The ratio of a row: the mean weight on a token of the prompt, divided by the sum of that and the mean weight on a
    token of the answer so far (Chuang et al., 2024, Lookback Lens). Aggregation ours: less to the prompt counts as less
    certain.
    """
    to_prompt, to_answer = (weights[..., 1:] for weights in _shares(evidence.trace))
    num_rows = to_answer.shape[-1]
    if not num_rows:
        return Uncertainty(np.nan, "in an answer of one token there is no answer to attend to")
    on_prompt = to_prompt / len(evidence.trace.prompt_ids)
    on_answer = to_answer / np.arange(1, num_rows + 1)
    with np.errstate(invalid="ignore"):  # 0 / 0 = nan
        ratio = (on_prompt / (on_prompt + on_answer)).mean()
    return Uncertainty(0.0 - ratio, "a head gives all its attention to its sink" if np.isnan(ratio) else "")


def rauq_prompt(evidence: Evidence) -> Uncertainty:
    """RAUQ in the paper's setting, with the weight on the whole prompt in place of that on the previous token, nats.

    After arXiv 2511.10837, which aggregates attention over input tokens. Aggregation ours: the sum over the prompt; in
    each layer, the head with the largest mean of it is selected.
    """
    to_prompt, _ = _shares(evidence.trace)
    scores = score_many(replace(evidence.answers, attention=to_prompt[None, ..., 1:]))
    return Uncertainty(scores.uncertainty[0], str(scores.reasons[0]))


def _shares(trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """What each row gives to the prompt, and to the answer so far: (L, H, N) each."""
    shares = captured(trace, "part_shares")
    to_answer = shares[..., ANSWER_SO_FAR]
    return shares.sum(axis=-1) - to_answer, to_answer
