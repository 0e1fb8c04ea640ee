"""RAUQ over alpha, a panel for each group, with the paper's value marked (paper, figure 4)."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from analysis.estimate import Estimate, in_words
from analysis.figures.labels import plotly_text
from analysis.figures.outcome import words_instead
from analysis.figures.style import ATTENTION, QUIET, UNCERTAINTY, VEIL, finish, text_colour
from analysis.methods.sweep import Sweep
from analysis.metrics import METRICS

_MOST_COLUMNS = 4
_PANEL_HEIGHT, _REST = 210, 60  # pixels


def alpha_sweep(found: Sweep, *, dark: bool = False) -> go.Figure:
    """The metric at every alpha with the band of its intervals; all panels have the same axes.

    A line and a diamond mark the paper's alpha. A group where the metric is undefined has no panel.
    """
    there = [name for name in found.groups if found.best(name) is not None]
    if not there:
        reason = next((row[0].reason for row in found.estimates), "there is no group")
        return words_instead(reason, height=_PANEL_HEIGHT, dark=dark)
    num_columns = min(len(there), _MOST_COLUMNS)
    num_rows = -(-len(there) // num_columns)
    figure = make_subplots(
        rows=num_rows,
        cols=num_columns,
        shared_xaxes="all",
        shared_yaxes="all",
        subplot_titles=[plotly_text(name) for name in there],
        horizontal_spacing=0.02,
        vertical_spacing=0.12 / num_rows,
    )
    for place, name in enumerate(there):
        row, column = divmod(place, num_columns)
        for trace in _panel(found, name):
            figure.add_trace(trace, row=row + 1, col=column + 1)
    figure.add_vline(x=found.paper_alpha, line={"color": QUIET, "width": 1.2, "dash": "dot"}, layer="below")
    figure.update_xaxes(title="alpha", tickvals=[0, 0.5, 1], row=num_rows)
    figure.update_yaxes(title=METRICS[found.metric], nticks=6, col=1)
    finish(figure, height=num_rows * _PANEL_HEIGHT + _REST, dark=dark)
    figure.update_annotations(font={"size": 13, "color": text_colour(dark=dark)})
    figure.update_layout(showlegend=False, margin={"t": 30})
    return figure


def _panel(found: Sweep, group: str) -> list[go.Scatter]:
    estimates = found.of_group(group)
    paper = found.alphas.index(found.paper_alpha)
    hover = [_hover(found, place, one) for place, one in enumerate(estimates)]
    band = {
        "x": [*found.alphas, *found.alphas[::-1]],
        "y": [*(one.low for one in estimates), *(one.high for one in estimates[::-1])],
    }
    points = {"hovertemplate": "%{text}<extra></extra>", "name": plotly_text(group)}
    return [
        go.Scatter(**band, fill="toself", fillcolor=VEIL, line={"width": 0}, hoverinfo="skip"),
        go.Scatter(
            **points,
            x=found.alphas,
            y=_values(estimates),
            text=hover,
            mode="lines+markers",
            line={"color": ATTENTION, "width": 2},
            marker={"size": 5},
        ),
        go.Scatter(
            **points,
            x=[found.paper_alpha],
            y=_values(estimates[paper : paper + 1]),
            text=hover[paper : paper + 1],
            mode="markers",
            marker={"color": UNCERTAINTY, "size": 11, "symbol": "diamond"},
        ),
    ]


def _values(estimates: Sequence[Estimate]) -> np.ndarray:
    return np.array([one.value for one in estimates])


def _hover(found: Sweep, place: int, one: Estimate) -> str:
    alpha = found.alphas[place]
    paper = ", the paper's" if alpha == found.paper_alpha else ""
    return f"alpha {alpha:g}{paper}<br>{METRICS[found.metric]} {in_words(one)}<br>n = {one.n:,}"
