"""Method x method map of how far two methods put answers in the same order."""

import numpy as np
import plotly.graph_objects as go

from analysis.figures.attention_cells import cells
from analysis.figures.outcome import words_instead
from analysis.figures.pair import difference_scale
from analysis.figures.style import SPACE, finish
from analysis.methods.agreement import MethodAgreement
from analysis.methods.names import name_of
from rauq.labels import number

_ROW_HEIGHT, _REST = 26, 150  # pixels
_MOST_WRITTEN = 14  # methods: the numbers of more do not fit into the cells


def agreement_map(found: MethodAgreement, *, dark: bool = False) -> go.Figure:
    """Heatmap of Spearman's correlation, from -1 in violet to 1 in teal; undefined ones stay empty."""
    if np.isnan(found.correlations).all():
        reason = "no two methods order the answers" if found.methods else "no method was chosen"
        return words_instead(reason, height=200, dark=dark)
    names = [name_of(method) for method in found.methods]
    scale = difference_scale(dark=dark)
    heat = cells(found.correlations, title="Spearman", low=-1, high=1, scale=scale, dark=dark)
    heat.update(x=names, y=names, customdata=found.counts, text=_written(found.correlations))
    heat.update(texttemplate="%{text}", colorbar={"tickformat": ".1f"})
    heat.update(hovertemplate="%{y}<br>%{x}<br>Spearman %{z:.3f}, n = %{customdata:,}<extra></extra>")
    figure = go.Figure(heat)
    figure.update_xaxes(showgrid=False, ticks="", tickangle=-40)
    figure.update_yaxes(title=SPACE, showgrid=False, ticks="", autorange="reversed")
    finish(figure, height=_ROW_HEIGHT * len(names) + _REST, dark=dark)
    return figure


def _written(correlations: np.ndarray) -> list[list[str]] | None:
    if len(correlations) > _MOST_WRITTEN:
        return None
    return [["" if np.isnan(value) else number(value, places=2) for value in row] for row in correlations]
