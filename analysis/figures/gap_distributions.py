"""Attention of correct against incorrect answers: every answer, in one layer or at one offset (paper, figure 3a)."""

from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from analysis.answer_sets.captions import signed
from analysis.answer_sets.gaps import Gaps, HeadGaps
from analysis.answer_sets.resampling import Intervals
from analysis.figures.outcome import outcomes, series, words_instead
from analysis.figures.pair import Look
from analysis.figures.style import finish, text_colour

HEIGHT = 440  # as the lines beside it
_MANY = 300  # points of a side: more are drawn small


def gap_distributions(gaps: HeadGaps, column: int, *, dark: bool = False) -> go.Figure:
    """Two panels, the picked head and the mean over heads: a box and a point for each answer of column `column`.

    Each panel has its own scale, from 0, and tells its difference. `customdata` of a point is the answer's position.
    """
    if not (gaps.picked.correct.count[column] or gaps.picked.incorrect.count[column]):
        return words_instead(gaps.picked.reasons[column], height=HEIGHT, dark=dark)
    figure = make_subplots(rows=1, cols=2, horizontal_spacing=0.12)
    for panel, (own, look) in enumerate(zip((gaps.picked, gaps.mean), series(), strict=True), start=1):
        figure.add_traces(_boxes(own, column, dark=dark), rows=1, cols=panel)
        figure.add_annotation(_words(own, column, look.name, dark=dark), row=1, col=panel)
    figure.update_yaxes(rangemode="tozero", nticks=6)
    figure.update_yaxes(title="mean attention", col=1)
    finish(figure, height=HEIGHT, dark=dark)
    figure.update_layout(margin={"t": 64}, showlegend=False, boxgap=0.25)
    return figure


def difference_words(difference: Intervals, column: int, *, places: int = 3, unit: str = "") -> str:
    """A difference with its sign and, where it has one, its interval."""
    ends = (difference.value, difference.low, difference.high)
    value, low, high = (signed(end[column], places=places) for end in ends)
    return f"{value}{unit}" if np.isnan(difference.low[column]) else f"{value}{unit} [{low}, {high}]"


def _boxes(gaps: Gaps, column: int, *, dark: bool) -> list[go.Box]:
    masks = (gaps.sides.correct, gaps.sides.incorrect)
    size = 3 if max(gaps.correct.count[column], gaps.incorrect.count[column]) > _MANY else 6
    return [
        _box(gaps.values[:, column], mask, look, size) for mask, look in zip(masks, outcomes(dark=dark), strict=True)
    ]


def _box(values: np.ndarray, mask: np.ndarray, look: Look, size: int) -> go.Box:
    rows = np.flatnonzero(mask & np.isfinite(values))
    return go.Box(
        y=values[rows].astype(np.float32),
        x=np.full(len(rows), f"{look.name}<br>n = {len(rows):,}"),
        customdata=rows,
        name=look.name,
        boxpoints="all",
        boxmean=True,
        jitter=0.7,
        pointpos=0,
        marker={"symbol": look.symbol, "size": size, "color": look.colour, "opacity": 0.5},
        line={"color": look.colour, "width": 1.6},
        fillcolor="rgba(0, 0, 0, 0)",
        hoveron="points",
        hovertemplate=f"{look.name}<br>attention %{{y:.3f}}<extra></extra>",
    )


def _words(gaps: Gaps, column: int, name: str, *, dark: bool) -> dict[str, Any]:
    if np.isnan(gaps.absolute.value[column]):
        below = gaps.reasons[column]
    else:
        absolute = difference_words(gaps.absolute, column)
        below = f"{absolute}<br>{difference_words(gaps.percent, column, places=0, unit=' %')}"
    place = {"x": 0.5, "y": 1, "xref": "x domain", "yref": "y domain", "yanchor": "bottom", "showarrow": False}
    return place | {"text": f"<b>{name}</b><br>{below}", "font": {"color": text_colour(dark=dark)}}
