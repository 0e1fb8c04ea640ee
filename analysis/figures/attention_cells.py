"""Coloured cells, the part that the maps of heads share."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from analysis.figures.style import attention_scale, text_colour

_MOST_WITH_GAPS = 32  # rows or columns: more of them are too small for a gap between them


def attention_cells(weights: np.ndarray, *, dark: bool) -> go.Heatmap:
    """Heatmap of `weights`, from 0 to the largest of them rounded up to a tenth; nan stays empty."""
    return cells(
        weights, title="attention", low=0, high=upper_end(weights), scale=attention_scale(dark=dark), dark=dark
    )


def cells(values: np.ndarray, *, title: str, low: float, high: float, scale: Any, dark: bool) -> go.Heatmap:  # noqa: ANN401 - as Plotly has it
    """Heatmap of `values` from `low` to `high`, its colour bar beside it; nan stays empty."""
    rows, columns = values.shape
    text = {"color": text_colour(dark=dark)}
    return go.Heatmap(
        z=values.astype(np.float32),
        zmin=low,
        zmax=high,
        colorscale=scale,
        xgap=int(columns < _MOST_WITH_GAPS),
        ygap=int(rows < _MOST_WITH_GAPS),
        hoverongaps=False,
        colorbar={
            "title": {"text": title, "side": "right", "font": text},
            "tickfont": text,
            "thickness": 10,
            "outlinewidth": 0,
            "len": 0.9,  # leaves the chart's own buttons free
            "y": 0,
            "yanchor": "bottom",
        },
    )


def upper_end(values: np.ndarray, *, parts: int = 10) -> float:
    """Upper end of a colour scale: the largest value, rounded up to a part of 1; 1 where none is above 0."""
    finite = values[np.isfinite(values)]
    return float(np.ceil(finite.max() * parts - 1e-6) / parts) if finite.size and finite.max() > 0 else 1.0
