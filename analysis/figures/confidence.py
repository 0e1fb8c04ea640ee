"""Confidence along the answer: every layer of the window, with what the front layer's recurrence was fed underneath."""

import math
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from analysis.figures.style import ATTENTION, QUIET, UNCERTAINTY, finish
from analysis.figures.token_axis import hover_labels, token_axis, token_marks
from rauq.score import Score

HEIGHT = 430
_MANY = 60  # tokens: more leave no room for markers, nor for gaps between bars


def confidence(
    score: Score,
    pieces: Sequence[bytes],
    *,
    layer: int,
    collapse: int | None = None,
    selected: int | None = None,
    dark: bool = False,
) -> go.Figure:
    """Three rows over one token axis: confidence c of each layer, `layer` in front; its signal; its attention.

    Confidence is on a logarithmic scale, so that the gap between r (a sure model) and c is the collapse. It is not
    bounded by 1: the entropy signal is not a probability. Values that have no logarithm leave a gap.
    """
    front = score.layers.index(layer)
    hover = hover_labels(pieces)
    figure = make_subplots(rows=3, shared_xaxes=True, row_heights=[0.56, 0.22, 0.22], vertical_spacing=0.05)
    figure.add_traces(_confidences(score, front, hover), rows=1, cols=1)
    figure.add_trace(_bars(score.signal, 0, hover, name="signal", colour=UNCERTAINTY), row=2, col=1)
    attention = _bars(score.attention[front], 1, hover, name=_attention_name(score, front), colour=ATTENTION)
    figure.add_trace(attention, row=3, col=1)

    figure.update_layout(shapes=token_marks(collapse, selected), bargap=0 if len(pieces) > _MANY else 0.35)
    figure.update_layout(legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0, "xanchor": "left"})
    figure.update_xaxes(token_axis(pieces) | {"showticklabels": False})
    figure.update_xaxes(showticklabels=True, row=3, col=1)
    ticks = _log_ticks(np.concatenate([score.confidence.ravel(), score.sure_confidence[front]]))
    figure.update_yaxes(title="confidence", type="log", tickvals=ticks, tickformat=".3~g", row=1, col=1)
    figure.update_yaxes(title="signal", rangemode="tozero", nticks=3, row=2, col=1)
    figure.update_yaxes(title="attention", rangemode="tozero", nticks=3, row=3, col=1)
    finish(figure, height=HEIGHT, dark=dark)
    return figure


def _confidences(score: Score, front: int, hover: list[str]) -> list[go.Scatter]:
    """The other layers behind, then r of the front layer, then its c."""
    behind = {"line": {"color": QUIET, "width": 1}, "opacity": 0.45, "showlegend": False}
    others = [
        _line(score.confidence[row], hover, name=f"layer {layer}", **behind)
        for row, layer in enumerate(score.layers)
        if row != front
    ]
    dotted = {"color": QUIET, "width": 1.5, "dash": "dot"}
    sure = _line(score.sure_confidence[front], hover, name="r, a sure model", line=dotted)
    bold = {"line": {"color": UNCERTAINTY, "width": 3}, "marker": {"size": 6}}
    bold["mode"] = "lines" if len(hover) > _MANY else "lines+markers"
    return [*others, sure, _line(score.confidence[front], hover, name=f"c, layer {score.layers[front]}", **bold)]


def _line(values: np.ndarray, hover: list[str], **look: object) -> go.Scatter:
    drawable = np.where(values > 0, values, np.nan).astype(np.float32)
    template = "%{text}<br>%{fullData.name}: %{y:.3f}<extra></extra>"
    return go.Scatter(y=drawable, text=hover, hovertemplate=template, **({"mode": "lines"} | look))


def _bars(values: np.ndarray, first: int, hover: list[str], *, name: str, colour: str) -> go.Bar:
    """Bars from the token `first` on."""
    return go.Bar(
        x=np.arange(first, len(hover), dtype=np.int32),
        y=values.astype(np.float32),
        text=hover[first:],
        textposition="none",
        name=name,
        marker={"color": colour, "line": {"width": 0}},
        opacity=0.8,
        showlegend=False,
        hovertemplate="%{text}<br>%{fullData.name}: %{y:.3f}<extra></extra>",
    )


def _attention_name(score: Score, row: int) -> str:
    head = int(score.heads[row])
    return f"attention, head {head}" if head >= 0 else "attention, mean of heads"


def _log_ticks(values: np.ndarray) -> list[float]:
    """1, 2, 5 of each power of ten that the values span; powers alone, ever fewer, where that would be too many.

    Where no such number lies between the smallest and the largest value, these two.
    """
    drawn = values[np.isfinite(values) & (values > 0)]
    if not drawn.size:
        return []
    low, high = float(drawn.min()), float(drawn.max())
    ticks = _round_numbers(math.floor(math.log10(low)), math.ceil(math.log10(high)))
    return ticks if any(low <= tick <= high for tick in ticks) else sorted({low, high})


def _round_numbers(low: int, high: int) -> list[float]:
    if high - low <= 2:
        return [digit * 10.0**power for power in range(low, high + 1) for digit in (1, 2, 5)]
    return [10.0**power for power in range(low, high + 1, -(-(high - low) // 6))]
