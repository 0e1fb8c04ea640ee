"""What an answer and its score cost against the length of the prompt, for this project, its peer, and neither."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from analysis.evidence.peers import NAMES, Curve
from analysis.figures.outcome import words_instead
from analysis.figures.pair import looks
from analysis.figures.style import QUIET, UNCERTAINTY, finish, text_colour

HEIGHT = 380
_MARGIN = 0.15  # powers of ten left and right of the points


class Panel(NamedTuple):
    """One measure: its curves, those that were computed and not run, and the level that cannot be undercut, if any."""

    title: str
    unit: str
    curves: Sequence[Curve]
    computed: Sequence[Curve] = ()
    limit: float | None = None
    logarithmic: bool = False


def costs_by_length(panels: Sequence[Panel], *, dark: bool = False) -> go.Figure:
    """A panel for each measure over one axis of prompt lengths; computed points are open."""
    drawn = [panel for panel in panels if panel.curves]
    if not drawn:
        return words_instead("neither time nor memory of a peer was measured", height=HEIGHT, dark=dark)
    titles = [panel.title for panel in drawn]
    figure = make_subplots(rows=1, cols=len(drawn), subplot_titles=titles, horizontal_spacing=0.09)
    for column, panel in enumerate(drawn, start=1):
        for trace in _traces(panel, dark=dark):
            trace.showlegend = trace.showlegend is not False and trace.name not in {one.name for one in figure.data}
            figure.add_trace(trace, row=1, col=column)
        if panel.limit is not None:
            figure.add_hline(y=panel.limit, line={"color": QUIET, "width": 1.2, "dash": "dot"}, row=1, col=column)
        scale = {"type": "log", "dtick": 1} if panel.logarithmic else {"rangemode": "tozero"}
        figure.update_yaxes(scale, row=1, col=column)
    lengths = sorted({length for panel in drawn for one in (*panel.curves, *panel.computed) for length in one.lengths})
    ends = [math.log10(lengths[0]) - _MARGIN, math.log10(lengths[-1]) + _MARGIN]
    figure.update_xaxes(title="tokens of the prompt", type="log", range=ends, tickvals=lengths, showgrid=False)
    figure.update_xaxes(ticktext=[f"{length:,.0f}" for length in lengths])
    finish(figure, height=HEIGHT, dark=dark)
    ink = {"color": text_colour(dark=dark)}
    figure.update_annotations(font=ink | {"size": 14})
    legend = {"font": ink, "orientation": "h", "y": -0.22, "x": 0.5, "xanchor": "center"}
    figure.update_layout(legend=legend, margin={"t": 40})
    return figure


def _traces(panel: Panel, *, dark: bool) -> list[go.Scatter]:
    return [
        *(_line(curve, panel.unit, dark=dark) for curve in panel.curves),
        *(_open(curve, panel.unit, dark=dark) for curve in panel.computed),
    ]


def _line(curve: Curve, unit: str, *, dark: bool) -> go.Scatter:
    colour, symbol, width = _look(curve.tool, dark=dark)
    above = [high - value for value, high in zip(curve.values, curve.high, strict=True)]
    below = [value - low for value, low in zip(curve.values, curve.low, strict=True)]
    return go.Scatter(
        x=curve.lengths,
        y=curve.values,
        error_y={"array": above, "arrayminus": below, "thickness": 1.5, "width": 3, "color": colour},
        mode="lines+markers",
        line={"color": colour, "width": width},
        marker={"size": 9, "symbol": symbol},
        name=NAMES[curve.tool],
        hovertemplate=f"%{{x:,}} tokens: %{{y:,.3~g}} {unit}<extra>{NAMES[curve.tool]}</extra>",
    )


def _open(curve: Curve, unit: str, *, dark: bool) -> go.Scatter:
    colour, symbol, _ = _look(curve.tool, dark=dark)
    return go.Scatter(
        x=curve.lengths,
        y=curve.values,
        mode="markers",
        marker={"size": 11, "symbol": f"{symbol}-open", "color": colour, "line": {"width": 2}},
        name=f"{NAMES[curve.tool]}, computed",
        hovertemplate=f"%{{x:,}} tokens: %{{y:,.3~g}} {unit}, computed, not run<extra></extra>",
    )


def _look(tool: str, *, dark: bool) -> tuple[str, str, float]:
    """Colour, symbol and width of the line: ours as RAUQ is drawn everywhere, plain generation stands back."""
    if tool == "rauq":
        return UNCERTAINTY, "circle", 3.0
    return (QUIET, "square", 1.5) if tool == "plain" else (looks(dark=dark)[1].colour, "diamond", 2.0)
