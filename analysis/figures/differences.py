"""How far numbers are from those that they have to equal, row by row on a log scale, each beside what is tolerated."""

from collections.abc import Sequence
from itertools import cycle

import plotly.graph_objects as go

from analysis.evidence.margins import Margins, Series
from analysis.figures.labels import plotly_text
from analysis.figures.style import ATTENTION, SPACE, UNCERTAINTY, finish, text_colour

_ROW_HEIGHT, _REST = 17, 90  # pixels
_SYMBOLS = ("circle", "circle-open", "square", "square-open")


def differences(found: Margins, *, dark: bool = False) -> go.Figure:
    """A row for each name, the first on top: a symbol for each series, and a bar at what is tolerated.

    A difference of 0 has no logarithm: it is drawn at the left edge. One beyond its bar has the colour of uncertainty.
    """
    known = [value for one in found.series for value in one.values if value > 0]
    edge = min([*known, *found.tolerated]) / 10
    rows = list(range(len(found.names)))
    looks = zip(found.series, cycle(_SYMBOLS), strict=False)
    figure = go.Figure([_points(one, found.tolerated, symbol, edge) for one, symbol in looks])
    ink = text_colour(dark=dark)
    bar = {"symbol": "line-ns", "size": 11, "line": {"width": 2, "color": ink}}
    figure.add_scatter(x=found.tolerated, y=rows, mode="markers", marker=bar, name="tolerated", hoverinfo="skip")
    figure.update_xaxes(title="largest difference", type="log", exponentformat="e", dtick=1)
    ticks = {"tickvals": rows, "ticktext": list(map(plotly_text, found.names)), "title": SPACE}
    figure.update_yaxes(ticks, range=[len(found.names) - 0.4, -0.6], showgrid=False)
    finish(figure, height=_ROW_HEIGHT * len(found.names) + _REST, dark=dark)
    figure.update_layout(
        legend={"font": {"color": ink}, "orientation": "h", "y": 1, "yanchor": "bottom"}, margin={"t": 32}
    )
    return figure


def _points(one: Series, tolerated: Sequence[float], symbol: str, edge: float) -> go.Scatter:
    beyond = [not value <= limit for value, limit in zip(one.values, tolerated, strict=True)]
    return go.Scatter(
        x=[max(value, edge) for value in one.values],
        y=list(range(len(one.values))),
        text=[f"{value:.1e}" for value in one.values],
        mode="markers",
        marker={"size": 8, "symbol": symbol, "color": [UNCERTAINTY if off else ATTENTION for off in beyond]},
        name=plotly_text(one.name),
        hovertemplate="%{text}<extra></extra>",
    )
