"""Correct vs incorrect answers: attention along layers and distances (paper, figures 3a and 3c), and head by head."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from analysis.answer_sets.gaps import LEAST, Enough, Gaps, HeadGaps
from analysis.answer_sets.sentences import signed
from analysis.answer_sets.separation import Separation
from analysis.answer_sets.sides import Sides
from analysis.figures import (
    QUIET,
    VEIL,
    Look,
    axis_look,
    cells,
    empty_figure,
    finish,
    layout_look,
    outcomes,
    series,
    text_colour,
    upper_end,
)
from analysis.stats import Intervals

_GAP_COLUMNS_HEIGHT = 440
_SHIFT = 0.14  # of a column
_MOST_NAMED = 16
_AIR = 0.06  # of the whole axis


def gap_lines(
    gaps: HeadGaps, columns: Sequence[int], *, name: str, shown: int | None = None, dark: bool = False
) -> go.Figure:
    """Difference of the means with its interval in each column, absolute above and in percent below.

    `columns` are the numbers of the layers or distances, and `name` says which of the two they are; they are also the
    `customdata` of the points. A band marks the column `shown`.
    """
    if not np.isfinite(gaps.picked.absolute.value).any():
        return empty_figure(_reason(gaps.picked), height=_GAP_COLUMNS_HEIGHT, dark=dark)
    figure = make_subplots(rows=2, shared_xaxes=True, vertical_spacing=0.08)
    for own, look, shift in zip((gaps.picked, gaps.mean), series(), (-_SHIFT, _SHIFT), strict=True):
        for row, difference in enumerate((own.absolute, own.percent), start=1):
            line = _line(own, difference, look, columns, shift, name=name, percent=row == 2)
            figure.add_trace(line, row=row, col=1)
    absolute = _range(gaps.picked.absolute, gaps.mean.absolute)
    percent = _range(gaps.picked.percent, gaps.mean.percent)
    figure.update_yaxes(title="difference", tickformat="~g", range=absolute, row=1, col=1)
    figure.update_yaxes(title="in percent", ticksuffix=" %", tickformat="~g", range=percent, row=2, col=1)
    figure.add_hline(y=0, line={"color": QUIET, "width": 1})
    if shown is not None:
        figure.add_vrect(x0=shown - 0.5, x1=shown + 0.5, fillcolor=VEIL, line_width=0, layer="below")
    _finish(figure, columns, name, dark=dark)
    return figure


def distance_lines(enough: Enough, *, dark: bool = False) -> go.Figure:
    """The lines over the distances that enough answers have (paper, figure 3c), or why there are none."""
    if not enough.shown:
        reason = f"no distance has {LEAST} correct and {LEAST} incorrect answers"
        return empty_figure(reason, height=_GAP_COLUMNS_HEIGHT, dark=dark)
    return gap_lines(enough.gaps, enough.shown, name="preceding token", dark=dark)


def _reason(gaps: Gaps) -> str:
    return next(filter(None, gaps.reasons), "there is no layer")


def _range(*differences: Intervals) -> list[float]:
    """The range of all intervals with a margin, so that none ends at the edge."""
    ends = np.concatenate([[0.0], *((own.value, own.low, own.high) for own in differences)], axis=None)
    low, high = np.nanmin(ends).item(), np.nanmax(ends).item()
    air = _AIR * ((high - low) or 1.0)
    return [low - air, high + air]


def _line(
    gaps: Gaps, difference: Intervals, look: Look, columns: Sequence[int], shift: float, *, name: str, percent: bool
) -> go.Scatter:
    places, unit = (0, " %") if percent else (3, "")
    hover = [
        f"{name} {column} · {look.name}<br>{difference_words(difference, at, places=places, unit=unit)}<br>"
        f"{gaps.correct.count[at]:,} correct, {gaps.incorrect.count[at]:,} incorrect"
        for at, column in enumerate(columns)
    ]
    return go.Scatter(
        x=np.asarray(columns) + shift,
        y=difference.value,
        error_y={
            "array": difference.high - difference.value,
            "arrayminus": difference.value - difference.low,
            "thickness": 1.2,
            "width": 0,
        },
        customdata=list(columns),
        text=hover,
        hovertemplate="%{text}<extra></extra>",
        mode="lines+markers",
        unselected={"marker": {"opacity": 1}},
        line={"color": look.colour, "dash": look.dash, "width": 1.5},
        marker={"color": look.colour, "symbol": look.symbol, "size": 7},
        name=look.name,
        legendgroup=look.name,
        showlegend=not percent,
    )


def _finish(figure: go.Figure, columns: Sequence[int], name: str, *, dark: bool) -> None:
    step = 1 if len(columns) <= _MOST_NAMED else 4
    figure.update_xaxes(tickvals=list(columns[::step]), range=[min(columns) - 0.6, max(columns) + 0.6])
    figure.update_xaxes(title=name, row=2, col=1)
    legend = {"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0, "font": {"color": text_colour(dark=dark)}}
    finish(figure, height=_GAP_COLUMNS_HEIGHT, dark=dark)
    figure.update_layout(legend=legend, margin={"t": 30})


_GAP_DISTRIBUTIONS_HEIGHT = 440  # as the lines beside it
_MANY = 300  # points of a side: more are drawn small


def gap_distributions(gaps: HeadGaps, column: int, *, dark: bool = False) -> go.Figure:
    """Two panels, the selected head and the mean over heads: a box and a point for each answer of column `column`.

    Each panel has its own scale, from 0, and states its difference. `customdata` of a point is the answer's position.
    """
    if not (gaps.picked.correct.count[column] or gaps.picked.incorrect.count[column]):
        return empty_figure(gaps.picked.reasons[column], height=_GAP_DISTRIBUTIONS_HEIGHT, dark=dark)
    figure = make_subplots(rows=1, cols=2, horizontal_spacing=0.12)
    for panel, (own, look) in enumerate(zip((gaps.picked, gaps.mean), series(), strict=True), start=1):
        figure.add_traces(_boxes(own, column, dark=dark), rows=1, cols=panel)
        figure.add_annotation(_words(own, column, look.name, dark=dark), row=1, col=panel)
    figure.update_yaxes(rangemode="tozero", nticks=6)
    figure.update_yaxes(title="mean attention", col=1)
    finish(figure, height=_GAP_DISTRIBUTIONS_HEIGHT, dark=dark)
    figure.update_layout(margin={"t": 64}, showlegend=False, boxgap=0.25)
    return figure


def difference_words(difference: Intervals, column: int, *, places: int = 3, unit: str = "") -> str:
    """A difference with its sign and, where it has one, its interval."""
    ends = (difference.value, difference.low, difference.high)
    value, low, high = (signed(end[column], places=places) for end in ends)
    return f"{value}{unit}" if np.isnan(difference.low[column]) else f"{value}{unit} [{low}, {high}]"


def _boxes(gaps: Gaps, column: int, *, dark: bool) -> list[go.Box]:
    masks = (gaps.sides.correct, gaps.sides.incorrect)
    size = 3 if max(gaps.correct.count[column], gaps.incorrect.count[column]) > _MANY else 6
    return [
        _answer_box(gaps.values[:, column], mask, look, size)
        for mask, look in zip(masks, outcomes(dark=dark), strict=True)
    ]


def _answer_box(values: np.ndarray, mask: np.ndarray, look: Look, size: int) -> go.Box:
    """A box of the values (A,) in `mask` (A,), with points of `size` whose `customdata` is the answer's position."""
    rows = np.flatnonzero(mask & np.isfinite(values))
    return go.Box(
        y=values[rows].astype(np.float32),
        x=np.full(len(rows), f"{look.name}<br>n = {len(rows):,}"),
        customdata=rows,
        name=look.name,
        boxpoints="all",
        boxmean=True,
        jitter=0.7,
        pointpos=0,
        marker={"symbol": look.symbol, "size": size, "color": look.colour, "opacity": 0.5},
        line={"color": look.colour, "width": 1.6},
        fillcolor="rgba(0, 0, 0, 0)",
        hoveron="points",
        hovertemplate=f"{look.name}<br>attention %{{y:.3f}}<extra></extra>",
    )


def _words(gaps: Gaps, column: int, name: str, *, dark: bool) -> dict[str, Any]:
    if np.isnan(gaps.absolute.value[column]):
        below = gaps.reasons[column]
    else:
        absolute = difference_words(gaps.absolute, column)
        below = f"{absolute}<br>{difference_words(gaps.percent, column, places=0, unit=' %')}"
    place = {"x": 0.5, "y": 1, "xref": "x domain", "yref": "y domain", "yanchor": "bottom", "showarrow": False}
    return place | {"text": f"<b>{name}</b><br>{below}", "font": {"color": text_colour(dark=dark)}}


_MOST_COLUMNS = 6
_PANEL_HEIGHT, _TITLE_HEIGHT, _TOP = 124, 50, 84  # pixels
_PANEL_FONT, _LEGEND_FONT = 15, 17  # pixels: to be read from the back of a room
_SPACE = 0.35  # between panels, in widths of a panel
_PARTS = ("lowerfence", "q1", "median", "q3", "upperfence")


class _Panel(NamedTuple):
    """Where a layer is drawn: the suffix of its axes, and its place in the figure."""

    axis: str
    x: tuple[float, float]
    y: tuple[float, float]


def gap_grid(gaps: Gaps, layers: Sequence[int], *, dark: bool = False) -> go.Figure:
    """A panel for each layer, on a scale of its own, with a box of correct and one of incorrect answers.

    Boxes hold the interquartile range, whiskers 90 % of the answers; the dashed line is the mean. The title is the
    difference of the means, absolute and in percent, bold where its interval excludes 0.
    """
    if not (gaps.correct.count.any() or gaps.incorrect.count.any()):
        return empty_figure(next(filter(None, gaps.reasons), "there is no layer"), height=200, dark=dark)
    num_rows = -(-len(layers) // _MOST_COLUMNS)
    height = num_rows * (_PANEL_HEIGHT + _TITLE_HEIGHT) - _TITLE_HEIGHT
    panels = _panels(len(layers), num_rows, height)
    titles = [_title(gaps, at, layer, panels[at], dark=dark) for at, layer in enumerate(layers)]
    boxes = [box for at, panel in enumerate(panels) for box in _small_boxes(gaps, at, panel, dark=dark)]
    layout = layout_look(height=height + _TOP) | _axes(panels, dark=dark) | {"annotations": titles}
    figure = go.Figure({"data": boxes, "layout": layout})  # at once: so many axes are slow to change
    text = {"color": text_colour(dark=dark), "size": _LEGEND_FONT}
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
    small = look | {"nticks": 3, "tickfont": look["tickfont"] | {"size": _PANEL_FONT - 2}}
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
    font = {"size": _PANEL_FONT, "color": text_colour(dark=dark)}
    return place | {"text": f"layer {layer}<br>{words}", "showarrow": False, "font": font}


def _small_boxes(gaps: Gaps, at: int, panel: _Panel, *, dark: bool) -> list[dict[str, Any]]:
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
            "line": {"color": look.colour, "width": 2.2},
            "name": look.name,
            "legendgroup": look.name,
            "showlegend": bool(at == np.flatnonzero(side.count)[0]),
        }
        for place, (side, look) in enumerate(sides)
        if side.count[at]  # a box of undefined numbers would be drawn at 0
    ]


_ROW_HEIGHT, _REST, _HIGHEST = 24, 84, 520  # pixels
_MOST_TICKS = 32
# Orange through the page's colour to blue: told apart by every common colour vision.
_SCALE = ("#b34700", "#f0a868", "#f4f5f7", "#7fb2dd", "#0f559c")
_SCALE_AT_NIGHT = ("#ff9d4d", "#8f5526", "#20252c", "#2b659b", "#7cc0ff")


def head_map(
    separation: Separation,
    layers: Sequence[int],
    *,
    used: Sequence[int] = (),
    selected: Sequence[tuple[int, int]] = (),
    shown: tuple[int, int] | None = None,
    end: float | None = None,
    narrow: bool = False,
    dark: bool = False,
) -> go.Figure:
    """Map of the areas under the ROC curve: a column for each layer, a row for each head, colours symmetric around 0.5.

    `used`: the layers of RAUQ, framed. `selected` (layer, head) have a ring, `shown` a square. `end`: the distance from
    0.5 at which the colours end, by default that of the strongest head. `narrow`: on half a page. An invisible point
    over each cell can be clicked: its `customdata` is row * H + head, row being the layer's position.
    """
    if separation.best is None:
        return empty_figure(separation.labelled.reason, height=200, dark=dark)
    end = scale_end(separation) if end is None else end
    scale = [[at / 4, colour] for at, colour in enumerate(_SCALE_AT_NIGHT if dark else _SCALE)]
    heat = cells(separation.auc.T, title="ROC-AUC", low=0.5 - end, high=0.5 + end, scale=scale, dark=dark)
    heat.update(hoverinfo="skip", colorbar={"tickformat": ".2f"})
    figure = go.Figure([heat, *_rings(selected, layers), _points(separation, layers)])
    _frame(figure, layers, used, separation.auc.shape[1], dark=dark)
    if shown is not None:
        column = layers.index(shown[0])
        _box(figure, (column - 0.5, column + 0.5), (shown[1] - 0.5, shown[1] + 0.5), 3, dark=dark)
    _map_axes(figure, layers, separation.auc.shape[1], narrow=narrow)
    finish(figure, height=min(_ROW_HEIGHT * separation.auc.shape[1] + _REST, _HIGHEST), dark=dark)
    figure.update_layout(margin={"t": 24}, showlegend=False)
    return figure


def scale_end(*several: Separation) -> float:
    """The distance from 0.5 at which the colours end, for maps that share a scale."""
    return min(upper_end(np.abs(np.stack([found.auc for found in several]) - 0.5), parts=20), 0.5)


def _map_axes(figure: go.Figure, layers: Sequence[int], num_heads: int, *, narrow: bool) -> None:
    plain = {"showgrid": False, "showline": False, "ticks": ""}
    columns = list(range(0, len(layers), 1 if len(layers) <= _MOST_TICKS // (1 + narrow) else 4))
    names = [str(layers[column]) for column in columns]
    figure.update_xaxes(plain, title="layer", tickvals=columns, ticktext=names, range=[-0.6, len(layers) - 0.4])
    step = 1 if num_heads <= _MOST_TICKS // 2 else 4
    figure.update_yaxes(plain, title="head", dtick=step, range=[num_heads - 0.4, -0.6])


def _frame(figure: go.Figure, layers: Sequence[int], used: Sequence[int], num_heads: int, *, dark: bool) -> None:
    """A dashed frame around the layers used by RAUQ, from the first to the last of those that there are."""
    columns = [layers.index(layer) for layer in used if layer in layers]
    if not columns:
        return
    ends = (min(columns) - 0.5, max(columns) + 0.5)
    _box(figure, ends, (-0.5, num_heads - 0.5), 1.5, dash="dash", dark=dark)
    figure.add_annotation(
        x=sum(ends) / 2,
        y=1,
        yref="y domain",
        yanchor="bottom",
        text="layers used by RAUQ",
        font={"color": text_colour(dark=dark), "size": 12},
        showarrow=False,
    )


def _box(
    figure: go.Figure, x: tuple[float, float], y: tuple[float, float], width: float, *, dark: bool, dash: str = "solid"
) -> None:
    line = {"color": text_colour(dark=dark), "width": width, "dash": dash}
    figure.add_shape(type="rect", x0=x[0], x1=x[1], y0=y[0], y1=y[1], line=line)


def _rings(selected: Sequence[tuple[int, int]], layers: Sequence[int]) -> list[go.Scatter]:
    """Rings that are dark outside and light inside, so that they contrast with any cell."""
    return [
        go.Scatter(
            x=[layers.index(layer) for layer, _ in selected],
            y=[head for _, head in selected],
            mode="markers",
            name=name,
            marker={"symbol": "circle-open", "size": 10, "color": colour, "line": {"width": width}},
            hoverinfo="skip",
        )
        for colour, width, name in (("#10233f", 3.5, "edge"), ("#ffffff", 1.6, "selected head"))
    ]


def _points(separation: Separation, layers: Sequence[int]) -> go.Scatter:
    """Invisible points that receive clicks, because heatmap cells cannot be selected in Streamlit."""
    rows, heads = (each.ravel() for each in np.indices(separation.auc.shape))
    return go.Scatter(
        x=rows,
        y=heads,
        customdata=np.arange(separation.auc.size),
        text=[
            f"layer {layers[row]} · head {head}<br>ROC-AUC {separation.auc[row, head]:.3f}"
            for row, head in zip(rows.tolist(), heads.tolist(), strict=True)
        ],
        mode="markers",
        marker={"symbol": "square", "size": 18, "color": "#8b95a1", "opacity": 0},
        selected={"marker": {"opacity": 0}},
        unselected={"marker": {"opacity": 0}},
        meta="heads",
        name="heads",
        hovertemplate="%{text}<extra></extra>",
    )


_ANSWERS_HEIGHT = 300


def head_answers(values: np.ndarray, sides: Sides, *, dark: bool = False) -> go.Figure:
    """Mean attention (A,) of one head in correct and in incorrect answers; a point's `customdata` is its position."""
    known = np.isfinite(values)
    counts = [int((mask & known).sum()) for mask in (sides.correct, sides.incorrect)]
    if not sum(counts):
        return empty_figure("no correct or incorrect answer has attention", height=_ANSWERS_HEIGHT, dark=dark)
    size = 3 if max(counts) > _MANY else 6
    masks = zip((sides.correct, sides.incorrect), outcomes(dark=dark), strict=True)
    figure = go.Figure([_answer_box(values, mask, look, size) for mask, look in masks])
    figure.update_yaxes(nticks=6, title="mean attention")
    finish(figure, height=_ANSWERS_HEIGHT, dark=dark)
    figure.update_layout(showlegend=False, boxgap=0.25)
    return figure
