"""How far the captured attention of each layer is from float64 weights, on a log scale, beside what is tolerated."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from analysis.figures.outcome import words_instead
from analysis.figures.style import ATTENTION, QUIET, UNCERTAINTY, finish

if TYPE_CHECKING:
    from rauq.capture.check import Check

HEIGHT = 300
_SMALLEST, _LARGEST = 1e-9, 1.0  # what is drawn: a difference of weights is at most 1, and 0 has no logarithm


def check_differences(check: "Check", *, dark: bool = False) -> go.Figure:
    """A dot for each layer, a cross where it is beyond its tolerance, and the model's own eager attention beside it."""
    if not check.differences:
        return words_instead("the model has no layer with attention", height=HEIGHT, dark=dark)
    beyond = [not found <= tolerated for found, tolerated in zip(check.differences, check.tolerances, strict=True)]
    figure = go.Figure()
    _add(figure, check, check.tolerances, name="tolerated", marker=_mark("line-ew-open", QUIET, size=16))
    if not all(map(math.isnan, check.eager_differences)):
        own = "eager attention, in the model's precision"
        _add(figure, check, check.eager_differences, name=own, marker=_mark("diamond-open", QUIET, size=9))
    colours = [UNCERTAINTY if off else ATTENTION for off in beyond]
    captured = {"size": 11, "color": colours, "symbol": ["x" if off else "circle" for off in beyond]}
    _add(figure, check, check.differences, name="captured", marker=captured)
    figure.update_xaxes(title="layer", tickformat="d", showgrid=False)
    figure.update_yaxes(title="difference from float64", type="log", range=[-9.4, 0.2], exponentformat="e")
    finish(figure, height=HEIGHT, dark=dark)
    return figure


def _add(figure: go.Figure, check: "Check", values: Sequence[float], *, name: str, marker: dict[str, object]) -> None:
    figure.add_scatter(
        x=list(check.layers),
        y=[min(max(value, _SMALLEST), _LARGEST) for value in values],
        text=[_hover(layer, value, name) for layer, value in zip(check.layers, values, strict=True)],
        mode="markers",
        name=name,
        marker=marker,
        hovertemplate="%{text}<extra></extra>",
    )


def _mark(symbol: str, colour: str, *, size: int) -> dict[str, object]:
    return {"symbol": symbol, "color": colour, "size": size, "line": {"width": 2}}


def _hover(layer: int, difference: float, name: str) -> str:
    if difference == float("inf"):
        return f"layer {layer}<br>weights at other positions than the model's"
    return f"layer {layer}<br>{name}: {difference:.1e}"
