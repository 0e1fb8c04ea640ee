"""The axis that the token figures share: one tick for each answer token, its text made safe to draw."""

from collections.abc import Sequence
from typing import Any

from analysis.figures.labels import plotly_text
from analysis.figures.style import LONGEST_TICK, QUIET, UNCERTAINTY, tick_positions
from rauq.labels import label


def token_axis(pieces: Sequence[bytes]) -> dict[str, Any]:
    """Layout of an x axis with the tokens' texts as tick labels."""
    ticks = tick_positions(len(pieces))
    return {
        "tickvals": ticks,
        "ticktext": [plotly_text(label(pieces[i], longest=LONGEST_TICK)) for i in ticks],
        "tickangle": -50 if len(pieces) > 6 else 0,
        "range": [-0.5, len(pieces) - 0.5],
        "automargin": True,
        "showgrid": False,
        "zeroline": False,
        "fixedrange": True,
        "title": None,
    }


def hover_labels(pieces: Sequence[bytes]) -> list[str]:
    """Position and text of each token, for hover boxes."""
    return [f"token {i} {plotly_text(label(piece, longest=40))}" for i, piece in enumerate(pieces)]


def token_marks(collapse: int | None, selected: int | None) -> list[dict[str, Any]]:
    """Shapes behind the figure: a band at the collapse, a frame around the selected token."""
    bands = []
    if collapse is not None:
        bands.append(_band(collapse, {"fillcolor": UNCERTAINTY, "opacity": 0.14, "line_width": 0}))
    if selected is not None:
        bands.append(_band(selected, {"line": {"color": QUIET, "width": 1.5, "dash": "dot"}}))
    return bands


def _band(token: int, look: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "rect",
        "x0": token - 0.5,
        "x1": token + 0.5,
        "y0": 0,
        "y1": 1,
        "yref": "paper",
        "layer": "below",
    } | look
