"""The figures of a comparison of methods: intervals, curves, and maps."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from analysis.figures import (
    ATTENTION,
    QUIET,
    SPACE,
    UNCERTAINTY,
    Row,
    cells,
    difference_row,
    difference_scale,
    empty_figure,
    finish,
    interval_panels,
    outcomes,
    text_colour,
)
from analysis.methods.added_heads import ADDED_NAMES, AddedHeads
from analysis.methods.agreement import MethodAgreement
from analysis.methods.attention_permutation import EXCHANGES, GroupControl
from analysis.methods.comparison import RAUQ, Metric, Rejections, headline_groups, name_of, title_of
from analysis.stats import METRICS, Estimate
from rauq.labels import number

_CHANCE = {"prr": 0.0, "roc_auc": 0.5}


_Columns = Mapping[str, Sequence[Estimate]]  # of all methods, by the name of the group


def method_intervals(methods: Sequence[str], columns: _Columns, *, metric: Metric, dark: bool = False) -> go.Figure:
    """The estimates (M,) of the methods, by id, in each of the groups; RAUQ stands out, chance is marked.

    The order is that of the first group. A method whose estimates are all undefined has no row.
    """
    order, reason = _ordered(columns, best=-1), _reason(columns, "no method is selected")
    panels = {
        title_of(name): [_row(methods[place], estimates[place]) for place in order]
        for name, estimates in columns.items()
    }
    return interval_panels(panels, title=METRICS[metric], reference=_CHANCE[metric], reason=reason, dark=dark)


def _ordered(columns: _Columns, *, best: int) -> list[int]:
    """The methods that are defined somewhere, in the order of the first column: from the highest for -1."""
    first = next(iter(columns.values()))
    order = np.argsort([best * found.value for found in first], kind="stable").tolist()
    return [place for place in order if not all(np.isnan(column[place].value) for column in columns.values())]


def _reason(columns: _Columns, without: str) -> str:
    return next((found.reason for column in columns.values() for found in column), without)


def _row(method: str, estimate: Estimate) -> Row:
    if method == RAUQ:
        return Row(name_of(method), estimate, UNCERTAINTY, symbol="diamond", bold=True)
    return Row(name_of(method), estimate, ATTENTION)


def paired_differences(
    base: str, methods: Sequence[str], columns: _Columns, *, metric: Metric, dark: bool = False
) -> go.Figure:
    """The differences (M,) of `base` and the methods, by id, in each of the groups: 0 is marked.

    The order is that of a ranking in the first group, the best method on top.

    Teal, a circle: `base` ranks better; violet, a diamond: worse; grey, an open circle: not significant. A method whose
    differences are all undefined has no row.
    """
    order, reason = _ordered(columns, best=1), _reason(columns, "there is no other method")
    panels = {
        title_of(name): [difference_row(name_of(methods[place]), differences[place], dark=dark) for place in order]
        for name, differences in columns.items()
    }
    title = f"{METRICS[metric]} of {name_of(base)} minus that of the method"
    return interval_panels(panels, title=title, reference=0.0, reason=reason, dark=dark)


def control_differences(controls: Sequence[GroupControl], *, dark: bool = False) -> go.Figure:
    """The differences of every group, exchange by exchange, in bold what stands for the run; 0 is marked.

    Teal, a circle: the real attention ranks better; violet, a diamond: worse; grey, an open circle: the interval holds
    0. Undefined differences have no row.
    """
    headline = headline_groups([control.group for control in controls])
    rows = [
        difference_row(f"{control.group} · {EXCHANGES[one.exchange]}", one.difference, dark=dark)._replace(
            bold=control.group in headline
        )
        for control in controls
        for one in control.exchanged
        if not one.difference.reason
    ]
    metric = METRICS[controls[0].metric] if controls else ""
    reason = next((control.real.reason for control in controls if control.real.reason), "no group has two answers")
    title = f"{metric}, real minus replaced attention"
    return interval_panels({"": rows}, title=title, reference=0.0, reason=reason, dark=dark)


_REJECTION_CURVES_HEIGHT = 430
# Lines of other methods: hues that differ in every kind of colour vision, and on a light and a dark page.
_COLOURS = ("#3f8fcc", "#0f9d76", "#c766a6", "#a08a1e", "#7a6fd0", "#8a5a44")
_DASHES = ("solid", "dash", "dashdot", "longdash")


def rejection_curves(rejections: Rejections, *, dark: bool = False) -> go.Figure:
    """A line for each method, RAUQ the thickest, between the oracle above and a random order, which is level.

    The PRR uses the part left of the vertical line, at half of the answers.
    """
    if not rejections.n:
        reason = "no answer has a quality and an uncertainty of each of these methods"
        return empty_figure(reason, height=_REJECTION_CURVES_HEIGHT, dark=dark)
    figure = go.Figure()
    first, ink = rejections.curves[0], text_colour(dark=dark)
    _line(figure, first.rejected, first.oracle, name="oracle", line={"color": ink, "width": 1.5, "dash": "dash"})
    _line(figure, first.rejected, first.random, name="random", line={"color": QUIET, "width": 1.5, "dash": "dot"})
    for place, (method, curve) in enumerate(zip(rejections.methods, rejections.curves, strict=True)):
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


def agreement_map(agreement: MethodAgreement, *, dark: bool = False) -> go.Figure:
    """Heatmap of Spearman's correlation, from -1 in violet to 1 in teal; undefined ones stay empty."""
    if np.isnan(agreement.correlations).all():
        reason = "fewer than two methods rank the answers" if agreement.methods else "no method is selected"
        return empty_figure(reason, height=200, dark=dark)
    names = [name_of(method) for method in agreement.methods]
    scale = difference_scale(outcomes(dark=dark), dark=dark)
    heat = cells(agreement.correlations, title="Spearman", low=-1, high=1, scale=scale, dark=dark)
    heat.update(x=names, y=names, customdata=agreement.counts, text=_written(agreement.correlations))
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


_LABELS_HEIGHT = 240


def added_heads_chart(added_heads: AddedHeads, *, dark: bool = False) -> go.Figure:
    """PRR with each addition to RAUQ minus that of RAUQ alone, as means within groups with their intervals.

    The interval of random heads holds 95 % of the draws.
    """
    rows = []
    if not added_heads.reason:
        low, high = np.quantile(added_heads.random, (0.025, 0.975)).tolist()
        draws = Estimate(float(added_heads.random.mean()), low, high, added_heads.rauq.n, added_heads.rauq.excluded)
        first, *others = (
            difference_row(words.format(k=added_heads.k), added_heads.differences[name], dark=dark)
            for name, words in ADDED_NAMES.items()
            if name in added_heads.differences
        )
        rows = [first._replace(bold=True), Row(f"{added_heads.k} random heads", draws, QUIET, "line-ns-open"), *others]
    title = "PRR minus that of RAUQ alone"
    return interval_panels({"": rows}, title=title, reference=0.0, reason=added_heads.reason, dark=dark)


def labels_chart(added_heads: AddedHeads, *, dark: bool = False) -> go.Figure:
    """The mean difference to RAUQ by the number of labelled answers that choose heads, with the range of the draws."""
    if not added_heads.labels:
        reason = added_heads.reason or "fewer than 30 labelled answers are left without any one group"
        return empty_figure(reason, height=_LABELS_HEIGHT, dark=dark)
    mean = np.array([label.mean for label in added_heads.labels])
    figure = go.Figure(
        go.Scatter(
            x=[f"{label.n:,}" for label in added_heads.labels],
            y=mean,
            error_y={
                "array": [label.high - label.mean for label in added_heads.labels],
                "arrayminus": [label.mean - label.low for label in added_heads.labels],
                "thickness": 2,
                "width": 4,
            },
            mode="lines+markers",
            marker={"size": 9, "color": ATTENTION},
            line={"color": ATTENTION, "width": 1.5},
            hovertemplate="%{x} labelled answers<br>%{y:+.3f}<extra></extra>",
            showlegend=False,
        )
    )
    figure.add_hline(y=0, line={"color": QUIET, "width": 1.2, "dash": "dot"}, layer="below")
    figure.update_xaxes(title="labelled answers that choose heads", type="category", showgrid=False)
    figure.update_yaxes(title="minus RAUQ alone", nticks=6)
    finish(figure, height=_LABELS_HEIGHT, dark=dark)
    return figure
