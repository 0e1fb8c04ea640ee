"""Small multiples: correct against incorrect answers in every layer (paper, figure 3a)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from analysis.answer_sets.captions import signed
from analysis.answer_sets.gaps import Gaps
from analysis.figures.outcome import outcomes, words_instead
from analysis.figures.style import finish, text_colour

_MOST_COLUMNS = 8
_PANEL_HEIGHT, _TITLE_HEIGHT, _TOP = 96, 34, 64  # pixels


def gap_grid(gaps: Gaps, layers: Sequence[int], *, dark: bool = False) -> go.Figure:
    """A panel for each layer, on a scale of its own, with a box of correct and one of incorrect answers.

    Boxes hold the middle half of the answers, whiskers nine of ten, dashed is the mean. The title is the difference
    of the means, absolute and in percent, bold where its interval leaves out 0.
    """
    if not (gaps.correct.count.any() or gaps.incorrect.count.any()):
        return words_instead(next(filter(None, gaps.reasons), "there is no layer to look at"), height=200, dark=dark)
    num_columns = -(-len(layers) // -(-len(layers) // _MOST_COLUMNS))  # rows as even as can be
    num_rows = -(-len(layers) // num_columns)
    height = num_rows * (_PANEL_HEIGHT + _TITLE_HEIGHT) - _TITLE_HEIGHT
    spacing = {"vertical_spacing": _TITLE_HEIGHT / height, "horizontal_spacing": 0.35 / num_columns}
    titles = [_title(gaps, at, layer) for at, layer in enumerate(layers)]
    figure = make_subplots(rows=num_rows, cols=num_columns, subplot_titles=titles, **spacing)
    figure.update_annotations(font={"size": 10, "color": text_colour(dark=dark)})
    for at in range(len(layers)):
        row, column = divmod(at, num_columns)
        figure.add_traces(_boxes(gaps, at, dark=dark), rows=row + 1, cols=column + 1)
    figure.update_xaxes(visible=False)
    figure.update_yaxes(nticks=3)
    finish(figure, height=height + _TOP, dark=dark)
    legend = {"orientation": "h", "x": 0, "y": 1, "yref": "container", "yanchor": "top"}
    figure.update_layout(legend=legend | {"font": {"color": text_colour(dark=dark)}}, margin={"t": _TOP - 8, "r": 16})
    figure.update_yaxes(tickfont={"size": 10, "color": text_colour(dark=dark)})
    return figure


def _title(gaps: Gaps, at: int, layer: int) -> str:
    difference, percent = gaps.absolute, gaps.percent
    if np.isnan(difference.value[at]):
        return f"layer {layer}<br>–"
    words = f"{signed(difference.value[at])}, {signed(percent.value[at], places=0)} %"
    leaves_out_0 = difference.low[at] > 0 or difference.high[at] < 0
    return f"layer {layer}<br>{f'<b>{words}</b>' if leaves_out_0 else words}"


def _boxes(gaps: Gaps, at: int, *, dark: bool) -> list[go.Box]:
    return [
        _box(side.quantiles[:, at], side.mean[at]).update(
            x=[place],
            name=look.name,
            legendgroup=look.name,
            showlegend=at == 0,
            line={"color": look.colour, "width": 1.4},
        )
        for place, (side, look) in enumerate(
            zip((gaps.correct, gaps.incorrect), outcomes(dark=dark), strict=True),
        )
    ]


def _box(quantiles: np.ndarray, mean: float) -> Any:  # noqa: ANN401 - plotly has no types
    names = ("lowerfence", "q1", "median", "q3", "upperfence")
    parts = {name: [value] for name, value in zip(names, quantiles, strict=True)}
    return go.Box(**parts, mean=[mean], boxmean=True, width=0.6, yhoverformat=".3f")
