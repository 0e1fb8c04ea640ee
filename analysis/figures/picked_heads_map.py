"""Layer x head map of how often each head is picked."""

import numpy as np
import plotly.graph_objects as go

from analysis.answer_sets.picked_heads import PickedHeads
from analysis.figures.attention_cells import cells
from analysis.figures.head_axes import head_axis, layer_axis
from analysis.figures.outcome import words_instead
from analysis.figures.style import attention_scale, finish

HEIGHT = 400


def picked_heads_map(picked: PickedHeads, *, dark: bool = False) -> go.Figure:
    """Heatmap of the share of answers, in percent, that pick a head; a row adds up to 100."""
    if not picked.counts.any():
        return words_instead("no answer picks a head, since none has a second token", height=200, dark=dark)
    heat = cells(
        100 * picked.shares, title="% of answers", low=0, high=100, scale=attention_scale(dark=dark), dark=dark
    )
    heat.update(
        customdata=np.broadcast_to(np.asarray(picked.layers, dtype=np.int32)[:, None], picked.shares.shape),
        hovertemplate="layer %{customdata} · head %{x}<br>picked by %{z:.1f} %<extra></extra>",
    )
    figure = go.Figure(heat)
    head_axis(figure, picked.shares.shape[1])
    layer_axis(figure, picked.layers)
    finish(figure, height=HEIGHT, dark=dark)
    return figure
