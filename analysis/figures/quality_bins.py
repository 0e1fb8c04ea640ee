"""Quality against attention, or against a score: every answer, and the mean of each quantile bin (paper, figure 3b)."""

import numpy as np
import plotly.graph_objects as go

from analysis.answer_sets.quality_bins import QualityBins
from analysis.figures.outcome import words_instead
from analysis.figures.style import ATTENTION, QUIET, finish
from rauq.labels import number

HEIGHT = 380
_MANY = 2000  # points: more are left to the graphics card
_FEW_QUALITIES = 12  # so few different ones that points would hide each other
_GOLDEN = 0.6180339887


def quality_bins_chart(result: QualityBins, *, title: str, colour: str = ATTENTION, dark: bool = False) -> go.Figure:
    """Quality of each answer over `title`, and means with intervals; a point's `customdata` is its answer's position.

    Where there are only a few different qualities points are spread a little up and down, which is no part of them.
    """
    if result.reason:
        return words_instead(result.reason, height=HEIGHT, dark=dark)
    figure = go.Figure([_points(result, title), _means(result, title, colour)])
    figure.update_xaxes(title=title, nticks=8, showgrid=False)
    figure.update_yaxes(title="quality", nticks=6)
    finish(figure, height=HEIGHT, dark=dark)
    figure.update_layout(showlegend=False)
    return figure


def _points(result: QualityBins, title: str) -> go.Scatter:
    kind = go.Scattergl if len(result.rows) > _MANY else go.Scatter
    hover = [f"{title} {number(x)}<br>quality {number(y)}" for x, y in zip(result.values, result.quality, strict=True)]
    return kind(
        x=result.values,
        y=result.quality + _spread(result.quality),
        customdata=result.rows,
        text=hover,
        hovertemplate="%{text}<extra></extra>",
        mode="markers",
        marker={"size": 5, "color": QUIET, "opacity": 0.45},
        name="answers",
    )


def _spread(quality: np.ndarray) -> np.ndarray:
    """Up to 4 % of the range up or down, evenly by position."""
    if len(np.unique(quality)) > _FEW_QUALITIES:
        return np.zeros(len(quality))
    size = float(np.ptp(quality)) or 1.0
    return 0.08 * size * ((np.arange(len(quality)) * _GOLDEN) % 1 - 0.5)


def _means(result: QualityBins, title: str, colour: str) -> go.Scatter:
    means = result.quality_means
    hover = [
        f"{title} {number(low)} to {number(high)}<br>mean quality {number(mean)} [{number(bottom)}, {number(top)}]"
        f"<br>n = {count:,}"
        for low, high, mean, bottom, top, count in zip(
            result.low, result.high, means.value, means.low, means.high, result.count, strict=True
        )
    ]
    return go.Scatter(
        x=result.middle,
        y=means.value,
        error_y={"array": means.high - means.value, "arrayminus": means.value - means.low, "thickness": 1.8},
        error_x={
            "array": result.high - result.middle,
            "arrayminus": result.middle - result.low,
            "thickness": 1,
            "width": 0,
        },
        text=hover,
        hovertemplate="%{text}<extra></extra>",
        mode="lines+markers",
        line={"color": colour, "width": 2},
        marker={"color": colour, "size": 9},
        name="mean of a bin",
    )
