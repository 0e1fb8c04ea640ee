"""Attention weights as coloured cells, the part that the attention maps share."""

import numpy as np
import plotly.graph_objects as go

from analysis.figures.style import attention_scale, text_colour

_MOST_WITH_GAPS = 32  # rows or columns: more of them are too small for a gap between them


def attention_cells(weights: np.ndarray, *, dark: bool) -> go.Heatmap:
    """Heatmap of `weights`, from 0 to the largest of them rounded up to a tenth; nan stays empty."""
    rows, columns = weights.shape
    text = {"color": text_colour(dark=dark)}
    return go.Heatmap(
        z=weights.astype(np.float32),
        zmin=0,
        zmax=upper_end(weights),
        colorscale=attention_scale(dark=dark),
        xgap=int(columns < _MOST_WITH_GAPS),
        ygap=int(rows < _MOST_WITH_GAPS),
        hoverongaps=False,
        colorbar={
            "title": {"text": "attention", "side": "right", "font": text},
            "tickfont": text,
            "thickness": 10,
            "outlinewidth": 0,
            "len": 0.9,  # leaves the chart's own buttons free
            "y": 0,
            "yanchor": "bottom",
        },
    )


def upper_end(weights: np.ndarray) -> float:
    """Upper end of the colour scale: the largest weight, rounded up to a tenth; 1 where there is none."""
    finite = weights[np.isfinite(weights)]
    return float(np.ceil(finite.max() * 10 - 1e-6) / 10) if finite.size and finite.max() > 0 else 1.0
