"""Colours and sizes that every figure shares. They hold on a light and on a dark page, and for colour-blind eyes."""

# Attention: blue, from the page's colour away: none is pale on a light page and dark on a dark one. The lightness
# runs steadily, so that the scale reads without telling hues apart.
_BLUES = ["#f3f7fb", "#c9dff0", "#8fbfe0", "#4c92c9", "#1d62a5", "#08306b"]
_NIGHT = ["#1a222d", "#1d4166", "#24699d", "#3f97c6", "#86c5dd", "#e6f6f0"]
ATTENTION = "#3f8fcc"
UNCERTAINTY = "#e8650a"
QUIET = "#8b95a1"
VEIL = "rgba(139, 149, 161, 0.28)"
MARGIN = {"l": 8, "r": 8, "t": 8, "b": 8}  # pixels; axis labels make their own room


def attention_scale(*, dark: bool) -> list[list[object]]:
    """Plotly colour scale for attention weights, for a dark or a light page."""
    colours = _NIGHT if dark else _BLUES
    return [[position / (len(colours) - 1), colour] for position, colour in enumerate(colours)]
