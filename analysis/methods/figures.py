"""The figures of a comparison of methods: intervals, curves, and maps."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from analysis.figures import (
    ATTENTION,
    QUIET,
    SPACE,
    UNCERTAINTY,
    VEIL,
    Row,
    cells,
    difference_scale,
    empty_figure,
    finish,
    interval_rows,
    looks,
    plotly_text,
    text_colour,
)
from analysis.methods.ablations import Sweep
from analysis.methods.agreement import MethodAgreement
from analysis.methods.attention_permutation import EXCHANGES, GroupControl
from analysis.methods.comparison import RAUQ, Metric, name_of
from analysis.methods.rejections import Rejections
from analysis.stats import METRICS, Estimate, in_words
from rauq.labels import number

_CHANCE = {"prr": 0.0, "roc_auc": 0.5}


def method_intervals(
    methods: Sequence[str], estimates: Sequence[Estimate], *, metric: Metric, dark: bool = False
) -> go.Figure:
    """The estimates (M,) of the methods, by id, in one group or as means; RAUQ stands out, chance is marked.

    A method whose estimate is undefined has no row.
    """
    order = np.argsort([-found.value for found in estimates], kind="stable")
    rows = [_row(methods[place], estimates[place]) for place in order if not np.isnan(estimates[place].value)]
    reason = next((found.reason for found in estimates), "no method is selected")
    return interval_rows(rows, title=METRICS[metric], reference=_CHANCE[metric], reason=reason, dark=dark)


def _row(method: str, found: Estimate) -> Row:
    if method == RAUQ:
        return Row(name_of(method), found, UNCERTAINTY, symbol="diamond", bold=True)
    return Row(name_of(method), found, ATTENTION)


def paired_differences(
    base: str, methods: Sequence[str], differences: Sequence[Estimate], *, metric: Metric, dark: bool = False
) -> go.Figure:
    """The differences (M,) of `base` and the methods, by id, the smallest on top: 0 is marked.

    The order is that of a ranking, the best method on top.

    Teal, a circle: `base` ranks better; violet, a diamond: worse; grey, an open circle: not significant. Undefined
    differences have no row.
    """
    order = np.argsort([found.value for found in differences], kind="stable")
    there = [place for place in order if not differences[place].reason]
    rows = [difference_row(name_of(methods[place]), differences[place], dark=dark) for place in there]
    title = f"{METRICS[metric]} of {name_of(base)} minus that of the method"
    reason = next((found.reason for found in differences), "there is no other method")
    return interval_rows(rows, title=title, reference=0.0, reason=reason, dark=dark)


def difference_row(name: str, found: Estimate, *, dark: bool) -> Row:
    """A row of a difference, whose look says whether it is significant, and its sign."""
    better, worse = looks(dark=dark)
    if found.low > 0:
        return Row(name, found, better.colour, better.symbol)
    if found.high < 0:
        return Row(name, found, worse.colour, worse.symbol)
    return Row(name, found, QUIET, "circle-open")


def control_differences(controls: Sequence[GroupControl], *, dark: bool = False) -> go.Figure:
    """The differences of every group, exchange by exchange; 0 is marked.

    Teal, a circle: the real attention ranks better; violet, a diamond: worse; grey, an open circle: the interval holds
    0. Undefined differences have no row.
    """
    rows = [
        difference_row(f"{control.group} · {EXCHANGES[one.exchange]}", one.difference, dark=dark)
        for control in controls
        for one in control.exchanged
        if not one.difference.reason
    ]
    metric = METRICS[controls[0].metric] if controls else ""
    reason = next((control.real.reason for control in controls if control.real.reason), "no group has two answers")
    return interval_rows(
        rows, title=f"{metric}, real minus replaced attention", reference=0.0, reason=reason, dark=dark
    )


_REJECTION_CURVES_HEIGHT = 430
# Lines of other methods: hues that differ in every kind of colour vision, and on a light and a dark page.
_COLOURS = ("#3f8fcc", "#0f9d76", "#c766a6", "#a08a1e", "#7a6fd0", "#8a5a44")
_DASHES = ("solid", "dash", "dashdot", "longdash")


def rejection_curves(found: Rejections, *, dark: bool = False) -> go.Figure:
    """A line for each method, RAUQ the thickest, between the oracle above and a random order, which is level.

    The PRR uses the part left of the vertical line, at half of the answers.
    """
    if not found.n:
        reason = "no answer has a quality and an uncertainty of each of these methods"
        return empty_figure(reason, height=_REJECTION_CURVES_HEIGHT, dark=dark)
    figure = go.Figure()
    first, ink = found.curves[0], text_colour(dark=dark)
    _line(figure, first.rejected, first.oracle, name="oracle", line={"color": ink, "width": 1.5, "dash": "dash"})
    _line(figure, first.rejected, first.random, name="random", line={"color": QUIET, "width": 1.5, "dash": "dot"})
    for place, (method, curve) in enumerate(zip(found.methods, found.curves, strict=True)):
        _line(figure, curve.rejected, curve.kept_quality, name=name_of(method), line=_look(method, place))
    figure.update_traces(zorder=1, selector={"name": name_of(RAUQ)})
    figure.add_vline(x=50, line={"color": QUIET, "width": 1}, layer="below")
    figure.update_xaxes(title="rejected answers", ticksuffix=" %", nticks=8, showgrid=False)
    figure.update_yaxes(title="mean quality of the rest", nticks=6)
    finish(figure, height=_REJECTION_CURVES_HEIGHT, dark=dark)
    figure.update_layout(hovermode="x unified", legend={"font": {"color": ink}, "traceorder": "normal"})
    return figure


def _look(method: str, place: int) -> dict[str, object]:
    if method == RAUQ:
        return {"color": UNCERTAINTY, "width": 3.5}
    turn, colour = divmod(place, len(_COLOURS))
    return {"color": _COLOURS[colour], "width": 2, "dash": _DASHES[turn % len(_DASHES)]}


def _line(figure: go.Figure, rejected: np.ndarray, quality: np.ndarray, *, name: str, line: dict[str, object]) -> None:
    figure.add_scatter(
        x=100 * rejected.astype(np.float32),
        y=quality.astype(np.float32),
        mode="lines",
        name=name,
        line=line,
        hovertemplate="%{y:.3f}",
    )


_ROW_HEIGHT, _REST = 26, 150  # pixels
_MOST_WRITTEN = 14  # methods: the numbers of more do not fit into the cells


def agreement_map(found: MethodAgreement, *, dark: bool = False) -> go.Figure:
    """Heatmap of Spearman's correlation, from -1 in violet to 1 in teal; undefined ones stay empty."""
    if np.isnan(found.correlations).all():
        reason = "fewer than two methods rank the answers" if found.methods else "no method is selected"
        return empty_figure(reason, height=200, dark=dark)
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


_MOST_COLUMNS = 4
_PANEL_HEIGHT, _OTHER_GROUPS = 210, 60  # pixels


def alpha_sweep(found: Sweep, *, dark: bool = False) -> go.Figure:
    """The metric at every alpha with the band of its intervals; all panels have the same axes.

    A line and a diamond mark the paper's alpha. A group where the metric is undefined has no panel.
    """
    there = [name for name in found.groups if found.best(name) is not None]
    if not there:
        reason = next((row[0].reason for row in found.estimates), "there is no group")
        return empty_figure(reason, height=_PANEL_HEIGHT, dark=dark)
    num_columns = min(len(there), _MOST_COLUMNS)
    num_rows = -(-len(there) // num_columns)
    figure = make_subplots(
        rows=num_rows,
        cols=num_columns,
        shared_xaxes="all",
        shared_yaxes="all",
        subplot_titles=[plotly_text(name) for name in there],
        horizontal_spacing=0.02,
        vertical_spacing=0.12 / num_rows,
    )
    for place, name in enumerate(there):
        row, column = divmod(place, num_columns)
        for trace in _panel(found, name):
            figure.add_trace(trace, row=row + 1, col=column + 1)
    figure.add_vline(x=found.paper_alpha, line={"color": QUIET, "width": 1.2, "dash": "dot"}, layer="below")
    figure.update_xaxes(title="alpha", tickvals=[0, 0.5, 1], row=num_rows)
    figure.update_yaxes(title=METRICS[found.metric], nticks=6, col=1)
    finish(figure, height=num_rows * _PANEL_HEIGHT + _OTHER_GROUPS, dark=dark)
    figure.update_annotations(font={"size": 13, "color": text_colour(dark=dark)})
    figure.update_layout(showlegend=False, margin={"t": 30})
    return figure


def _panel(found: Sweep, group: str) -> list[go.Scatter]:
    estimates = found.of_group(group)
    paper = found.alphas.index(found.paper_alpha)
    hover = [_hover(found, place, one) for place, one in enumerate(estimates)]
    band = {
        "x": [*found.alphas, *found.alphas[::-1]],
        "y": [*(one.low for one in estimates), *(one.high for one in estimates[::-1])],
    }
    points = {"hovertemplate": "%{text}<extra></extra>", "name": plotly_text(group)}
    return [
        go.Scatter(**band, fill="toself", fillcolor=VEIL, line={"width": 0}, hoverinfo="skip"),
        go.Scatter(
            **points,
            x=found.alphas,
            y=_values(estimates),
            text=hover,
            mode="lines+markers",
            line={"color": ATTENTION, "width": 2},
            marker={"size": 5},
        ),
        go.Scatter(
            **points,
            x=[found.paper_alpha],
            y=_values(estimates[paper : paper + 1]),
            text=hover[paper : paper + 1],
            mode="markers",
            marker={"color": UNCERTAINTY, "size": 11, "symbol": "diamond"},
        ),
    ]


def _values(estimates: Sequence[Estimate]) -> np.ndarray:
    return np.array([one.value for one in estimates])


def _hover(found: Sweep, place: int, one: Estimate) -> str:
    alpha = found.alphas[place]
    paper = ", the paper's" if alpha == found.paper_alpha else ""
    return f"alpha {alpha:g}{paper}<br>{METRICS[found.metric]} {in_words(one)}<br>n = {one.n:,}"
