"""The linked views as Plotly figures, to be saved with Plotly's own button."""

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from analysis.figures.confidence import confidence
from analysis.figures.layer_head_map import layer_head_map
from analysis.figures.token_head_map import token_head_map
from pages.ui import selection
from rauq import report
from rauq.score import Score
from rauq.trace import Trace


def show_figures(trace: Trace, score: Score) -> None:
    """The figures of what is selected, one under the other; the camera above each saves it."""
    form = st.segmented_control("Format", ("svg", "png"), default="svg", required=True, key="figure_format")
    st.caption("The camera above each figure saves it. They show what is selected above.")
    for name, figure in _figures(trace, score, dark=st.context.theme.type == "dark"):
        options = {"format": form, "filename": name.replace(" ", "-"), "scale": 1 if form == "svg" else 3}
        config = {"displaylogo": False, "displayModeBar": True, "toImageButtonOptions": options}
        st.plotly_chart(figure, key=f"figure_{name}", config=config, alt=name)


def _figures(trace: Trace, score: Score, *, dark: bool) -> list[tuple[str, go.Figure]]:
    selected = selection.chosen(trace)
    layer, head = selection.layer_and_head(selected, score)
    token, collapse = selected.token, _collapse(score)
    front = layer if score.layer is None else score.layer
    front = front if front in score.layers else score.layers[0]
    curves = confidence(score, trace.pieces, layer=front, collapse=collapse, selected=token, dark=dark)
    if len(trace.pieces) == 1:
        return [("confidence", curves)]
    weights = trace.previous_token_attention(score.settings.alignment)
    at_token = weights[:, :, token - 1] if token else weights.mean(axis=2)
    return [
        ("layer head map", _layer_heads(at_token, trace, score, marked=(layer, head), dark=dark)),
        ("confidence", curves),
        (
            "token head map",
            token_head_map(
                weights[trace.layers.index(layer)],
                trace.pieces,
                head=head,
                collapse=collapse,
                selected=token,
                dark=dark,
            ),
        ),
    ]


def _layer_heads(weights: np.ndarray, trace: Trace, score: Score, *, marked: tuple[int, int], dark: bool) -> go.Figure:
    picked = list(zip(score.layers, map(int, score.heads), strict=True))
    return layer_head_map(weights, trace.layers, picked=picked, marked=marked, dark=dark)


def _collapse(score: Score) -> int | None:
    found = report.collapse(score)
    return found.token if found else None
