"""The numbers of a scored answer as CSV: one row for each token or selected head.

Numbers have all their digits; an undefined one is an empty cell. A text that a spreadsheet would take for a formula
gets a single quote in front. Encode the tables as plain UTF-8: a byte-order mark would become a part of the first
column's name wherever it is not expected, and spreadsheets can be told the encoding when they import.
"""

import csv
import io
import math
import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from rauq.labels import label
from rauq.scoring import report
from rauq.scoring.score import Score
from rauq.trace.trace import Trace

_FORMULA_STARTS = frozenset("=+-@\t\r\n")


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
    rows = zip(trace.pieces, trace.answer_ids.tolist(), floats.tolist(), strict=True)
    return tuple(
        TokenNumbers._make((token, label(piece), identifier, *values, token in trace.wrong))
        for token, (piece, identifier, values) in enumerate(rows)
    )


def numbers_csv(trace: Trace, score: Score) -> str:
    """The columns of `TokenNumbers`, one row for each answer token."""
    return _table(TokenNumbers._fields, map(_cells, token_numbers(trace, score)))


def selected_heads_csv(score: Score) -> str:
    """One row for each layer of the window: the selected head, -1 for the mean over all, empty where none was used.

    `margin` is how far its mean attention lies above the next head's, `layer_score` the layer's uncertainty u_l.
    """
    rows = (
        (row.layer, row.head, row.mean_attention, row.margin, row.layer_score, row.layer == score.layer)
        for row in report.selected_heads(score)
    )
    return _table(("layer", "head", "mean_attention", "margin", "layer_score", "decides"), map(_cells, rows))


def as_text(text: str) -> str:
    """A text that no spreadsheet takes for a formula: where one would, a single quote is put in front."""
    return f"'{text}" if unicodedata.normalize("NFKC", text[:1]) in _FORMULA_STARTS else text


def _of_score_layer(score: Score, num_tokens: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Attention, confidence c and reference r of the layer that gives the score, each (N,)."""
    if score.layer is None:
        nothing = np.full(num_tokens, np.nan)
        return nothing, nothing, nothing
    row = score.layers.index(score.layer)
    return np.append(np.nan, score.attention[row]), score.confidence[row], score.reference_confidence[row]


def _table(names: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    return text.getvalue()


def _cells(row: Iterable[object]) -> list[object]:
    return [_cell(value) for value in row]


def _cell(value: object) -> object:
    match value:
        case float():
            return "" if math.isnan(value) else value
        case bool():
            return str(value).lower()
        case str():
            return as_text(value)
        case _:
            return value  # csv leaves None empty
