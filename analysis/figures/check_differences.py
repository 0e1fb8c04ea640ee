"""How far the captured attention of each layer is from eager attention, on a log scale, beside what is tolerated."""

import math
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from analysis.figures.outcome import words_instead
from analysis.figures.style import ATTENTION, QUIET, UNCERTAINTY, finish, text_colour

if TYPE_CHECKING:
    from rauq.capture.check import Check

HEIGHT = 270
_SMALLEST, _LARGEST = 1e-9, 1.0  # what is drawn: a difference of weights is at most 1, and 0 has no logarithm


def check_differences(check: "Check", *, dark: bool = False) -> go.Figure:
    """A dot for each layer under the line of the tolerance; a cross where a layer is beyond it."""
    if not check.differences:
        return words_instead("the model has no layer with attention", height=HEIGHT, dark=dark)
    beyond = [not difference <= check.tolerance for difference in check.differences]
    figure = go.Figure(
        go.Scatter(
            x=list(check.layers),
            y=[min(max(difference, _SMALLEST), _LARGEST) for difference in check.differences],
            text=[_hover(layer, found) for layer, found in zip(check.layers, check.differences, strict=True)],
            mode="markers",
            marker={
                "size": 11,
                "color": [UNCERTAINTY if off else ATTENTION for off in beyond],
                "symbol": ["x" if off else "circle" for off in beyond],
            },
            hovertemplate="%{text}<extra></extra>",
        )
    )
    figure.add_hline(y=check.tolerance, line={"color": QUIET, "width": 1.5, "dash": "dash"})
    figure.add_annotation(
        {"text": f"tolerated: {check.tolerance:.0e}", "font": {"color": text_colour(dark=dark)}, "showarrow": False},
        x=0,
        y=math.log10(check.tolerance),  # an annotation of a log axis is placed by powers
        xref="paper",
        xanchor="left",
        yanchor="bottom",
    )
    figure.update_xaxes(title="layer", tickformat="d", showgrid=False)
    figure.update_yaxes(title="largest difference of a weight", type="log", range=[-9.4, 0.2], exponentformat="e")
    finish(figure, height=HEIGHT, dark=dark)
    return figure


def _hover(layer: int, difference: float) -> str:
    if difference == float("inf"):
        return f"layer {layer}<br>weights in other places than the model's"
    return f"layer {layer}<br>{difference:.1e}"
