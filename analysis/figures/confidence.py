"""Confidence along the answer: every layer of the window, with what the front layer's recurrence was fed underneath."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from analysis.figures.style import ATTENTION, QUIET, UNCERTAINTY
from analysis.figures.token_axis import hover_labels, token_axis, token_marks
from rauq.score import Score

HEIGHT = 430


def confidence(
    score: Score,
    pieces: Sequence[bytes],
    *,
    layer: int,
    collapse: int | None = None,
    selected: int | None = None,
) -> go.Figure:
    """Three rows over one token axis: confidence c of each layer, `layer` in front; its signal; its attention.

    Confidence is on a logarithmic scale, so that the gap between r (a sure model) and c is the collapse. It is not
    bounded by 1: the entropy signal is not a probability. Values that have no logarithm leave a gap.
    """
    row = score.layers.index(layer)
    tokens = np.arange(len(pieces), dtype=np.int32)
    hover = hover_labels(pieces)
    figure = make_subplots(rows=3, shared_xaxes=True, row_heights=[0.56, 0.22, 0.22], vertical_spacing=0.05)
    others = [other for other in range(len(score.layers)) if other != row]
    figure.add_traces([_other_layer(tokens, score, other, hover) for other in others], rows=1, cols=1)
    figure.add_trace(_sure(tokens, score, row, hover), row=1, col=1)
    figure.add_trace(_front(tokens, score, row, hover), row=1, col=1)
    figure.add_trace(_signal(tokens, score, hover), row=2, col=1)
    figure.add_trace(_attention(tokens, score, row, hover), row=3, col=1)
    _lay_out(figure, pieces, token_marks(collapse, selected))
    drawn = np.concatenate([score.confidence.ravel(), score.sure_confidence[row]])
    figure.update_yaxes(tickvals=_log_ticks(drawn), row=1, col=1)
    return figure


def _other_layer(tokens: np.ndarray, score: Score, row: int, hover: list[str]) -> go.Scatter:
    return _line(
        tokens, _positive(score.confidence[row]), hover, name=f"layer {score.layers[row]}",
        line={"color": QUIET, "width": 1}, opacity=0.45, showlegend=False,
    )  # fmt: skip


def _sure(tokens: np.ndarray, score: Score, row: int, hover: list[str]) -> go.Scatter:
    return _line(
        tokens, _positive(score.sure_confidence[row]), hover, name="r, a sure model",
        line={"color": QUIET, "width": 1.5, "dash": "dot"},
    )  # fmt: skip


def _front(tokens: np.ndarray, score: Score, row: int, hover: list[str]) -> go.Scatter:
    return _line(
        tokens, _positive(score.confidence[row]), hover, name=f"c, layer {score.layers[row]}",
        mode="lines+markers", line={"color": UNCERTAINTY, "width": 3}, marker={"size": 6},
    )  # fmt: skip


def _signal(tokens: np.ndarray, score: Score, hover: list[str]) -> go.Bar:
    return go.Bar(
        x=tokens, y=score.signal.astype(np.float32), text=hover, textposition="none", name="signal",
        marker_color=UNCERTAINTY, opacity=0.75, showlegend=False,
        hovertemplate="%{text}<br>signal %{y:.3f}<extra></extra>",
    )  # fmt: skip


def _attention(tokens: np.ndarray, score: Score, row: int, hover: list[str]) -> go.Bar:
    name = f"attention, head {score.heads[row]}" if score.heads[row] >= 0 else "attention, mean of heads"
    return go.Bar(
        x=tokens[1:], y=score.attention[row].astype(np.float32), text=hover[1:], textposition="none", name=name,
        marker_color=ATTENTION, showlegend=False, hovertemplate="%{text}<br>attention %{y:.3f}<extra></extra>",
    )  # fmt: skip


def _line(tokens: np.ndarray, values: np.ndarray, hover: list[str], **look: object) -> go.Scatter:
    options = {"mode": "lines", "hovertemplate": "%{text}<br>%{fullData.name}: %{y:.3f}<extra></extra>"} | look
    return go.Scatter(x=tokens, y=values, text=hover, **options)


def _log_ticks(values: np.ndarray) -> list[float]:
    """1, 2, 5 of each power of ten that the values span; powers alone, ever fewer, where that would be too many."""
    logs = np.log10(values[np.isfinite(values) & (values > 0)])
    if not logs.size:
        return []
    low, high = int(np.floor(logs.min())), int(np.ceil(logs.max()))
    if high - low <= 2:
        return [digit * 10.0**power for power in range(low, high + 1) for digit in (1, 2, 5)]
    return [10.0**power for power in range(low, high + 1, -(-(high - low) // 6))]


def _positive(values: np.ndarray) -> np.ndarray:
    return np.where(values > 0, values, np.nan).astype(np.float32)


def _lay_out(figure: go.Figure, pieces: Sequence[bytes], marks: list[dict[str, object]]) -> None:
    figure.update_layout(
        height=HEIGHT, margin={"l": 8, "r": 8, "t": 8, "b": 8}, dragmode=False, hovermode="closest", bargap=0.35,
        shapes=marks, legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0, "xanchor": "left"},
    )  # fmt: skip
    figure.update_xaxes({**token_axis(pieces), "showticklabels": False})
    figure.update_xaxes(showticklabels=True, row=3, col=1)
    figure.update_yaxes(fixedrange=True, zeroline=False)
    figure.update_yaxes(title="confidence", type="log", row=1, col=1)
    figure.update_yaxes(title="signal", rangemode="tozero", nticks=3, row=2, col=1)
    figure.update_yaxes(title="attention", rangemode="tozero", nticks=3, row=3, col=1)
