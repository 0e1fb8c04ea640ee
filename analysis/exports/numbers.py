"""The numbers of a scored answer as CSV: one row for each token or selected head."""

from typing import NamedTuple

import numpy as np

from analysis.exports.csv_text import csv_rows
from rauq.labels import token_labels
from rauq.scoring import report
from rauq.scoring.score import Score
from rauq.trace.attribution import weight_name
from rauq.trace.trace import Trace


class TokenNumbers(NamedTuple):
    """What is known of one answer token, counted from 0; its text is drawn with visible spaces.

    Log-probability, entropy, collapse and contribution are in nats. `attention` is the previous-token attention of the
    selected head in the layer that gives the score, `confidence` its c and `sure_confidence` its r. Undefined is nan.
    """

    token: int
    text: str
    id: int
    logprob: float
    probability: float
    entropy: float
    signal: float
    attention: float
    confidence: float
    sure_confidence: float
    collapse: float
    collapse_from_signal: float
    collapse_from_attention: float
    contribution: float
    marked_wrong: bool


def token_numbers(trace: Trace, score: Score) -> tuple[TokenNumbers, ...]:
    """One row for each answer token."""
    num_tokens = len(trace.pieces)
    floats = np.column_stack(
        [
            *(trace.logprobs, np.exp(trace.logprobs.astype(np.float64)), trace.entropies, score.signal),
            *_of_score_layer(score, num_tokens),
            *(score.collapse, score.collapse_shares, score.contributions),
        ]
    )
    rows = zip(token_labels(trace.pieces), trace.answer_ids.tolist(), floats.tolist(), strict=True)
    return tuple(
        TokenNumbers._make((token, text, identifier, *values, token in trace.wrong))
        for token, (text, identifier, values) in enumerate(rows)
    )


def numbers_csv(trace: Trace, score: Score) -> str:
    """The columns of `TokenNumbers`, one row for each answer token; LIG weights are called so, not attention."""
    weight = weight_name(trace.attribution).lower()
    names = [name.replace("attention", weight) for name in TokenNumbers._fields]
    return csv_rows(names, token_numbers(trace, score))


def selected_heads_csv(score: Score, *, weight: str = "attention") -> str:
    """One row for each layer of the window: the selected head, -1 for the mean over all, empty where none was used.

    `margin` is how far its mean attention lies above the next head's, `layer_score` the layer's uncertainty u_l, and
    `weight` the name of what stands for attention.
    """
    rows = (
        (row.layer, row.head, row.mean_attention, row.margin, row.layer_score, row.layer == score.layer)
        for row in report.selected_heads(score)
    )
    return csv_rows(("layer", "head", f"mean_{weight.lower()}", "margin", "layer_score", "decides"), rows)


def _of_score_layer(score: Score, num_tokens: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Attention, confidence c and reference r of the layer that gives the score, each (N,)."""
    if score.layer is None:
        nothing = np.full(num_tokens, np.nan)
        return nothing, nothing, nothing
    row = score.layers.index(score.layer)
    return np.append(np.nan, score.attention[row]), score.confidence[row], score.reference_confidence[row]
