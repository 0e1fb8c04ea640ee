"""The figures of the page Evidence, with their numbers: those of records, by their columns, and the attention check."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, NamedTuple

import plotly.graph_objects as go

from analysis.evidence import sentences
from analysis.evidence.record import Cell, Record
from analysis.figures import (
    ATTENTION,
    QUIET,
    SPACE,
    UNCERTAINTY,
    difference_row,
    empty_figure,
    finish,
    interval_panels,
    plotly_text,
    text_colour,
)
from analysis.stats import Estimate

if TYPE_CHECKING:
    from rauq.capture.check import Check

_TOLERANCE = "tolerance"
_DIFFERENCES = frozenset({_TOLERANCE})  # the column of a record that has `margins`


class Series(NamedTuple):
    """One way to compare: the largest difference of each row; 0 where there is none."""

    name: str
    values: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Margins:
    """R rows by their names, what was compared of them, and what is tolerated (R,)."""

    names: tuple[str, ...]
    series: tuple[Series, ...]
    tolerated: tuple[float, ...]


def margins(record: Record) -> Margins:
    """The differences are the columns of fractions before the tolerance; whole numbers are counts."""
    before = record.columns[: record.columns.index(_TOLERANCE)]
    return Margins(
        names=tuple(map(str, record.column(record.columns[0]))),
        series=tuple(
            Series(name, tuple(map(float, record.column(name))))
            for name in before
            if all(isinstance(cell, float) for cell in record.column(name))
        ),
        tolerated=tuple(map(float, record.column(_TOLERANCE))),
    )


_NAMES = {"plain": "plain generation", "rauq": "this project", "lm-polygraph": "lm-polygraph"}
_TOOL_AND_LENGTH = ("tool", "prompt, tokens")
_CLOCK, _RATIO, _PEAK, _KEPT = "clock", "tool / plain", "MiB", "weights kept, MiB"
_INTERVAL = ("low", "high")
_TIMES = frozenset({*_TOOL_AND_LENGTH, _CLOCK, _RATIO, *_INTERVAL})  # the columns of a record that has `time_costs`
_MEMORY = frozenset({*_TOOL_AND_LENGTH, _PEAK, _KEPT, *_INTERVAL})  # the columns of a record that has `memory_costs`


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A tool over prompts of so many tokens: values (n,), each with the ends of its interval."""

    tool: str
    lengths: tuple[float, ...]
    values: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Costs:
    """What tools cost by length of the prompt: measured, computed and not run, and the cost of plain generation."""

    title: str
    unit: str
    curves: tuple[Curve, ...]
    computed: tuple[Curve, ...] = ()
    plain: float | None = None
    logarithmic: bool = False


def time_costs(record: Record) -> Costs:
    """CPU time of each tool, relative to plain generation in the same process."""
    rows = [row for row in _rows(record, _RATIO, *_INTERVAL, _CLOCK) if row[-1] == "CPU"]
    return Costs(
        title="CPU time relative to plain generation",
        unit="times plain generation",
        curves=_curves(row[:-1] for row in rows),
        plain=1.0,
    )


def memory_costs(record: Record) -> Costs:
    """Peak memory of each tool above the loaded model, in MiB.

    Computed are the attention weights that a tool would keep where it was not run because they exceed the memory.
    """
    weights = [(*row[:2], *row[2:3] * 3) for row in _rows(record, _KEPT, _PEAK) if not _known(row[-1:])]
    return Costs(
        title="peak memory above the model, MiB",
        unit="MiB",
        curves=_curves(_rows(record, _PEAK, *_INTERVAL)),
        computed=_curves(weights),
        logarithmic=True,
    )


def _rows(record: Record, *columns: str) -> Iterator[tuple[Cell, ...]]:
    return zip(*map(record.column, (*_TOOL_AND_LENGTH, *columns)), strict=True)


def _curves(rows: Iterable[Sequence[Cell]]) -> tuple[Curve, ...]:
    """From rows of tool, length, value and interval, one curve for each tool, in the order of `_NAMES`, without nan."""
    known = [row for row in rows if _known(row)]
    return tuple(
        Curve(tool=tool, lengths=lengths, values=values, low=low, high=high)
        for tool in _NAMES
        if (own := sorted(numbers for name, *numbers in known if name == tool))
        for lengths, values, low, high in [zip(*own, strict=True)]
    )


def _known(cells: Sequence[Cell]) -> bool:
    return not any(isinstance(cell, float) and math.isnan(cell) for cell in cells)


_OF, _COUNT, _RUN = "answers of", "answers", ("model", "prompts")
_MINUS = "minus "
_DIFFERENCES_OF_RUNS = frozenset({_OF, _COUNT, *_RUN})  # the columns of a record that has `_differences_of_runs`
_JUDGED, _SET = "judged", ("data", "model", "engine")
_DIFFERENCES_OF_SETS = frozenset({_JUDGED, *_SET})  # the columns of a record that has `_differences_of_sets`
BETTER, WORSE = " better", " worse"  # the last word of a cell with a difference, where it is a claim
_NUMBER = re.compile(r"[+\-\N{MINUS SIGN}]?\d+\.\d+")


class Difference(NamedTuple):
    """RAUQ minus another score in a row of a record, and its verdict: 1 better, -1 worse, 0 neither."""

    row: str
    estimate: Estimate
    sign: int


def _differences_of_runs(record: Record) -> dict[str, tuple[Difference, ...]]:
    """RAUQ minus each other ranking, by its name: a row for each run and each figure over all of its answers.

    The families of a run, which have fewer answers, are left to the table.
    """
    counts = list(map(int, record.column(_COUNT)))
    places = [place for place, count in enumerate(counts) if count == max(counts)]
    of = _named(record, _RUN)
    return _differences(record, {place: f"{of[place]}: {record.column(_OF)[place]}" for place in places}, counts)


def _differences_of_sets(record: Record) -> dict[str, tuple[Difference, ...]]:
    """RAUQ minus each other score, by its name: a row for each set of answers, model and engine."""
    counts = list(map(int, record.column(_JUDGED)))
    return _differences(record, dict(enumerate(_named(record, _SET))), counts)


def _named(record: Record, columns: Sequence[str]) -> list[str]:
    return [", ".join(map(str, cells)) for cells in zip(*map(record.column, columns), strict=True)]


def _differences(record: Record, rows: Mapping[int, str], counts: Sequence[int]) -> dict[str, tuple[Difference, ...]]:
    """The columns of differences by what is subtracted, with the names of their `rows`, given by place."""
    return {
        column.removeprefix(_MINUS): tuple(
            _difference(row, str(record.column(column)[place]), n=counts[place]) for place, row in rows.items()
        )
        for column in record.columns
        if column.startswith(_MINUS)
    }


def _difference(row: str, cell: str, *, n: int) -> Difference:
    """A value, the ends of its interval and its verdict, read from a cell; undefined where it lacks numbers."""
    numbers = [float(text.replace("\N{MINUS SIGN}", "-")) for text in _NUMBER.findall(cell)]
    value, low, high = numbers if len(numbers) == 3 else [math.nan] * 3
    estimate = Estimate(value, low, high, n=n, excluded=0, reason="undefined" if math.isnan(value) else "")
    return Difference(row, estimate, int(cell.endswith(BETTER)) - int(cell.endswith(WORSE)))


_ROW_HEIGHT, _REST = 17, 90  # pixels
_SYMBOLS = ("circle", "circle-open", "square", "square-open")


def differences(record: Record, *, dark: bool = False) -> go.Figure:
    """A row for each row of the record, the first on top: a symbol for each difference, and a bar at its tolerance.

    A difference of 0 has no logarithm: it is drawn at the left edge. One beyond its bar has the colour of uncertainty.
    """
    found = margins(record)
    known = [value for one in found.series for value in one.values if value > 0]
    edge = min([*known, *found.tolerated]) / 10
    rows = list(range(len(found.names)))
    looks = zip(found.series, cycle(_SYMBOLS), strict=False)
    figure = go.Figure([_points(one, found.tolerated, symbol, edge) for one, symbol in looks])
    ink = text_colour(dark=dark)
    bar = {"symbol": "line-ns", "size": 11, "line": {"width": 2, "color": ink}}
    figure.add_scatter(x=found.tolerated, y=rows, mode="markers", marker=bar, name="tolerated", hoverinfo="skip")
    figure.update_xaxes(title="largest difference", type="log", exponentformat="e", dtick=1)
    ticks = {"tickvals": rows, "ticktext": list(map(plotly_text, found.names)), "title": SPACE}
    figure.update_yaxes(ticks, range=[len(found.names) - 0.4, -0.6], showgrid=False)
    finish(figure, height=_ROW_HEIGHT * len(found.names) + _REST, dark=dark)
    figure.update_layout(
        legend={"font": {"color": ink}, "orientation": "h", "y": 1, "yanchor": "bottom"}, margin={"t": 32}
    )
    return figure


def _points(series: Series, tolerated: Sequence[float], symbol: str, edge: float) -> go.Scatter:
    beyond = [not value <= limit for value, limit in zip(series.values, tolerated, strict=True)]
    return go.Scatter(
        x=[max(value, edge) for value in series.values],
        y=list(range(len(series.values))),
        text=[f"{value:.1e}" for value in series.values],
        mode="markers",
        marker={"size": 8, "symbol": symbol, "color": [UNCERTAINTY if off else ATTENTION for off in beyond]},
        name=plotly_text(series.name),
        hovertemplate="%{text}<extra></extra>",
    )


_CHECK_DIFFERENCES_HEIGHT = 300
_SMALLEST, _LARGEST = 1e-9, 1.0  # what is drawn: a difference of weights is at most 1, and 0 has no logarithm


def check_differences(check: "Check", *, dark: bool = False) -> go.Figure:
    """A dot for each layer, a cross where it is beyond its tolerance, and the model's own eager attention beside it."""
    if not check.differences:
        return empty_figure("the model has no attention layer", height=_CHECK_DIFFERENCES_HEIGHT, dark=dark)
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
    finish(figure, height=_CHECK_DIFFERENCES_HEIGHT, dark=dark)
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
        return f"layer {layer}<br>weights at the wrong positions"
    return f"layer {layer}<br>{name}: {difference:.1e}"


_COSTS_BY_LENGTH_HEIGHT = 380
_MARGIN = 0.15  # powers of ten left and right of the points


def time_by_length(record: Record, *, dark: bool = False) -> go.Figure:
    """CPU time of each tool over the length of the prompt; dotted: plain generation."""
    return _costs_by_length(time_costs(record), dark=dark)


def memory_by_length(record: Record, *, dark: bool = False) -> go.Figure:
    """Peak memory of each tool over the length of the prompt; what was computed and not run is open."""
    return _costs_by_length(memory_costs(record), dark=dark)


def _costs_by_length(costs: Costs, *, dark: bool) -> go.Figure:
    if not costs.curves:
        return empty_figure("no tool was measured", height=_COSTS_BY_LENGTH_HEIGHT, dark=dark)
    figure = go.Figure(_traces(costs))
    if costs.plain is not None:
        figure.add_hline(y=costs.plain, line={"color": QUIET, "width": 1.2, "dash": "dot"})
    figure.update_yaxes({"type": "log", "dtick": 1} if costs.logarithmic else {"rangemode": "tozero"})
    figure.update_yaxes(title=costs.title)
    lengths = sorted({length for one in (*costs.curves, *costs.computed) for length in one.lengths})
    ends = [math.log10(lengths[0]) - _MARGIN, math.log10(lengths[-1]) + _MARGIN]
    figure.update_xaxes(title="tokens of the prompt", type="log", range=ends, tickvals=lengths, showgrid=False)
    figure.update_xaxes(ticktext=[f"{length:,.0f}" for length in lengths])
    finish(figure, height=_COSTS_BY_LENGTH_HEIGHT, dark=dark)
    legend = {"font": {"color": text_colour(dark=dark)}, "orientation": "h", "y": 1, "yanchor": "bottom"}
    figure.update_layout(legend=legend, margin={"t": 32}, showlegend=True)
    return figure


def _traces(costs: Costs) -> list[go.Scatter]:
    return [
        *(_line(curve, costs.unit) for curve in costs.curves),
        *(_open(curve, costs.unit) for curve in costs.computed),
    ]


def _line(curve: Curve, unit: str) -> go.Scatter:
    colour, symbol, width = _look(curve.tool)
    above = [high - value for value, high in zip(curve.values, curve.high, strict=True)]
    below = [value - low for value, low in zip(curve.values, curve.low, strict=True)]
    return go.Scatter(
        x=curve.lengths,
        y=curve.values,
        error_y={"array": above, "arrayminus": below, "thickness": 1.5, "width": 3, "color": colour},
        mode="lines+markers",
        line={"color": colour, "width": width},
        marker={"size": 9, "symbol": symbol},
        name=_NAMES[curve.tool],
        hovertemplate=f"%{{x:,}} tokens: %{{y:,.3~g}} {unit}<extra>{_NAMES[curve.tool]}</extra>",
    )


def _open(curve: Curve, unit: str) -> go.Scatter:
    colour, symbol, _ = _look(curve.tool)
    return go.Scatter(
        x=curve.lengths,
        y=curve.values,
        mode="markers",
        marker={"size": 11, "symbol": f"{symbol}-open", "color": colour, "line": {"width": 2}},
        name=f"{_NAMES[curve.tool]}, computed",
        hovertemplate=f"%{{x:,}} tokens: %{{y:,.3~g}} {unit}, computed, not run<extra></extra>",
    )


def _look(tool: str) -> tuple[str, str, float]:
    """Colour, symbol and width of the line: our tool in RAUQ's colour, as everywhere; plain generation in grey."""
    if tool == "rauq":
        return UNCERTAINTY, "circle", 3.0
    return (QUIET, "square", 1.5) if tool == "plain" else (ATTENTION, "diamond", 2.0)


def runs_compared(record: Record, *, dark: bool = False) -> go.Figure:
    """RAUQ minus other rankings of the answers of each run: a panel for each of the others, all on one scale."""
    return _compared(_differences_of_runs(record), title="difference in PRR", dark=dark)


def sets_compared(record: Record, *, dark: bool = False) -> go.Figure:
    """RAUQ minus other scores of each set: a panel for each of the others, all on one scale."""
    return _compared(_differences_of_sets(record), title="difference in ROC-AUC", dark=dark)


def _compared(found: Mapping[str, Sequence[Difference]], *, title: str, dark: bool) -> go.Figure:
    panels = {
        name: [difference_row(one.row, one.estimate, sign=one.sign, dark=dark) for one in rows]
        for name, rows in found.items()
    }
    figure = interval_panels(panels, title=title, reference=0.0, reason="nothing was measured", dark=dark)
    figure.update_xaxes(matches="x")
    return figure


@dataclass(frozen=True, kw_only=True)
class RecordFigure:
    """How records with these columns are drawn, and how to read the figure."""

    columns: frozenset[str]
    draw: Callable[..., go.Figure]
    caption: str


_DRAWINGS = (
    RecordFigure(columns=_DIFFERENCES, draw=differences, caption=sentences.DIFFERENCES),
    RecordFigure(columns=_TIMES, draw=time_by_length, caption=sentences.TIMES),
    RecordFigure(columns=_MEMORY, draw=memory_by_length, caption=sentences.MEMORY),
    RecordFigure(columns=_DIFFERENCES_OF_RUNS, draw=runs_compared, caption=sentences.RUNS_COMPARED),
    RecordFigure(columns=_DIFFERENCES_OF_SETS, draw=sets_compared, caption=sentences.SETS_COMPARED),
)


def drawing(record: Record) -> RecordFigure | None:
    """How a record is drawn; None if it is a table only."""
    return next((one for one in _DRAWINGS if record.rows and one.columns <= set(record.columns)), None)
