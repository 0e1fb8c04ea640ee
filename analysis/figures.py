"""What every figure shares: colours and sizes, text that Plotly draws as it is, axes, cells, and rows of intervals."""

import html
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from analysis.stats import Estimate, in_words, sign_of
from rauq.labels import direction, running, token_labels

Figure = go.Figure
"""A figure, for those who only hand it on."""

# Attention: blue, from the page's colour away: none is pale on a light page and dark on a dark one. The lightness
# runs steadily, so that the scale reads without telling hues apart.
_BLUES = ["#f3f7fb", "#c9dff0", "#8fbfe0", "#4c92c9", "#1d62a5", "#08306b"]
_NIGHT = ["#1a222d", "#1d4166", "#24699d", "#3f97c6", "#86c5dd", "#e6f6f0"]
ATTENTION = "#3f8fcc"
UNCERTAINTY = "#e8650a"
QUIET = "#8b95a1"
VEIL = "rgba(139, 149, 161, 0.28)"
SPACE = "\N{NO-BREAK SPACE}"  # title of an axis whose names are long: a saved figure has another font, which is wider
_MARGIN = {"l": 8, "r": 8, "t": 8, "b": 8}  # pixels; axis labels make their own room


def finish(figure: "go.Figure", *, height: int, dark: bool) -> None:
    """Give a figure its size and the texts of its axes their colour; nothing is zoomed by dragging."""
    figure.update_layout(layout_look(height=height))
    figure.update_xaxes(axis_look(dark=dark))
    figure.update_yaxes(axis_look(dark=dark))


def layout_look(*, height: int) -> dict[str, Any]:
    """Layout of a figure of this height, in pixels."""
    return {"height": height, "margin": _MARGIN, "dragmode": False, "hovermode": "closest"}


def axis_look(*, dark: bool) -> dict[str, Any]:
    """Layout of an axis."""
    text = {"color": text_colour(dark=dark)}
    return {"tickfont": text, "title": {"font": text}, "fixedrange": True, "zeroline": False}


def text_colour(*, dark: bool) -> str:
    """Colour of axis texts, with a contrast of at least 4.5 to 1 on a dark or a light page."""
    return "#d5d9de" if dark else "#4a5058"


def attention_scale(*, dark: bool) -> list[list[object]]:
    """Plotly colour scale for attention weights, for a dark or a light page."""
    colours = _NIGHT if dark else _BLUES
    return [[position / (len(colours) - 1), colour] for position, colour in enumerate(colours)]


def plotly_text(text: str) -> str:
    """Plotly reads tags and entities in labels, and dollar signs as mathematics: write them so that it does not.

    Invisible characters are drawn: a picture that holds a control character is no SVG.
    """
    return html.escape(running(text), quote=False).replace("$", "&#36;")


_PAGE, _PAGE_AT_NIGHT = "#f4f5f7", "#20252c"
# A and B are no verdicts: their colours are not those of correct and incorrect answers.
_NAVY_AND_OCHRE = {False: ("#12265c", "#7a4f00"), True: ("#cfdcff", "#d9b36a")}  # by whether the page is dark
_TEAL_AND_VIOLET = {False: ("#0b7a75", "#7a3db8"), True: ("#3fc9b8", "#c58bf2")}


class Look(NamedTuple):
    """How one of two series is drawn."""

    name: str
    colour: str
    dash: str
    symbol: str


def looks(*, dark: bool) -> tuple[Look, Look]:
    """The looks of the answers A and B, for a dark or a light page."""
    return _pair(("A", "B"), _NAVY_AND_OCHRE[dark])


def outcomes(*, dark: bool) -> tuple[Look, Look]:
    """The looks of correct and of incorrect answers, or of better and worse, for a dark or a light page."""
    return _pair(("correct", "incorrect"), _TEAL_AND_VIOLET[dark])


def _pair(names: tuple[str, str], colours: tuple[str, str]) -> tuple[Look, Look]:
    return Look(names[0], colours[0], "solid", "circle"), Look(names[1], colours[1], "dash", "diamond")


def difference_scale(pair: tuple[Look, Look], *, dark: bool) -> list[list[object]]:
    """Plotly colour scale for one minus the other: the colour of the second, through the page's, to the first's."""
    first, second = pair
    return [[0.0, second.colour], [0.5, _PAGE_AT_NIGHT if dark else _PAGE], [1.0, first.colour]]


def series() -> tuple[Look, Look]:
    """The looks of the selected head's attention and of the mean over all heads."""
    return Look("selected head", ATTENTION, "solid", "circle"), Look("mean over heads", QUIET, "dash", "square")


def empty_figure(reason: str, *, height: int, dark: bool) -> go.Figure:
    """A figure without data that says why there is none."""
    figure = go.Figure()
    text = {"text": plotly_text(f"Nothing to draw: {reason}."), "font": {"size": 14, "color": text_colour(dark=dark)}}
    place = {"x": 0.5, "y": 0.5, "xref": "paper", "yref": "paper", "showarrow": False}
    figure.update_layout(annotations=[text | place])
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)
    finish(figure, height=height, dark=dark)
    return figure


_PLAIN = {"showgrid": False, "showline": False, "ticks": ""}
_MOST_NAMED = 16


def head_axis(figure: go.Figure, num_heads: int) -> None:
    """One column for each head."""
    figure.update_xaxes(_PLAIN, title="head", dtick=_step(num_heads), range=[-0.5, num_heads - 0.5])


def layer_axis(figure: go.Figure, layers: Sequence[int]) -> None:
    """One row for each layer, the lowest on top, named by its absolute index."""
    rows = list(range(0, len(layers), _step(len(layers))))
    figure.update_yaxes(_PLAIN, title="layer", tickvals=rows, ticktext=[str(layers[row]) for row in rows])
    figure.update_yaxes(range=[len(layers) - 0.5, -0.5])


def _step(count: int) -> int:
    return 1 if count <= _MOST_NAMED else 4


_MOST_WITH_GAPS = 32  # rows or columns: more of them are too small for a gap between them


def attention_cells(weights: np.ndarray, *, title: str = "attention", dark: bool) -> go.Heatmap:
    """Heatmap of `weights`, from 0 to the largest of them rounded up to a tenth; nan stays empty."""
    return cells(weights, title=title, low=0, high=upper_end(weights), scale=attention_scale(dark=dark), dark=dark)


def cells(values: np.ndarray, *, title: str, low: float, high: float, scale: Any, dark: bool) -> go.Heatmap:  # noqa: ANN401 - as Plotly has it
    """Heatmap of `values` from `low` to `high`, its colour bar beside it; nan stays empty."""
    rows, columns = values.shape
    text = {"color": text_colour(dark=dark)}
    return go.Heatmap(
        z=values.astype(np.float32),
        zmin=low,
        zmax=high,
        colorscale=scale,
        xgap=int(columns < _MOST_WITH_GAPS),
        ygap=int(rows < _MOST_WITH_GAPS),
        hoverongaps=False,
        colorbar={
            "title": {"text": title, "side": "right", "font": text},
            "tickfont": text,
            "thickness": 10,
            "outlinewidth": 0,
            "len": 0.9,  # leaves the chart's own buttons free
            "y": 0,
            "yanchor": "bottom",
        },
    )


def upper_end(values: np.ndarray, *, parts: int = 10) -> float:
    """Upper end of a colour scale: the largest value, rounded up to a part of 1; 1 where none is above 0."""
    finite = values[np.isfinite(values)]
    return float(np.ceil(finite.max() * parts - 1e-6) / parts) if finite.size and finite.max() > 0 else 1.0


_ROW_HEIGHT, _REST, _LINE = 24, 70, 19  # pixels
_TITLE_WIDTHS = (60, 24, 20)  # letters of one line of a title, of one panel, of two and of more


class Row(NamedTuple):
    """What one row draws, and in which colour; a row in bold is the one to look at."""

    name: str
    estimate: Estimate
    colour: str
    symbol: str = "circle"
    bold: bool = False


def difference_row(name: str, estimate: Estimate, *, dark: bool, sign: int | None = None) -> Row:
    """A row of a difference, whose look says whether it is a claim, and its sign; None: that of the estimate."""
    better, worse = outcomes(dark=dark)
    if sign := sign_of(estimate) if sign is None else sign:
        look = better if sign > 0 else worse
        return Row(name, estimate, look.colour, look.symbol)
    return Row(name, estimate, QUIET, "circle-open")


def interval_panels(
    panels: Mapping[str, Sequence[Row]], *, title: str, reference: float, reason: str, dark: bool
) -> go.Figure:
    """Panels side by side with the same rows, one below the other, over an axis named `title`; a line at `reference`.

    A row is empty in a panel where it is undefined. Where there is no row the figure gives the `reason`.
    """
    rows = next(iter(panels.values()))
    if not rows:
        return empty_figure(reason, height=160, dark=dark)
    width = _TITLE_WIDTHS[min(len(panels), len(_TITLE_WIDTHS)) - 1]
    titles = [_wrapped(name, width) for name in panels] if len(panels) > 1 else None
    figure = make_subplots(cols=len(panels), shared_yaxes=True, horizontal_spacing=0.03, subplot_titles=titles)
    figure.update_annotations(font={"size": 14, "color": text_colour(dark=dark)})
    for column, own in enumerate(panels.values(), start=1):
        dots = [_dot(place, row) for place, row in enumerate(own) if not np.isnan(row.estimate.value)]
        figure.add_traces(dots, rows=[1] * len(dots), cols=[column] * len(dots))
    figure.add_vline(x=reference, line={"color": QUIET, "width": 1.2, "dash": "dot"}, layer="below")
    _name_rows(figure, rows)
    top = 10 + _LINE * max(map(_lines, titles)) if titles else 8
    _finish_panels(figure, len(rows), title=_wrapped(title, width), top=top, dark=dark)
    return figure


def _name_rows(figure: go.Figure, rows: Sequence[Row]) -> None:
    names = [f"<b>{plotly_text(row.name)}</b>" if row.bold else plotly_text(row.name) for row in rows]
    figure.update_yaxes(tickvals=list(range(len(rows))), ticktext=names, range=[len(rows) - 0.4, -0.6], showgrid=False)
    figure.update_yaxes(title=SPACE, col=1)


def _finish_panels(figure: go.Figure, num_rows: int, *, title: str, top: int, dark: bool) -> None:
    """Title the axes, and give the figure room for its rows and for the lines of all titles."""
    figure.update_xaxes(title=title, nticks=8)
    finish(figure, height=_ROW_HEIGHT * num_rows + _REST + top + _LINE * (_lines(title) - 1), dark=dark)
    figure.update_layout(margin={"t": top})


def _wrapped(title: str, width: int) -> str:
    """A title in lines of at most so many letters, so that those of panels side by side do not touch."""
    return "<br>".join(map(plotly_text, textwrap.wrap(title, width, break_long_words=False)))


def _lines(title: str) -> int:
    return title.count("<br>") + 1


def _dot(place: int, row: Row) -> go.Scatter:
    found = row.estimate
    interval = {
        "array": [found.high - found.value],
        "arrayminus": [found.value - found.low],
        "thickness": 2,
        "width": 4,
    }
    return go.Scatter(
        x=[found.value],
        y=[place],
        error_x=interval | {"color": row.colour},
        mode="markers",
        marker={"size": 10, "symbol": row.symbol, "color": row.colour},
        text=[f"{plotly_text(row.name)}<br>{in_words(found)}<br>n = {found.n:,}"],
        hovertemplate="%{text}<extra></extra>",
        name=plotly_text(row.name),
        showlegend=False,
    )


_LONGEST_TICK, _LONGEST_HOVER = 12, 40
_RIGHT_TO_LEFT = "\N{RIGHT-TO-LEFT MARK}"
_MOST_TICKS = 24


def token_axis(pieces: Sequence[bytes]) -> dict[str, Any]:
    """Layout of an x axis with the tokens' texts as tick labels; it runs in the direction of the answer."""
    ticks = tick_positions(len(pieces))
    ends = (-0.5, len(pieces) - 0.5)
    return {
        "tickvals": ticks,
        "ticktext": [tick_text(pieces, token, longest=_LONGEST_TICK) for token in ticks],
        "tickangle": -50 if len(pieces) > 6 else 0,
        "range": in_direction(ends, pieces),
        "automargin": True,
        "showgrid": False,
    }


def tick_text(pieces: Sequence[bytes], token: int, *, longest: int) -> str:
    """The label of a token on an axis; the mark of a leading space stands where its text begins."""
    start = _RIGHT_TO_LEFT if direction([pieces[token]]) == "rtl" else ""
    return start + plotly_text(token_labels(pieces, longest=longest)[token])


def in_direction(ends: tuple[float, float], pieces: Sequence[bytes]) -> list[float]:
    """The ends of an axis of tokens, which runs from right to left where the answer does."""
    return list(ends if direction(pieces) == "ltr" else reversed(ends))


def tick_positions(num_tokens: int, *, most: int = _MOST_TICKS) -> list[int]:
    """Tokens that get a tick: all of them, or an even choice of `most` where labels would run into each other."""
    return list(range(0, num_tokens, -(-num_tokens // most)))


def hover_labels(pieces: Sequence[bytes]) -> list[str]:
    """Position and text of each token, for hover boxes."""
    return [f"token {i} {plotly_text(text)}" for i, text in enumerate(token_labels(pieces, longest=_LONGEST_HOVER))]


def token_marks(collapse: int | None, selected: int | None) -> list[dict[str, Any]]:
    """Shapes over the full height: a band at the collapse, a frame around the selected token."""
    marks = []
    if collapse is not None:
        look = {"fillcolor": UNCERTAINTY, "opacity": 0.14, "line": {"width": 0}, "layer": "below"}
        marks.append(_band(collapse) | look)
    if selected is not None:
        marks.append(_band(selected) | {"line": {"color": QUIET, "width": 1.5, "dash": "dot"}})
    return marks


def _band(token: int) -> dict[str, Any]:
    return {"type": "rect", "x0": token - 0.5, "x1": token + 0.5, "y0": 0, "y1": 1, "yref": "paper"}
