"""The gap between correct and incorrect answers along layers or offsets (paper, figures 3a and 3c)."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from analysis.answer_sets.gaps import Gaps, HeadGaps
from analysis.answer_sets.resampling import Intervals
from analysis.figures.gap_distributions import difference_words
from analysis.figures.outcome import series, words_instead
from analysis.figures.pair import Look
from analysis.figures.style import QUIET, finish, text_colour

HEIGHT = 440
_SHIFT = 0.14  # of a column
_MOST_NAMED = 16
_AIR = 0.06  # of the whole axis


def gap_lines(gaps: HeadGaps, columns: Sequence[int], *, name: str, dark: bool = False) -> go.Figure:
    """Difference of the means with its interval in each column, absolute above and in percent below.

    `columns` are the numbers of the layers or offsets, and `name` says which of the two they are.
    """
    if not np.isfinite(gaps.picked.absolute.value).any():
        return words_instead(_reason(gaps.picked), height=HEIGHT, dark=dark)
    figure = make_subplots(rows=2, shared_xaxes=True, vertical_spacing=0.08)
    for own, look, shift in zip((gaps.picked, gaps.mean), series(), (-_SHIFT, _SHIFT), strict=True):
        for row, difference in enumerate((own.absolute, own.percent), start=1):
            line = _line(own, difference, look, columns, shift, name=name, percent=row == 2)
            figure.add_trace(line, row=row, col=1)
    absolute = _range(gaps.picked.absolute, gaps.mean.absolute)
    percent = _range(gaps.picked.percent, gaps.mean.percent)
    figure.update_yaxes(title="difference", tickformat="~g", range=absolute, row=1, col=1)
    figure.update_yaxes(title="in percent", ticksuffix=" %", tickformat="~g", range=percent, row=2, col=1)
    figure.add_hline(y=0, line={"color": QUIET, "width": 1})
    _finish(figure, columns, name, dark=dark)
    return figure


def _reason(gaps: Gaps) -> str:
    return next(filter(None, gaps.reasons), "there is no layer to look at")


def _range(*differences: Intervals) -> list[float]:
    """Every interval with some air: one that ends at the edge looks cut off."""
    ends = np.concatenate([[0.0], *((own.value, own.low, own.high) for own in differences)], axis=None)
    low, high = np.nanmin(ends).item(), np.nanmax(ends).item()
    air = _AIR * ((high - low) or 1.0)
    return [low - air, high + air]


def _line(
    gaps: Gaps, difference: Intervals, look: Look, columns: Sequence[int], shift: float, *, name: str, percent: bool
) -> go.Scatter:
    places, unit = (0, " %") if percent else (3, "")
    hover = [
        f"{name} {column} · {look.name}<br>{difference_words(difference, at, places=places, unit=unit)}<br>"
        f"{gaps.correct.count[at]:,} correct, {gaps.incorrect.count[at]:,} incorrect"
        for at, column in enumerate(columns)
    ]
    return go.Scatter(
        x=np.asarray(columns) + shift,
        y=difference.value,
        error_y={
            "array": difference.high - difference.value,
            "arrayminus": difference.value - difference.low,
            "thickness": 1.2,
            "width": 0,
        },
        text=hover,
        hovertemplate="%{text}<extra></extra>",
        mode="lines+markers",
        line={"color": look.colour, "dash": look.dash, "width": 1.5},
        marker={"color": look.colour, "symbol": look.symbol, "size": 7},
        name=look.name,
        legendgroup=look.name,
        showlegend=not percent,
    )


def _finish(figure: go.Figure, columns: Sequence[int], name: str, *, dark: bool) -> None:
    step = 1 if len(columns) <= _MOST_NAMED else 4
    figure.update_xaxes(tickvals=list(columns[::step]), range=[min(columns) - 0.6, max(columns) + 0.6])
    figure.update_xaxes(title=name, row=2, col=1)
    legend = {"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0, "font": {"color": text_colour(dark=dark)}}
    finish(figure, height=HEIGHT, dark=dark)
    figure.update_layout(legend=legend, margin={"t": 30})
