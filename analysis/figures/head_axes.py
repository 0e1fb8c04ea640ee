"""The axes that the maps of layers and heads share."""

from collections.abc import Sequence

import plotly.graph_objects as go

_PLAIN = {"showgrid": False, "showline": False, "ticks": ""}
_MOST_NAMED = 16


def head_axis(figure: go.Figure, num_heads: int) -> None:
    """One column for each head."""
    figure.update_xaxes(_PLAIN, title="head", dtick=_step(num_heads), range=[-0.5, num_heads - 0.5])


def layer_axis(figure: go.Figure, layers: Sequence[int]) -> None:
    """One row for each layer, the lowest on top, named by its absolute index."""
    rows = list(range(0, len(layers), _step(len(layers))))
    figure.update_yaxes(_PLAIN, title="layer", tickvals=rows, ticktext=[str(layers[row]) for row in rows])
    figure.update_yaxes(range=[len(layers) - 0.5, -0.5])


def _step(count: int) -> int:
    return 1 if count <= _MOST_NAMED else 4
