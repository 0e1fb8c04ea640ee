"""Small multiples: correct against incorrect answers in every layer (paper, figure 3a)."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from analysis.answer_sets.captions import signed
from analysis.answer_sets.gaps import Gaps
from analysis.figures.outcome import outcomes, words_instead
from analysis.figures.style import axis_look, layout_look, text_colour

_MOST_COLUMNS = 8
_PANEL_HEIGHT, _TITLE_HEIGHT, _TOP = 96, 34, 64  # pixels
_SPACE = 0.35  # between panels, in widths of a panel
_PARTS = ("lowerfence", "q1", "median", "q3", "upperfence")


class _Panel(NamedTuple):
    """Where a layer is drawn: the suffix of its axes, and its place on the paper."""

    axis: str
    x: tuple[float, float]
    y: tuple[float, float]


def gap_grid(gaps: Gaps, layers: Sequence[int], *, dark: bool = False) -> go.Figure:
    """A panel for each layer, on a scale of its own, with a box of correct and one of incorrect answers.

    Boxes hold the middle half of the answers, whiskers nine of ten, dashed is the mean. The title is the difference
    of the means, absolute and in percent, bold where its interval leaves out 0.
    """
    if not (gaps.correct.count.any() or gaps.incorrect.count.any()):
        return words_instead(next(filter(None, gaps.reasons), "there is no layer to look at"), height=200, dark=dark)
    num_rows = -(-len(layers) // _MOST_COLUMNS)
    height = num_rows * (_PANEL_HEIGHT + _TITLE_HEIGHT) - _TITLE_HEIGHT
    panels = _panels(len(layers), num_rows, height)
    titles = [_title(gaps, at, layer, panels[at], dark=dark) for at, layer in enumerate(layers)]
    boxes = [box for at, panel in enumerate(panels) for box in _boxes(gaps, at, panel, dark=dark)]
    layout = layout_look(height=height + _TOP) | _axes(panels, dark=dark) | {"annotations": titles}
    figure = go.Figure({"data": boxes, "layout": layout})  # at once: so many axes are slow to change
    text = {"color": text_colour(dark=dark)}
    legend = {"orientation": "h", "x": 0, "y": 1, "yref": "container", "yanchor": "top", "font": text}
    figure.update_layout(legend=legend, margin={"t": _TOP - 8, "r": 16})
    return figure


def _panels(count: int, num_rows: int, height: int) -> list[_Panel]:
    """Panels row by row, the rows as even as can be."""
    num_columns = -(-count // num_rows)
    width = 1 / (num_columns + (num_columns - 1) * _SPACE)
    panels = []
    for at in range(count):
        row, column = divmod(at, num_columns)
        left = column * width * (1 + _SPACE)
        top = 1 - row * (_PANEL_HEIGHT + _TITLE_HEIGHT) / height
        bottom = top - _PANEL_HEIGHT / height
        panels.append(_Panel(str(at + 1) if at else "", (left, min(left + width, 1)), (max(bottom, 0), top)))
    return panels


def _axes(panels: Sequence[_Panel], *, dark: bool) -> dict[str, Any]:
    look = axis_look(dark=dark)
    small = look | {"nticks": 3, "tickfont": look["tickfont"] | {"size": 10}}
    axes: dict[str, Any] = {}
    for panel in panels:
        axes[f"xaxis{panel.axis}"] = look | {"domain": panel.x, "anchor": f"y{panel.axis}", "visible": False}
        axes[f"yaxis{panel.axis}"] = small | {"domain": panel.y, "anchor": f"x{panel.axis}"}
    return axes


def _title(gaps: Gaps, at: int, layer: int, panel: _Panel, *, dark: bool) -> dict[str, Any]:
    difference, percent = gaps.absolute, gaps.percent
    words = "–"
    if not np.isnan(difference.value[at]):
        words = f"{signed(difference.value[at])}, {signed(percent.value[at], places=0)} %"
    if difference.low[at] > 0 or difference.high[at] < 0:
        words = f"<b>{words}</b>"
    place = {"x": sum(panel.x) / 2, "y": panel.y[1], "xref": "paper", "xanchor": "center"}
    place |= {"yref": "paper", "yanchor": "bottom"}
    font = {"size": 10, "color": text_colour(dark=dark)}
    return place | {"text": f"layer {layer}<br>{words}", "showarrow": False, "font": font}


def _boxes(gaps: Gaps, at: int, panel: _Panel, *, dark: bool) -> list[dict[str, Any]]:
    sides = zip((gaps.correct, gaps.incorrect), outcomes(dark=dark), strict=True)
    return [
        {
            **{part: [value] for part, value in zip(_PARTS, side.quantiles[:, at], strict=True)},
            "type": "box",
            "mean": [side.mean[at]],
            "boxmean": True,
            "x": [place],
            "xaxis": f"x{panel.axis}",
            "yaxis": f"y{panel.axis}",
            "width": 0.6,
            "yhoverformat": ".3f",
            "line": {"color": look.colour, "width": 1.4},
            "name": look.name,
            "legendgroup": look.name,
            "showlegend": bool(at == np.flatnonzero(side.count)[0]),
        }
        for place, (side, look) in enumerate(sides)
        if side.count[at]  # a box of undefined numbers would be drawn at 0
    ]
