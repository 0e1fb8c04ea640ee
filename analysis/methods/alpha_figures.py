"""RAUQ over alpha as figures: curves by attention, what real attention adds to them, and every group (figure 4)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from analysis.answer_sets.sentences import with_sign
from analysis.figures import ATTENTION, QUIET, UNCERTAINTY, empty_figure, finish, plotly_text, text_colour
from analysis.methods.attention_permutation import REPLACED, Exchange, Sweep
from analysis.methods.comparison import ALL, headline_groups, title_of
from analysis.stats import METRICS, Estimate, in_words


class _Look(NamedTuple):
    """How the curve of one attention is drawn, its band, and its points beside those of the others."""

    name: str
    colour: str
    band: str | None
    dash: str
    symbol: str
    shift: float


def _looks(*, dark: bool) -> Mapping[Exchange, _Look]:
    return {
        "shuffled": _Look("shuffled", ATTENTION, "rgba(63, 143, 204, 0.07)", "solid", "circle", -0.02),
        "constant": _Look("constant", QUIET, "rgba(139, 149, 161, 0.08)", "dot", "square", 0.0),
        "none": _Look("no attention", text_colour(dark=dark), None, "dash", "diamond-open", 0.02),
    }


_REAL_BAND = "rgba(232, 101, 10, 0.16)"
_HEIGHT, _ROWS, _GUTTER, _LINE = 560, (0.57, 0.43), 0.32, 17  # pixels; shares; in units of alpha; pixels of a label
_NARROW = 16  # pixels by which a name may stand out of the gutter of a narrow figure


def alpha_sweep(sweep: Sweep, *, dark: bool = False) -> go.Figure:
    """All answers, and the mean within groups: above RAUQ at every alpha by attention, below real attention minus each.

    Bands and bars are 95 % intervals, those below paired. A dotted line and a diamond mark the paper's alpha. A
    difference outside the axis, which alpha 0 does not stretch, is a triangle at its edge.
    """
    names = [name for name in headline_groups(sweep.groups) if sweep.best(name) is not None]
    if not names:
        return empty_figure(sweep.of_group(ALL)[0].reason, height=_HEIGHT // 2, dark=dark)
    figure = make_subplots(
        rows=2,
        cols=len(names),
        shared_xaxes="all",
        shared_yaxes="rows",
        row_heights=_ROWS,
        subplot_titles=[title_of(name) for name in names] if len(names) > 1 else None,
        horizontal_spacing=0.03,
        vertical_spacing=0.05,
    )
    figure.update_annotations(font={"size": 14, "color": text_colour(dark=dark)})
    span, reach = _span(sweep, names), _reach(sweep, names)
    for column, name in enumerate(names, start=1):
        for trace in _curves(sweep, name, bands=True, dark=dark):
            figure.add_trace(trace, row=1, col=column)
        for trace in _differences(sweep, name, reach, dark=dark):
            figure.add_trace(trace, row=2, col=column)
        figure.add_trace(_end_of_none(sweep, name, dark=dark), row=1, col=column)
        for note in (*_labels(sweep, name, span, dark=dark), _paper(sweep, dark=dark)):
            figure.add_annotation(note, row=1, col=column)
    figure.add_vline(x=sweep.paper_alpha, line={"color": QUIET, "width": 1.2, "dash": "dot"}, layer="below")
    figure.add_hline(y=0, row=2, col="all", line={"color": QUIET, "width": 1.2}, layer="below")
    figure.update_xaxes(range=[-_GUTTER, 1.04], tickvals=[0, 0.2, 0.4, 0.6, 0.8, 1], showgrid=False)
    figure.update_xaxes(title="alpha", row=2)
    figure.update_yaxes(title=METRICS[sweep.metric], range=span, nticks=7, row=1, col=1)
    figure.update_yaxes(title="real minus other", range=reach, nticks=6, row=2, col=1)
    figure.update_yaxes(ticklabelstandoff=_NARROW, col=1)
    finish(figure, height=_HEIGHT, dark=dark)
    figure.update_layout(showlegend=False, margin={"t": 34})
    return figure


def _span(sweep: Sweep, names: Sequence[str]) -> tuple[float, float]:
    """The ends of the axis of the metric: all intervals, and a little more."""
    each = [one for name in names for one in sweep.of_group(name)]
    each += [one.estimate for name in names for kind in REPLACED for one in sweep.under(kind, name)]
    ends = [end for one in each for end in (one.low, one.value, one.high)]
    low, high = np.nanmin(ends), np.nanmax(ends)
    room = 0.05 * max(high - low, 0.02)
    return float(low - room), float(high + room)


def _reach(sweep: Sweep, names: Sequence[str]) -> tuple[float, float]:
    """The ends of the axis of the differences: all intervals where alpha is above 0, and 0 itself."""
    later = [one.difference for name in names for kind in REPLACED for one in sweep.under(kind, name)[1:]]
    ends = [0.0, *(end for one in later for end in (one.low, one.value, one.high))]
    low, high = np.nanmin(ends), np.nanmax(ends)
    room = 0.12 * max(high - low, 0.002)
    return float(low - room), float(high + room)


def _curves(sweep: Sweep, group: str, *, bands: bool, dark: bool) -> Iterator[go.Scatter]:
    """The curves of the replaced attention, and over them that of the real one with the paper's value."""
    for kind, look in _looks(dark=dark).items():
        under = sweep.under(kind, group)
        estimates = [one.estimate for one in under]
        if bands and look.band:
            yield _band(sweep, estimates, look.band)
        notes = [f"<br>real minus it {with_sign(one.difference)}" for one in under]
        texts = [
            _hover(sweep, place, one, look.name) + note
            for place, (one, note) in enumerate(zip(estimates, notes, strict=True))
        ]
        yield _line(sweep, estimates, texts, look.name, {"color": look.colour, "width": 1.6, "dash": look.dash})
    real = sweep.of_group(group)
    texts = [_hover(sweep, place, one, "real") for place, one in enumerate(real)]
    yield _band(sweep, real, _REAL_BAND)
    yield _line(sweep, real, texts, "real", {"color": UNCERTAINTY, "width": 3})
    paper = sweep.alphas.index(sweep.paper_alpha)
    yield go.Scatter(
        x=[sweep.paper_alpha],
        y=[real[paper].value],
        text=[texts[paper]],
        hovertemplate="%{text}<extra></extra>",
        name="the paper's alpha",
        mode="markers",
        marker={"color": UNCERTAINTY, "size": 12, "symbol": "diamond"},
        showlegend=False,
    )


def _end_of_none(sweep: Sweep, group: str, *, dark: bool) -> go.Scatter:
    """The interval of the line of no attention, at its right end."""
    one, look = sweep.under("none", group)[-1].estimate, _looks(dark=dark)["none"]
    return go.Scatter(
        x=[1.025],
        y=[one.value],
        error_y={
            "array": [one.high - one.value],
            "arrayminus": [one.value - one.low],
            "color": look.colour,
            "thickness": 1.5,
            "width": 3,
        },
        mode="markers",
        marker={"color": look.colour, "size": 6, "symbol": look.symbol},
        text=[f"{look.name}<br>{METRICS[sweep.metric]} {in_words(one)}"],
        hovertemplate="%{text}<extra></extra>",
        showlegend=False,
    )


def _band(sweep: Sweep, estimates: Sequence[Estimate], colour: str) -> go.Scatter:
    return go.Scatter(
        x=[*sweep.alphas, *sweep.alphas[::-1]],
        y=[*(estimate.low for estimate in estimates), *(estimate.high for estimate in estimates[::-1])],
        fill="toself",
        fillcolor=colour,
        line={"width": 0},
        hoverinfo="skip",
        showlegend=False,
    )


def _line(sweep: Sweep, estimates: Sequence[Estimate], texts: list[str], name: str, line: dict[str, Any]) -> go.Scatter:
    return go.Scatter(
        x=sweep.alphas,
        y=[estimate.value for estimate in estimates],
        text=texts,
        hovertemplate="%{text}<extra></extra>",
        name=name,
        mode="lines",
        line=line,
        legendgroup=name,
    )


def _differences(sweep: Sweep, group: str, reach: tuple[float, float], *, dark: bool) -> Iterator[go.Scatter]:
    """Real attention minus each other at every alpha below 1, with paired intervals; side by side, not on one line."""
    for kind, look in _looks(dark=dark).items():
        found_at = [one.difference for one in sweep.under(kind, group)[:-1]]
        values = np.array([one.value for one in found_at])
        edge = 0.04 * (reach[1] - reach[0])
        outside = (values < reach[0]) | (values > reach[1])
        yield go.Scatter(
            x=np.array(sweep.alphas[:-1]) + look.shift,
            y=np.clip(values, reach[0] + edge, reach[1] - edge),
            error_y={
                "array": np.where(outside, 0, [one.high - one.value for one in found_at]),
                "arrayminus": np.where(outside, 0, [one.value - one.low for one in found_at]),
                "color": look.colour,
                "thickness": 1.5,
                "width": 0,
            },
            text=[
                f"alpha {alpha:g}<br>real minus {look.name} {with_sign(one)}"
                for alpha, one in zip(sweep.alphas, found_at, strict=False)
            ],
            hovertemplate="%{text}<extra></extra>",
            name=look.name,
            mode="markers",
            marker={
                "color": look.colour,
                "size": 6,
                "symbol": np.where(outside, np.where(values > 0, "triangle-up", "triangle-down"), look.symbol),
                "line": {"color": look.colour, "width": 1.5},
            },
            showlegend=False,
        )


def _labels(sweep: Sweep, group: str, span: tuple[float, float], *, dark: bool) -> list[dict[str, Any]]:
    """The names of the curves at their left ends, where they differ most, moved apart where they would touch."""
    ends = {"real": (UNCERTAINTY, sweep.of_group(group)[0].value)}
    for kind, look in _looks(dark=dark).items():
        ends[look.name] = (look.colour, sweep.under(kind, group)[0].estimate.value)
    names = sorted(ends, key=lambda name: ends[name][1])
    gap = (span[1] - span[0]) * _LINE / (_ROWS[0] * (_HEIGHT - 90))
    places = _apart([ends[name][1] for name in names], gap)
    return [
        {
            "text": f"{name} <span style='color:{ends[name][0]}'>\N{BLACK CIRCLE}</span>",
            "x": -0.02,
            "y": place,
            "xanchor": "right",
            "showarrow": False,
            "font": {"size": 12, "color": text_colour(dark=dark)},
        }
        for name, place in zip(names, places, strict=True)
        if not np.isnan(ends[name][1])
    ]


def _apart(places: Sequence[float], gap: float) -> np.ndarray:
    """Rising places moved apart until each is `gap` above the one before, around where they were."""
    steps = gap * np.arange(len(places))
    lowered = np.array(places) - steps
    rising = np.maximum.accumulate(lowered)
    falling = np.minimum.accumulate(lowered[::-1])[::-1]
    return (rising + falling) / 2 + steps


def _paper(sweep: Sweep, *, dark: bool) -> dict[str, Any]:
    late = sweep.paper_alpha > 0.5
    return {
        "text": f"the paper's alpha {sweep.paper_alpha:g} for {sweep.signal}",
        "x": sweep.paper_alpha,
        "y": 0.01,
        "yref": "y domain",
        "yanchor": "bottom",
        "xanchor": "right" if late else "left",
        "xshift": -3 if late else 3,
        "showarrow": False,
        "font": {"size": 11, "color": text_colour(dark=dark)},
    }


def _hover(sweep: Sweep, place: int, estimate: Estimate, name: str) -> str:
    alpha = sweep.alphas[place]
    paper = ", the paper's" if alpha == sweep.paper_alpha else ""
    return f"{name}, alpha {alpha:g}{paper}<br>{METRICS[sweep.metric]} {in_words(estimate)}<br>n = {estimate.n:,}"


_COLUMNS = 4
_PANEL, _LEGEND = 190, 80  # pixels


def _values_span(sweep: Sweep, names: Sequence[str]) -> tuple[float, float]:
    """The ends of the axis of small panels: all values; the intervals of a few answers would leave these no room."""
    each = [one.value for name in names for one in sweep.of_group(name)]
    each += [one.estimate.value for name in names for kind in REPLACED for one in sweep.under(kind, name)]
    low, high = np.nanmin(each), np.nanmax(each)
    room = 0.1 * max(high - low, 0.02)
    return float(low - room), float(high + room)


def alpha_groups(sweep: Sweep, *, dark: bool = False) -> go.Figure:
    """The curves of each group on axes of the same range, which wide bands may leave.

    A group where the metric is undefined has no panel.
    """
    there = [name for name in sweep.groups[2:] if sweep.best(name) is not None]
    if not there:
        return empty_figure("ranking is undefined in each group", height=_PANEL, dark=dark)
    rows, columns = -(-len(there) // _COLUMNS), min(len(there), _COLUMNS)
    figure = make_subplots(
        rows=rows,
        cols=columns,
        shared_xaxes="all",
        shared_yaxes="all",
        subplot_titles=[plotly_text(name) for name in there],
        horizontal_spacing=0.02,
        vertical_spacing=0.16 / rows,
    )
    figure.update_annotations(font={"size": 13, "color": text_colour(dark=dark)})
    for place, name in enumerate(there):
        row, column = divmod(place, columns)
        for trace in _curves(sweep, name, bands=False, dark=dark):
            figure.add_trace(
                trace.update(showlegend=bool(trace.showlegend is None and place == 0)), row=row + 1, col=column + 1
            )
    figure.add_vline(x=sweep.paper_alpha, line={"color": QUIET, "width": 1.2, "dash": "dot"}, layer="below")
    figure.update_xaxes(title="alpha", tickvals=[0, 0.5, 1], showgrid=False, row=rows)
    figure.update_yaxes(range=_values_span(sweep, there), nticks=5)
    figure.update_yaxes(title=METRICS[sweep.metric], col=1)
    finish(figure, height=rows * _PANEL + _LEGEND, dark=dark)
    legend = {
        "orientation": "h",
        "x": 0,
        "y": 1,
        "yref": "container",
        "yanchor": "top",
        "font": {"color": text_colour(dark=dark)},
    }
    figure.update_layout(legend=legend, margin={"t": 64})
    return figure
