"""Colours and sizes that every figure shares. They hold on a light and on a dark page, and for colour-blind eyes."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import plotly.graph_objects as go

# Attention: blue, from the page's colour away: none is pale on a light page and dark on a dark one. The lightness
# runs steadily, so that the scale reads without telling hues apart.
_BLUES = ["#f3f7fb", "#c9dff0", "#8fbfe0", "#4c92c9", "#1d62a5", "#08306b"]
_NIGHT = ["#1a222d", "#1d4166", "#24699d", "#3f97c6", "#86c5dd", "#e6f6f0"]
ATTENTION = "#3f8fcc"
UNCERTAINTY = "#e8650a"
QUIET = "#8b95a1"
VEIL = "rgba(139, 149, 161, 0.28)"
SPACE = "\N{NO-BREAK SPACE}"  # title of an axis whose names are long: a saved figure has another font, which is wider
_MARGIN = {"l": 8, "r": 8, "t": 8, "b": 8}  # pixels; axis labels make their own room


def finish(figure: "go.Figure", *, height: int, dark: bool) -> None:
    """Give a figure its size and the texts of its axes their colour; nothing is zoomed by dragging."""
    figure.update_layout(layout_look(height=height))
    figure.update_xaxes(axis_look(dark=dark))
    figure.update_yaxes(axis_look(dark=dark))


def layout_look(*, height: int) -> dict[str, Any]:
    """Layout of a figure of this height, in pixels."""
    return {"height": height, "margin": _MARGIN, "dragmode": False, "hovermode": "closest"}


def axis_look(*, dark: bool) -> dict[str, Any]:
    """Layout of an axis."""
    text = {"color": text_colour(dark=dark)}
    return {"tickfont": text, "title": {"font": text}, "fixedrange": True, "zeroline": False}


def text_colour(*, dark: bool) -> str:
    """Colour of axis texts, with a contrast of at least 4.5 to 1 on a dark or a light page."""
    return "#d5d9de" if dark else "#4a5058"


def attention_scale(*, dark: bool) -> list[list[object]]:
    """Plotly colour scale for attention weights, for a dark or a light page."""
    colours = _NIGHT if dark else _BLUES
    return [[position / (len(colours) - 1), colour] for position, colour in enumerate(colours)]
