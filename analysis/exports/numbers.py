"""The numbers of a scored answer as CSV: one row for each token or selected head."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from analysis.exports.csv_text import csv_rows
from analysis.one_answer.statements import Statements, known_from_answer
from rauq.labels import token_labels
from rauq.scoring import report
from rauq.scoring.score import Score
from rauq.scoring.settings import Signal
from rauq.scoring.shown import shown_head
from rauq.trace.attribution import weight_name
from rauq.trace.trace import Trace

_UNITS = "logprob, entropy, collapse and contribution in nats; signal: {}; probability and attention from 0 to 1"
_SIGNAL_UNITS: Mapping[Signal, str] = MappingProxyType(
    {"probability": "probability", "entropy": "log V minus entropy, nats"}
)


class TokenNumbers(NamedTuple):
    """What is known of one answer token, counted from 0; its text is drawn with visible spaces.

    Log-probability, entropy, collapse and contribution are in nats. `attention` is the previous-token attention of the
    shown head, which gives the score unless another was chosen, `confidence` its c and `sure_confidence` its r.
    Undefined is nan. The last columns name, in each row, what these numbers are of.
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
    model: str
    engine: str
    layer: int | None
    head: int | None
    gives_score: bool
    scored_by: str
    alignment: str
    signal_name: str
    alpha: float
    units: str


def token_numbers(trace: Trace, score: Score) -> tuple[TokenNumbers, ...]:
    """One row for each answer token."""
    num_tokens = len(trace.pieces)
    floats = np.column_stack(
        [
            *(trace.logprobs, np.exp(trace.logprobs.astype(np.float64)), trace.entropies, score.signal),
            *_of_shown_head(score, num_tokens),
            *(score.collapse, score.collapse_shares, score.contributions),
        ]
    )
    rows = zip(token_labels(trace.pieces), trace.answer_ids.tolist(), floats.tolist(), strict=True)
    origin = _origin(trace, score)
    return tuple(
        TokenNumbers._make((token, text, identifier, *values, token in trace.wrong, *origin))
        for token, (text, identifier, values) in enumerate(rows)
    )


def numbers_csv(trace: Trace, score: Score, *, said: Statements | None = None) -> str:
    """The columns of `TokenNumbers`, one row for each answer token; LIG weights are called so, not attention.

    The last columns say in each row what is `said` of the answer; None: what follows from the answer alone.
    """
    weight = weight_name(trace.attribution).lower()
    columns = (said or known_from_answer(trace, score)).in_columns
    names = (*(name.replace("attention", weight) for name in TokenNumbers._fields), *columns)
    return csv_rows(names, ((*row, *columns.values()) for row in token_numbers(trace, score)))


def selected_heads_csv(trace: Trace, score: Score, *, said: Statements | None = None) -> str:
    """One row for each layer of the window: the selected head, -1 for the mean over all, empty where none was used.

    `margin` is how far its mean attention lies above the next head's, and `layer_score` the layer's uncertainty u_l.
    LIG weights and what is `said` are named as in `numbers_csv`.
    """
    columns = (said or known_from_answer(trace, score)).in_columns
    rows = (
        (row.layer, row.head, row.mean_attention, row.margin, row.layer_score, row.layer == score.layer)
        for row in report.selected_heads(score)
    )
    mean = f"mean_{weight_name(trace.attribution).lower()}"
    names = ("layer", "head", mean, "margin", "layer_score", "decides", *columns)
    return csv_rows(names, ((*row, *columns.values()) for row in rows))


def _has_head(score: Score) -> bool:
    """Whether the numbers are of one layer: of a chosen one, or of the one that gives the score."""
    return score.shown is not None or score.layer is not None


def _of_shown_head(score: Score, num_tokens: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Attention, confidence c and reference r of the shown head, each (N,); nan where there is no single one."""
    if not _has_head(score):
        nothing = np.full(num_tokens, np.nan)
        return nothing, nothing, nothing
    shown = shown_head(score)
    return np.append(np.nan, shown.attention), shown.confidence, shown.reference_confidence


def _origin(trace: Trace, score: Score) -> tuple[object, ...]:
    """What the numbers are of, as `TokenNumbers` ends; a layer or a head of None where there is no single one."""
    settings, shown = score.settings, shown_head(score) if _has_head(score) else None
    return (
        trace.model,
        trace.engine,
        None if shown is None else shown.layer,
        None if shown is None else shown.head,
        shown is not None and score.shown is None,
        score.by,
        settings.alignment,
        settings.signal,
        settings.alpha,
        _UNITS.format(_SIGNAL_UNITS[settings.signal or "probability"]),
    )
