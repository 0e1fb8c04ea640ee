"""A dot and its interval in every row: the part that comparisons of methods share."""

from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from analysis.estimate import Estimate, in_words
from analysis.figures.labels import plotly_text
from analysis.figures.outcome import words_instead
from analysis.figures.style import QUIET, SPACE, finish

_ROW_HEIGHT, _REST, _BUTTONS = 24, 70, 28  # pixels; the buttons of a figure lie over its upper edge


class Row(NamedTuple):
    """What one row draws, and in which colour; a row in bold is the one to look at."""

    name: str
    estimate: Estimate
    colour: str
    symbol: str = "circle"
    bold: bool = False


def interval_rows(rows: Sequence[Row], *, title: str, reference: float, reason: str, dark: bool) -> go.Figure:
    """One row below the other, in the order given, over an axis named `title`; a line marks `reference`.

    Where there is no row the figure gives the `reason`.
    """
    if not rows:
        return words_instead(reason, height=160, dark=dark)
    figure = go.Figure([_dot(place, row) for place, row in enumerate(rows)])
    figure.add_vline(x=reference, line={"color": QUIET, "width": 1.2, "dash": "dot"}, layer="below")
    figure.update_xaxes(title=title, nticks=8)
    names = [f"<b>{plotly_text(row.name)}</b>" if row.bold else plotly_text(row.name) for row in rows]
    figure.update_yaxes(tickvals=list(range(len(rows))), ticktext=names, range=[len(rows) - 0.4, -0.6], showgrid=False)
    figure.update_yaxes(title=SPACE)
    finish(figure, height=_ROW_HEIGHT * len(rows) + _REST + _BUTTONS, dark=dark)
    figure.update_layout(margin={"t": _BUTTONS})
    return figure


def _dot(place: int, row: Row) -> go.Scatter:
    found = row.estimate
    interval = {
        "array": [found.high - found.value],
        "arrayminus": [found.value - found.low],
        "thickness": 2,
        "width": 4,
    }
    return go.Scatter(
        x=[found.value],
        y=[place],
        error_x=interval | {"color": row.colour},
        mode="markers",
        marker={"size": 10, "symbol": row.symbol, "color": row.colour},
        text=[f"{plotly_text(row.name)}<br>{in_words(found)}<br>n = {found.n:,}"],
        hovertemplate="%{text}<extra></extra>",
        name=plotly_text(row.name),
        showlegend=False,
    )
