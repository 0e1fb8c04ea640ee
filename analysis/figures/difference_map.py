"""Layer x head map of a difference: which heads look more at the previous token in A, and which in B."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from analysis.figures.attention_cells import cells, upper_end
from analysis.figures.head_axes import head_axis, layer_axis
from analysis.figures.pair import difference_scale, looks
from analysis.figures.style import finish

HEIGHT = 400
_PLOT_HEIGHT, _PLOT_WIDTH = 330, 420  # about what is left for cells; the width is only known in the browser
_SYMBOLS = ("circle-open", "diamond-open")
Heads = Sequence[tuple[int, int]]


def difference_map(
    difference: np.ndarray, layers: Sequence[int], *, picked: tuple[Heads, Heads], dark: bool = False
) -> go.Figure:
    """Heatmap of `difference` (L, H), A minus B, on a scale that is as wide on both sides of zero.

    `picked` are the (layer, head) pairs of A's window and of B's (head -1 is none): A's in circles, B's in diamonds.
    """
    num_layers, num_heads = difference.shape
    row_of = {layer: row for row, layer in enumerate(layers)}
    size = 0.7 * min(_PLOT_HEIGHT / num_layers, _PLOT_WIDTH / num_heads, 40)
    figure = go.Figure(_cells(difference, layers, dark=dark))
    for heads, look, symbol, scale in zip(picked, looks(dark=dark), _SYMBOLS, (0.75, 1.05), strict=True):
        ringed = [(row_of[layer], head) for layer, head in heads if head >= 0]
        figure.add_traces(_rings(ringed, f"picked in {look.name}", symbol, size * scale))
    head_axis(figure, num_heads)
    layer_axis(figure, layers)
    finish(figure, height=HEIGHT, dark=dark)
    return figure


def _cells(difference: np.ndarray, layers: Sequence[int], *, dark: bool) -> go.Heatmap:
    end = upper_end(np.abs(difference), parts=20)
    heat = cells(difference, title="A − B", low=-end, high=end, scale=difference_scale(dark=dark), dark=dark)
    return heat.update(
        customdata=np.broadcast_to(np.asarray(layers, dtype=np.int32)[:, None], difference.shape),
        hovertemplate="layer %{customdata} · head %{x}<br>A − B: %{z:+.3f}<extra></extra>",
        colorbar={"tickformat": ".2~f"},
    )


def _rings(ringed: Heads, name: str, symbol: str, size: float) -> list[go.Scatter]:
    """Each ring is dark outside and light inside: one of the two contrasts with any cell."""
    edge = min(4, size / 3)
    return [
        go.Scatter(
            x=[head for _, head in ringed],
            y=[row for row, _ in ringed],
            mode="markers",
            name=part,
            marker={"symbol": symbol, "size": size, "color": colour, "line": {"width": width}},
            hoverinfo="skip",
            showlegend=False,
        )
        for part, colour, width in (("edge", "#10233f", edge), (name, "#ffffff", edge / 2))
    ]
