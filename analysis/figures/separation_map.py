"""Layer x head map of how well each head's mean attention separates correct from incorrect answers."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from analysis.answer_sets.separation import Separation
from analysis.figures.attention_cells import cells, upper_end
from analysis.figures.head_axes import head_axis, layer_axis
from analysis.figures.outcome import words_instead
from analysis.figures.pair import difference_scale
from analysis.figures.style import UNCERTAINTY, finish

HEIGHT = 400


def separation_map(result: Separation, layers: Sequence[int], *, dark: bool = False) -> go.Figure:
    """Heatmap of the area under the ROC curve, as wide above 0.5 as below; the best head is framed.

    Above 0.5, in the colour of correct answers, these have more attention; below it incorrect ones have.
    """
    if result.best is None:
        return words_instead(result.reason, height=200, dark=dark)
    end = min(upper_end(np.abs(result.auc - 0.5), parts=20), 0.5)
    heat = cells(
        result.auc, title="ROC-AUC", low=0.5 - end, high=0.5 + end, scale=difference_scale(dark=dark), dark=dark
    )
    heat.update(
        customdata=np.broadcast_to(np.asarray(layers, dtype=np.int32)[:, None], result.auc.shape),
        hovertemplate="layer %{customdata} · head %{x}<br>ROC-AUC %{z:.3f}<extra></extra>",
        colorbar={"tickformat": ".2f"},
    )
    figure = go.Figure(heat)
    row, head = result.best
    corners = {"x0": head - 0.5, "x1": head + 0.5, "y0": row - 0.5, "y1": row + 0.5}
    figure.add_shape(type="rect", **corners, line={"color": UNCERTAINTY, "width": 3})
    head_axis(figure, result.auc.shape[1])
    layer_axis(figure, layers)
    finish(figure, height=HEIGHT, dark=dark)
    return figure
