"""The figures of a comparison of two answers, A and B."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from analysis.figures import (
    QUIET,
    Look,
    cells,
    difference_scale,
    finish,
    head_axis,
    hover_labels,
    in_direction,
    layer_axis,
    looks,
    text_colour,
    tick_positions,
    tick_text,
    upper_end,
)
from analysis.two_answers.comparison import Columns
from rauq.labels import direction
from rauq.scoring.score import Score
from rauq.scoring.shown import shown_layer

_OVERLAY_HEIGHT = 460
_LABEL_WIDTH = 92  # pixels, on the right, for the names of the lines
_LONGEST_TICK = 10
_OPPOSITE = {"left": "right", "right": "left"}
_MOST_TICKS = 12  # of two lines each: more would run into each other in a narrow window
_MOST_LEVEL = 6  # columns whose ticks need not be turned
_MANY = 60  # columns: more leave no room for markers


class _Side(NamedTuple):
    """One answer on the common axis: the columns that its tokens stand in, and how it is drawn."""

    score: Score
    columns: np.ndarray
    hover: list[str]
    look: Look


def overlay(
    columns: Columns,
    scores: tuple[Score, Score],
    pieces: tuple[Sequence[bytes], Sequence[bytes]],
    *,
    first_difference: int | None = None,
    selected: int | None = None,
    dark: bool = False,
) -> go.Figure:
    """Two rows over the columns of `aligned`: confidence c of one layer each with r dotted, and the collapses.

    Confidence is on a logarithmic scale; values without a logarithm, and infinite ones, leave a gap. `first_difference`
    and `selected` are columns.
    """
    sides = [
        _Side(score, _places(columns, index), _hover(look, texts), look)
        for index, (score, texts, look) in enumerate(zip(scores, pieces, looks(dark=dark), strict=True))
    ]
    figure = make_subplots(rows=2, shared_xaxes=True, row_heights=[0.58, 0.42], vertical_spacing=0.06)
    figure.add_traces([_sure(side) for side in sides] + [_confidence(side) for side in sides], rows=1, cols=1)
    figure.add_traces([_collapse(side) for side in sides], rows=2, cols=1)
    figure.update_layout(shapes=_marks(first_difference, selected), showlegend=False)
    figure.update_xaxes(_axis(columns, pieces, dark=dark) | {"showticklabels": False})
    figure.update_xaxes(showticklabels=True, row=2, col=1)
    figure.update_yaxes(title="confidence", type="log", tickformat="~g", dtick=_log_step(sides), row=1, col=1)
    figure.update_yaxes(title=f"{_measure(sides[0])}, nats", rangemode="tozero", nticks=5, row=2, col=1)
    finish(figure, height=_OVERLAY_HEIGHT, dark=dark)
    end = "right" if direction(pieces[0]) == "ltr" else "left"  # where the last token is
    names = [*_names(figure, sides, end, dark=dark), *_name_of_difference(first_difference, end, dark=dark)]
    figure.update_layout(annotations=names, margin={end[0]: _LABEL_WIDTH, "t": 22})
    return figure


def _places(columns: Columns, side: int) -> np.ndarray:
    return np.array([place for place, column in enumerate(columns) if column[side] is not None], dtype=np.int32)


def _hover(look: Look, pieces: Sequence[bytes]) -> list[str]:
    return [f"{look.name} {text}" for text in hover_labels(pieces)]


def _sure(side: _Side) -> go.Scatter:
    thin = {"color": side.look.colour, "width": 1.2, "dash": "dot"}
    values = _front(side.score, side.score.reference_confidence)
    return _scatter(side, values, f"{side.look.name} r", mode="lines", line=thin)


def _confidence(side: _Side) -> go.Scatter:
    name = f"{side.look.name} c, layer {shown_layer(side.score)}"
    return _bold(side, _front(side.score, side.score.confidence), name)


def _collapse(side: _Side) -> go.Scatter:
    values = np.where(np.isfinite(side.score.collapse), side.score.collapse, np.nan)
    return _bold(side, values, f"{side.look.name} {_measure(side)}")


def _measure(side: _Side) -> str:
    return "surprisal" if side.score.by == "surprisal" else "collapse"


def _front(score: Score, per_layer: np.ndarray) -> np.ndarray:
    """The values of the layer that gives the score that have a logarithm; nan for the others."""
    values = per_layer[score.layers.index(shown_layer(score))]
    return np.where((values > 0) & np.isfinite(values), values, np.nan)


def _bold(side: _Side, values: np.ndarray, name: str) -> go.Scatter:
    look = side.look
    marker = {"size": 7, "symbol": look.symbol}
    mode = "lines" if len(values) > _MANY else "lines+markers"
    stroke = {"color": look.colour, "width": 2.5, "dash": look.dash}
    return _scatter(side, values, name, mode=mode, line=stroke, marker=marker)


def _scatter(side: _Side, values: np.ndarray, name: str, **look: object) -> go.Scatter:
    return go.Scatter(
        x=side.columns,
        y=values.astype(np.float32),
        text=side.hover,
        name=name,
        hovertemplate="%{text}<br>%{fullData.name}: %{y:.3f}<extra></extra>",
        **look,
    )


def _axis(columns: Columns, pieces: tuple[Sequence[bytes], Sequence[bytes]], *, dark: bool) -> dict[str, Any]:
    texts = [_tick(column, pieces, dark=dark) for column in columns]
    has_pairs = any("<br>" in text for text in texts)
    ticks = tick_positions(len(columns), most=_MOST_TICKS) if has_pairs else tick_positions(len(columns))
    return {
        "tickvals": ticks,
        "ticktext": [texts[place] for place in ticks],
        "tickangle": -50 if len(columns) > _MOST_LEVEL else 0,
        "range": in_direction((-0.5, len(columns) - 0.5), pieces[0]),
        "automargin": True,
        "showgrid": False,
    }


def _tick(column: tuple[int | None, int | None], pieces: tuple[Sequence[bytes], Sequence[bytes]], *, dark: bool) -> str:
    """The token that both have there, or the two under each other in the colours of their answers."""
    texts = [
        "–" if token is None else tick_text(own, token, longest=_LONGEST_TICK)
        for token, own in zip(column, pieces, strict=True)
    ]
    if texts[0] == texts[1]:
        return texts[0]
    coloured = zip(texts, looks(dark=dark), strict=True)
    return "<br>".join(f'<span style="color:{look.colour}">{text}</span>' for text, look in coloured)


def _marks(first_difference: int | None, selected: int | None) -> list[dict[str, Any]]:
    upright = {
        "type": "line",
        "y0": 0,
        "y1": 1,
        "yref": "paper",
        "line": {"color": QUIET, "width": 1.5, "dash": "dash"},
    }
    marks = [] if first_difference is None else [upright | {"x0": first_difference - 0.5, "x1": first_difference - 0.5}]
    if selected is not None:
        frame = {"type": "rect", "x0": selected - 0.5, "x1": selected + 0.5, "y0": 0, "y1": 1, "yref": "paper"}
        marks.append(frame | {"line": {"color": QUIET, "width": 1.5, "dash": "dot"}})
    return marks


def _name_of_difference(first_difference: int | None, end: str, *, dark: bool) -> list[dict[str, Any]]:
    if first_difference is None:
        return []
    place = {"x": first_difference - 0.5, "y": 1, "yref": "paper", "yanchor": "bottom"}
    place |= {"xanchor": _OPPOSITE[end], "xshift": -2 if end == "right" else 2}
    return [place | {"text": "first difference", "showarrow": False, "font": {"color": text_colour(dark=dark)}}]


def _names(figure: go.Figure, sides: Sequence[_Side], end: str, *, dark: bool) -> list[dict[str, Any]]:
    """The name of each bold line at its last token: of two in one row, the upper above and the lower below."""
    beside = {"xanchor": _OPPOSITE[end], "xshift": 7 if end == "right" else -7}
    names = []
    for row, axis in ((figure.data[2:4], "y"), (figure.data[4:6], "y2")):
        ends = [_end(trace) for trace in row]
        upper = int(np.argmax([height for _, height in ends]))
        for index, (side, trace, (x, y)) in enumerate(zip(sides, row, ends, strict=True)):
            if np.isfinite(y):
                place = {"x": x, "y": np.log10(y) if axis == "y" else y, "yref": axis} | beside
                shift = {"yshift": 8 if index == upper else -8}
                back = "rgba(20, 23, 28, 0.7)" if dark else "rgba(255, 255, 255, 0.7)"
                text = {"text": f"<b>{trace.name}</b>", "font": {"color": side.look.colour}, "bgcolor": back}
                names.append(place | shift | text | {"showarrow": False})
    return names


def _end(trace: go.Scatter) -> tuple[float, float]:
    """The last point that is drawn; minus infinity high where there is none."""
    drawn = np.flatnonzero(np.isfinite(trace.y))
    return (float(trace.x[drawn[-1]]), float(trace.y[drawn[-1]])) if drawn.size else (0.0, -np.inf)


_CLOSE = 4  # the largest value relative to the smallest: 1, 2 and 5 could leave one tick


def _log_step(sides: Sequence[_Side]) -> str | None:
    """Every digit of a power of ten where the values are close; 1, 2, 5 while these are few; else Plotly's choice."""
    values = np.concatenate(
        [
            _front(side.score, per_layer)
            for side in sides
            for per_layer in (side.score.confidence, side.score.reference_confidence)
        ]
    )
    drawn = values[np.isfinite(values)]
    ratio = drawn.max() / drawn.min() if drawn.size else np.inf
    return "D1" if ratio < _CLOSE else "D2" if ratio < 1000 else None


_DIFFERENCE_MAP_HEIGHT = 400
_PLOT_HEIGHT, _PLOT_WIDTH = 330, 420  # about what is left for cells; the width is only known in the browser
_SYMBOLS = ("circle-open", "diamond-open")
Heads = Sequence[tuple[int, int]]


def difference_map(
    difference: np.ndarray, layers: Sequence[int], *, picked: tuple[Heads, Heads], dark: bool = False
) -> go.Figure:
    """Heatmap of `difference` (L, H), A minus B, on a scale that is as wide on both sides of zero.

    `picked` are the (layer, head) pairs of A's window and of B's (head -1 is none): A's in circles, B's in diamonds.
    """
    num_layers, num_heads = difference.shape
    row_of = {layer: row for row, layer in enumerate(layers)}
    size = 0.7 * min(_PLOT_HEIGHT / num_layers, _PLOT_WIDTH / num_heads, 40)
    figure = go.Figure(_cells(difference, layers, dark=dark))
    for heads, look, symbol, scale in zip(picked, looks(dark=dark), _SYMBOLS, (0.75, 1.05), strict=True):
        ringed = [(row_of[layer], head) for layer, head in heads if head >= 0]
        figure.add_traces(_rings(ringed, f"selected in {look.name}", symbol, size * scale))
    head_axis(figure, num_heads)
    layer_axis(figure, layers)
    finish(figure, height=_DIFFERENCE_MAP_HEIGHT, dark=dark)
    return figure


def _cells(difference: np.ndarray, layers: Sequence[int], *, dark: bool) -> go.Heatmap:
    end = upper_end(np.abs(difference), parts=20)
    heat = cells(
        difference, title="A − B", low=-end, high=end, scale=difference_scale(looks(dark=dark), dark=dark), dark=dark
    )
    return heat.update(
        customdata=np.broadcast_to(np.asarray(layers, dtype=np.int32)[:, None], difference.shape),
        hovertemplate="layer %{customdata} · head %{x}<br>A − B: %{z:+.3f}<extra></extra>",
        colorbar={"tickformat": ".2~f"},
    )


def _rings(ringed: Heads, name: str, symbol: str, size: float) -> list[go.Scatter]:
    """Each ring is dark outside and light inside: one of the two contrasts with any cell."""
    edge = min(4, size / 3)
    return [
        go.Scatter(
            x=[head for _, head in ringed],
            y=[row for row, _ in ringed],
            mode="markers",
            name=part,
            marker={"symbol": symbol, "size": size, "color": colour, "line": {"width": width}},
            hoverinfo="skip",
            showlegend=False,
        )
        for part, colour, width in (("edge", "#10233f", edge), (name, "#ffffff", edge / 2))
    ]
