"""Token x head map of one layer: where along the answer each head looks at the previous token (paper, Figure 1)."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from analysis.figures.attention_cells import attention_cells
from analysis.figures.style import UNCERTAINTY, finish
from analysis.figures.token_axis import hover_labels, token_axis, token_marks

HEIGHT = 300


def token_head_map(
    weights: np.ndarray,
    pieces: Sequence[bytes],
    *,
    head: int,
    collapse: int | None = None,
    selected: int | None = None,
    dark: bool = False,
) -> go.Figure:
    """Heatmap of `weights` (H, N - 1), drawn over all N tokens of `pieces`: the first has no previous answer token.

    The row of `head` is framed; `collapse` and `selected` are answer tokens.
    """
    num_heads, num_tokens = len(weights), len(pieces)
    padded = np.full((num_heads, num_tokens), np.nan, dtype=np.float32)
    padded[:, 1:] = weights
    cells = attention_cells(padded, dark=dark)
    cells.update(
        text=np.broadcast_to(np.array(hover_labels(pieces), dtype=object), padded.shape),
        hovertemplate="head %{y} · %{text}<br>attention %{z:.3f}<extra></extra>",
    )
    frame = {"type": "rect", "x0": -0.5, "x1": num_tokens - 0.5, "y0": head - 0.5, "y1": head + 0.5}
    frame |= {"line": {"color": UNCERTAINTY, "width": 2}}
    figure = go.Figure(cells)
    figure.update_layout(shapes=(*token_marks(collapse, selected), frame))
    figure.update_xaxes(token_axis(pieces))
    figure.update_yaxes(title="head", dtick=1 if num_heads <= 16 else 4, range=[num_heads - 0.5, -0.5])
    figure.update_yaxes(showgrid=False)
    finish(figure, height=HEIGHT, dark=dark)
    return figure
