"""The axis that the token figures share: one tick for each answer token, its text made safe to draw."""

from collections.abc import Sequence
from typing import Any

from analysis.figures.labels import plotly_text
from analysis.figures.style import QUIET, UNCERTAINTY
from rauq.labels import label

_LONGEST_TICK, _LONGEST_HOVER = 12, 40
_MOST_TICKS = 24


def token_axis(pieces: Sequence[bytes]) -> dict[str, Any]:
    """Layout of an x axis with the tokens' texts as tick labels."""
    ticks = tick_positions(len(pieces))
    return {
        "tickvals": ticks,
        "ticktext": [plotly_text(label(pieces[i], longest=_LONGEST_TICK)) for i in ticks],
        "tickangle": -50 if len(pieces) > 6 else 0,
        "range": [-0.5, len(pieces) - 0.5],
        "automargin": True,
        "showgrid": False,
    }


def tick_positions(num_tokens: int) -> list[int]:
    """Tokens that get a tick: all of them, or an even choice where labels would run into each other."""
    return list(range(0, num_tokens, -(-num_tokens // _MOST_TICKS)))


def hover_labels(pieces: Sequence[bytes]) -> list[str]:
    """Position and text of each token, for hover boxes."""
    return [f"token {i} {plotly_text(label(piece, longest=_LONGEST_HOVER))}" for i, piece in enumerate(pieces)]


def token_marks(collapse: int | None, selected: int | None) -> list[dict[str, Any]]:
    """Shapes over the full height: a band at the collapse, a frame around the selected token."""
    marks = []
    if collapse is not None:
        look = {"fillcolor": UNCERTAINTY, "opacity": 0.14, "line": {"width": 0}, "layer": "below"}
        marks.append(_band(collapse) | look)
    if selected is not None:
        marks.append(_band(selected) | {"line": {"color": QUIET, "width": 1.5, "dash": "dot"}})
    return marks


def _band(token: int) -> dict[str, Any]:
    return {"type": "rect", "x0": token - 0.5, "x1": token + 0.5, "y0": 0, "y1": 1, "yref": "paper"}
