"""Layer x head map: how much each head looks at the previous token."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from analysis.figures.attention_cells import attention_cells
from analysis.figures.head_axes import head_axis, layer_axis
from analysis.figures.style import UNCERTAINTY, VEIL, finish

HEIGHT = 430
_NUMBERS_WIDTH = 26  # pixels, of the layer numbers beside the cells
_PLOT_HEIGHT, _PLOT_WIDTH = 360, 420  # about what is left for cells; the width is only known in the browser


def layer_head_map(
    weights: np.ndarray,
    layers: Sequence[int],
    *,
    picked: Sequence[tuple[int, int]],
    marked: tuple[int, int] | None = None,
    dark: bool = False,
) -> go.Figure:
    """Heatmap of `weights` (L, H), one row for each absolute layer id of `layers`.

    `picked` are the (layer, head) pairs of the RAUQ window: the window is shaded, its heads are ringed (head -1 is
    none). The cell of `marked` is framed.
    """
    num_layers, num_heads = weights.shape
    row_of = {layer: row for row, layer in enumerate(layers)}
    size = 0.62 * min(_PLOT_HEIGHT / num_layers, _PLOT_WIDTH / num_heads, 40)
    cells = attention_cells(weights, dark=dark)
    cells.update(
        customdata=np.broadcast_to(np.asarray(layers, dtype=np.int32)[:, None], weights.shape),
        hovertemplate="layer %{customdata} · head %{x}<br>attention %{z:.3f}<extra></extra>",
    )
    figure = go.Figure(cells)
    _shade_window(figure, [row_of[layer] for layer, _ in picked])
    _ring(figure, [(row_of[layer], head) for layer, head in picked if head >= 0], size)
    if marked:
        _frame(figure, row_of[marked[0]], marked[1])
    head_axis(figure, num_heads)
    layer_axis(figure, layers)
    finish(figure, height=HEIGHT, dark=dark)
    return figure


def _shade_window(figure: go.Figure, rows: list[int]) -> None:
    """Shade the window's layer numbers and the gaps between its cells, and leave the colours of the cells alone."""
    if not rows:
        return
    band = {"type": "rect", "xref": "paper", "y0": min(rows) - 0.5, "y1": max(rows) + 0.5, "layer": "below"}
    band |= {"fillcolor": VEIL, "line": {"width": 0}}
    figure.add_shape(band | {"x0": 0, "x1": 1})
    figure.add_shape(band | {"xsizemode": "pixel", "xanchor": 0, "x0": -_NUMBERS_WIDTH, "x1": 0})


def _ring(figure: go.Figure, cells: list[tuple[int, int]], size: float) -> None:
    """Two circles around each cell, dark outside and light inside: one of them contrasts with any cell."""
    for colour, width, name in (("#10233f", 4.5, "edge"), ("#ffffff", 2.2, "picked head")):
        figure.add_scatter(
            x=[head for _, head in cells],
            y=[row for row, _ in cells],
            mode="markers",
            name=name,
            marker={"symbol": "circle-open", "size": size, "color": colour, "line": {"width": width}},
            hoverinfo="skip",
            showlegend=False,
        )


def _frame(figure: go.Figure, row: int, head: int) -> None:
    corners = {"x0": head - 0.5, "x1": head + 0.5, "y0": row - 0.5, "y1": row + 0.5}
    figure.add_shape(type="rect", **corners, line={"color": UNCERTAINTY, "width": 3})
