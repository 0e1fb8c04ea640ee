"""The figures of one scored answer: maps of layers, heads and tokens, and confidence along the answer."""

import math
from collections.abc import Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from analysis.figures import (
    ATTENTION,
    QUIET,
    UNCERTAINTY,
    VEIL,
    attention_cells,
    finish,
    head_axis,
    hover_labels,
    layer_axis,
    plotly_text,
    text_colour,
    token_axis,
    token_marks,
)
from rauq.errors import InvalidInput
from rauq.scoring import report
from rauq.scoring.part_shares import part_shares
from rauq.scoring.score import Score, ShownHead, score
from rauq.scoring.settings import Settings
from rauq.scoring.shown import head_in_words, show_head, shown_head
from rauq.trace.attribution import weight_name
from rauq.trace.prompt_parts import FIXED
from rauq.trace.trace import Trace

_LAYER_HEAD_MAP_HEIGHT = 430
_PARTS_HEIGHT = 300
_NUMBERS_WIDTH = 26  # pixels, of the layer numbers beside the cells
_PLOT_HEIGHT, _PLOT_WIDTH = 360, 420  # about what is left for cells; the width is only known in the browser


def layer_head_map(
    weights: np.ndarray,
    layers: Sequence[int],
    *,
    picked: Sequence[tuple[int, int]],
    marked: tuple[int, int] | None = None,
    weight: str = "attention",
    dark: bool = False,
) -> go.Figure:
    """Heatmap of `weights` (L, H), one row for each absolute layer id of `layers`.

    `picked` are the (layer, head) pairs of the RAUQ window: the window is shaded, its heads are ringed (head -1 is
    none). The cell of `marked` is framed. `weight` names the weights.
    """
    num_layers, num_heads = weights.shape
    row_of = {layer: row for row, layer in enumerate(layers)}
    size = 0.62 * min(_PLOT_HEIGHT / num_layers, _PLOT_WIDTH / num_heads, 40)
    cells = attention_cells(weights, title=weight, dark=dark)
    cells.update(
        customdata=np.broadcast_to(np.asarray(layers, dtype=np.int32)[:, None], weights.shape),
        hovertemplate="layer %{customdata} · head %{x}<br>WEIGHT %{z:.3g}<extra></extra>".replace("WEIGHT", weight),
    )
    figure = go.Figure(cells)
    _shade_window(figure, [row_of[layer] for layer, _ in picked])
    _ring(figure, [(row_of[layer], head) for layer, head in picked if head >= 0], size)
    if marked:
        _frame(figure, row_of[marked[0]], marked[1])
    head_axis(figure, num_heads)
    layer_axis(figure, layers)
    finish(figure, height=_LAYER_HEAD_MAP_HEIGHT, dark=dark)
    return figure


def _shade_window(figure: go.Figure, rows: list[int]) -> None:
    """Shade the window's layer numbers and the gaps between its cells, and leave the colours of the cells alone."""
    if not rows:
        return
    band = {"type": "rect", "xref": "paper", "y0": min(rows) - 0.5, "y1": max(rows) + 0.5, "layer": "below"}
    band |= {"fillcolor": VEIL, "line": {"width": 0}}
    figure.add_shape(band | {"x0": 0, "x1": 1})
    figure.add_shape(band | {"xsizemode": "pixel", "xanchor": 0, "x0": -_NUMBERS_WIDTH, "x1": 0})


def _ring(figure: go.Figure, cells: list[tuple[int, int]], size: float) -> None:
    """Two circles around each cell, dark outside and light inside: one of them contrasts with any cell."""
    for colour, width, name in (("#10233f", 4.5, "edge"), ("#ffffff", 2.2, "selected head")):
        figure.add_scatter(
            x=[head for _, head in cells],
            y=[row for row, _ in cells],
            mode="markers",
            name=name,
            marker={"symbol": "circle-open", "size": size, "color": colour, "line": {"width": width}},
            hoverinfo="skip",
            showlegend=False,
        )


def _frame(figure: go.Figure, row: int, head: int) -> None:
    corners = {"x0": head - 0.5, "x1": head + 0.5, "y0": row - 0.5, "y1": row + 0.5}
    figure.add_shape(type="rect", **corners, line={"color": UNCERTAINTY, "width": 3})


_TOKEN_HEAD_MAP_HEIGHT = 300


def token_head_map(
    weights: np.ndarray,
    pieces: Sequence[bytes],
    *,
    head: int,
    collapse: int | None = None,
    selected: int | None = None,
    weight: str = "attention",
    dark: bool = False,
) -> go.Figure:
    """Heatmap of `weights` (H, N - 1), drawn over all N tokens of `pieces`: the first has no previous answer token.

    The row of `head` is framed; `collapse` and `selected` are answer tokens, and `weight` names the weights.
    """
    num_heads, num_tokens = len(weights), len(pieces)
    padded = np.full((num_heads, num_tokens), np.nan, dtype=np.float32)
    padded[:, 1:] = weights
    cells = attention_cells(padded, title=weight, dark=dark)
    cells.update(
        text=np.broadcast_to(np.array(hover_labels(pieces), dtype=object), padded.shape),
        hovertemplate="head %{y} · %{text}<br>WEIGHT %{z:.3g}<extra></extra>".replace("WEIGHT", weight),
    )
    frame = {"type": "rect", "x0": -0.5, "x1": num_tokens - 0.5, "y0": head - 0.5, "y1": head + 0.5}
    frame |= {"line": {"color": UNCERTAINTY, "width": 2}}
    figure = go.Figure(cells)
    figure.update_layout(shapes=(*token_marks(collapse, selected), frame))
    figure.update_xaxes(token_axis(pieces))
    figure.update_yaxes(title="head", dtick=1 if num_heads <= 16 else 4, range=[num_heads - 0.5, -0.5])
    figure.update_yaxes(showgrid=False)
    finish(figure, height=_TOKEN_HEAD_MAP_HEIGHT, dark=dark)
    return figure


_CONFIDENCE_HEIGHT = 430
_MANY = 60  # tokens: more leave no room for markers, nor for gaps between bars


def confidence(
    score: Score,
    pieces: Sequence[bytes],
    *,
    collapse: int | None = None,
    selected: int | None = None,
    weight: str = "attention",
    dark: bool = False,
) -> go.Figure:
    """Three rows over one token axis: confidence c of each layer, the shown one in front; its signal; its attention.

    Confidence is on a logarithmic scale, so that the gap between r (a fully confident model) and c is the collapse.
    It is not bounded by 1: the entropy signal is not a probability. Values without a logarithm leave a gap. `weight`
    is the name of what stands for attention.
    """
    front = shown_head(score)
    hover = hover_labels(pieces)
    figure = make_subplots(rows=3, shared_xaxes=True, row_heights=[0.56, 0.22, 0.22], vertical_spacing=0.05)
    figure.add_traces(_confidences(score, front, hover), rows=1, cols=1)
    figure.add_trace(_bars(score.signal, 0, hover, name="signal", colour=UNCERTAINTY), row=2, col=1)
    name = f"{weight}, {head_in_words(score, front.layer, front.head)}"
    attention = _bars(front.attention, 1, hover, name=name, colour=ATTENTION)
    figure.add_trace(attention, row=3, col=1)

    figure.update_layout(shapes=token_marks(collapse, selected), bargap=0 if len(pieces) > _MANY else 0.35)
    figure.update_layout(legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0, "xanchor": "left"})
    figure.update_xaxes(token_axis(pieces) | {"showticklabels": False})
    figure.update_xaxes(showticklabels=True, row=3, col=1)
    ticks = _log_ticks(np.concatenate([score.confidence.ravel(), front.confidence, front.reference_confidence]))
    figure.update_yaxes(title="confidence", type="log", tickvals=ticks, tickformat=".3~g", row=1, col=1)
    figure.update_yaxes(title="signal", rangemode="tozero", nticks=3, row=2, col=1)
    figure.update_yaxes(title=weight, rangemode="tozero", nticks=3, row=3, col=1)
    finish(figure, height=_CONFIDENCE_HEIGHT, dark=dark)
    return figure


def _confidences(score: Score, front: ShownHead, hover: list[str]) -> list[go.Scatter]:
    """The other layers behind, then r of the front layer, then its c."""
    behind = {"line": {"color": QUIET, "width": 1}, "opacity": 0.45, "showlegend": False}
    others = [
        _line(score.confidence[row], hover, name=f"layer {layer}", **behind)
        for row, layer in enumerate(score.layers)
        if layer != front.layer
    ]
    dotted = {"color": QUIET, "width": 1.5, "dash": "dot"}
    sure = _line(front.reference_confidence, hover, name="r, fully confident model", line=dotted)
    bold = {"line": {"color": UNCERTAINTY, "width": 3}, "marker": {"size": 6}}
    bold["mode"] = "lines" if len(hover) > _MANY else "lines+markers"
    name = f"c, {head_in_words(score, front.layer, front.head)}"
    return [*others, sure, _line(front.confidence, hover, name=name, **bold)]


def _line(values: np.ndarray, hover: list[str], **look: object) -> go.Scatter:
    drawable = np.where(values > 0, values, np.nan).astype(np.float32)
    template = "%{text}<br>%{fullData.name}: %{y:.3g}<extra></extra>"
    return go.Scatter(y=drawable, text=hover, hovertemplate=template, **({"mode": "lines"} | look))


def _bars(values: np.ndarray, first: int, hover: list[str], *, name: str, colour: str) -> go.Bar:
    """Bars from the token `first` on."""
    return go.Bar(
        x=np.arange(first, len(hover), dtype=np.int32),
        y=values.astype(np.float32),
        text=hover[first:],
        textposition="none",
        name=name,
        marker={"color": colour, "line": {"width": 0}},
        opacity=0.8,
        showlegend=False,
        hovertemplate="%{text}<br>%{fullData.name}: %{y:.3g}<extra></extra>",
    )


def _log_ticks(values: np.ndarray) -> list[float]:
    """1, 2, 5 of each power of ten that the values span; powers alone, ever fewer, where that would be too many.

    Where no such number lies between the smallest and the largest value, these two.
    """
    drawn = values[np.isfinite(values) & (values > 0)]
    if not drawn.size:
        return []
    low, high = float(drawn.min()), float(drawn.max())
    ticks = _round_numbers(math.floor(math.log10(low)), math.ceil(math.log10(high)))
    return ticks if any(low <= tick <= high for tick in ticks) else sorted({low, high})


def _round_numbers(low: int, high: int) -> list[float]:
    if high - low <= 2:
        return [digit * 10.0**power for power in range(low, high + 1) for digit in (1, 2, 5)]
    return [10.0**power for power in range(low, high + 1, -(-(high - low) // 6))]


_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_MOST_PARTS = len(_DASHES)


def part_shares_figure(
    shares: np.ndarray, names: Sequence[str], pieces: Sequence[bytes], *, dark: bool = False
) -> go.Figure:
    """A line for each column of shares (N, G) of attention over the tokens: grey for the `FIXED` ones, blue for parts.

    Of many parts, those with the largest mean.
    """
    hover, figure = hover_labels(pieces), go.Figure()
    largest = np.argsort(-shares[:, len(FIXED) :].mean(axis=0), kind="stable")[:_MOST_PARTS] + len(FIXED)
    for columns, colour in ((range(len(FIXED)), QUIET), (sorted(largest.tolist()), ATTENTION)):
        for column, dash in zip(columns, _DASHES, strict=False):
            look: dict[str, object] = {"line": {"color": colour, "width": 2, "dash": dash}}
            look |= {"mode": "lines" if len(hover) > _MANY else "lines+markers", "marker": {"size": 5}}
            template = "%{text}<br>%{fullData.name}: %{y:.3g}<extra></extra>"
            values = shares[:, column].astype(np.float32)
            figure.add_trace(
                go.Scatter(y=values, text=hover, hovertemplate=template, name=plotly_text(names[column]), **look)
            )
    figure.update_layout(legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0, "xanchor": "left"})
    figure.update_xaxes(token_axis(pieces))
    figure.update_yaxes(title="share of attention", rangemode="tozero")
    finish(figure, height=_PARTS_HEIGHT, dark=dark)
    return figure


class Drawing(NamedTuple):
    """A figure and its words; `name` can be that of a file."""

    name: str
    heading: str
    caption: str
    figure: go.Figure


class View(NamedTuple):
    """What the figures show: the layer, its head that is framed, and a token, or None for the whole answer."""

    layer: int
    head: int
    token: int | None = None


def default_view(trace: Trace, score: Score) -> View:
    """The layer and head of `shown_head`; where heads are averaged, the strongest of the layer."""
    shown = shown_head(score)
    layer, head = shown.layer, shown.head
    if head < 0:
        head = int(report.mean_weights(trace, score.settings)[trace.layers.index(layer)].argmax())
    return View(layer, head)


def drawings(trace: Trace, score: Score, view: View, *, dark: bool) -> tuple[Drawing, ...]:
    """Layer x head map, confidence, token x head map; an answer of one token has no maps of attention.

    Where shares of attention were captured, these by part of the prompt.
    """
    curves = _confidence(trace, score, view, dark=dark)
    parts = (_part_shares(trace, score, dark=dark),) if "part_shares" in trace.extras else ()
    if len(trace.pieces) == 1:
        return (curves, *parts)
    return (
        _layer_head_map(trace, score, view, dark=dark),
        curves,
        _token_head_map(trace, score, view, dark=dark),
        *parts,
    )


def _layer_head_map(trace: Trace, score: Score, view: View, *, dark: bool) -> Drawing:
    if view.token:  # the first token has no weight
        at_token = trace.previous_token_attention(score.settings.alignment)[:, :, view.token - 1]
    else:
        at_token = report.mean_weights(trace, score.settings)
    picked = list(zip(score.layers, map(int, score.heads), strict=True))
    return Drawing(
        "layer-head-map",
        f"Previous-token {weight_name(trace.attribution)}",
        f"{f'The weight at token {view.token} alone' if view.token else 'Mean over the answer'}. Shaded rows: the "
        "layers used by RAUQ. Ringed: the selected head of each. Framed: the head shown below, token by token.",
        layer_head_map(
            at_token,
            trace.layers,
            picked=picked,
            marked=(view.layer, view.head),
            weight=weight_name(trace.attribution),
            dark=dark,
        ),
    )


def _confidence(trace: Trace, score: Score, view: View, *, dark: bool) -> Drawing:
    shown = shown_head(score)
    bold = head_in_words(score, shown.layer, shown.head)
    marks = {"collapse": _collapse(trace, score), "selected": view.token}
    return Drawing(
        "confidence",
        f"Confidence, {bold}",
        f"Bold: {bold}, {_role(score)}; thin: the other layers. Dotted: r, the same recurrence for a fully confident "
        "model (p = 1 at every token). The scale is logarithmic: the gap from r down to c is the collapse.",
        confidence(score, trace.pieces, weight=weight_name(trace.attribution), dark=dark, **marks),
    )


def _role(score: Score) -> str:
    """What the shown head has to do with the score."""
    if score.shown is None and score.layer is not None:
        return "which gives the score"
    return "no single layer gives the score" if score.layer is None else "not the one that gives the score"


def _token_head_map(trace: Trace, score: Score, view: View, *, dark: bool) -> Drawing:
    name = weight_name(trace.attribution)
    averaged = " The score uses the mean over all heads." if score.settings.heads == "mean" else ""
    weights = trace.previous_token_attention(score.settings.alignment)[trace.layers.index(view.layer)]
    marks = {"collapse": _collapse(trace, score), "selected": view.token}
    return Drawing(
        "token-head-map",
        f"Heads of layer {view.layer}, token by token",
        f"{name[:1].upper()}{name[1:]} to the previous token at each answer token; the first has none. "
        f"Framed: head {view.head}.{averaged}",
        token_head_map(weights, trace.pieces, head=view.head, weight=name, dark=dark, **marks),
    )


def _part_shares(trace: Trace, score: Score, *, dark: bool) -> Drawing:
    shares = part_shares(trace, Settings(layers=score.layers))
    left_out = len(shares.parts) - _MOST_PARTS
    several = f" Of {len(shares.parts)} parts, the {_MOST_PARTS} with the largest mean." if left_out > 0 else ""
    return Drawing(
        "part-shares",
        "Attention by part of the prompt",
        "Share of the attention of the query that predicts each token, mean over all heads of the layers used by RAUQ. "
        f"Blue: named parts; grey: the rest. A longer part gets more.{several}",
        part_shares_figure(shares.mean(), shares.names, trace.pieces, dark=dark),
    )


def _collapse(trace: Trace, score: Score) -> int | None:
    collapse_point = report.collapse(trace, score)
    return collapse_point.token if collapse_point else None


_WHY_NOT = MappingProxyType(
    dict.fromkeys(("confidence", "layer-head-map", "token-head-map"), "an answer of one token has confidence alone")
    | {"part-shares": "it needs the extra part_shares"}
)
_HEADING_HEIGHT = 64  # pixels, for the heading and the legend below it
_DAY_PAGE, _NIGHT_PAGE = "#ffffff", "#14181d"


def plot(
    answer: Trace | Score,
    name: str = "confidence",
    *,
    layer: int | None = None,
    head: int | None = None,
    token: int | None = None,
    dark: bool = False,
) -> go.Figure:
    """One figure of a scored answer, with its heading: confidence, layer-head-map, token-head-map or part-shares.

    A trace is scored with the paper's settings. `layer` and `head`: those of `default_view` unless given. `token`: the
    one that is marked, and whose weights the layer-head-map shows; None: the whole answer. `dark`: for a dark page.

    Raises:
        InvalidInput: unknown name, a layer, head or token that the answer does not have, or a score of bare arrays.

    Example:
        >>> trace = rauq.load_model("atlas").generate("Q: In which country is Kyoto? A:")
        >>> analysis.plot(trace, "confidence").layout.title.text
        'Confidence, layer 5, head 1'
    """
    scored = score(answer) if isinstance(answer, Trace) else answer
    if (trace := scored.trace) is None:
        message = (
            "This score is of bare arrays, which have no tokens to draw. Plot the score of a trace: rauq.score(trace)."
        )
        raise InvalidInput(message)
    _check_view(trace, layer=layer, head=head, token=token)
    scored = show_head(trace, scored, layer, head)
    view = default_view(trace, scored)._replace(token=token)
    drawn = {drawing.name: drawing for drawing in drawings(trace, scored, view, dark=dark)}
    if name not in drawn:
        why = f" ({_WHY_NOT[name]})" if name in _WHY_NOT else ""
        message = f"Got the figure {name!r}{why}; choose one of {', '.join(drawn)}."
        raise InvalidInput(message)
    figure = drawn[name].figure
    heading = {"text": plotly_text(drawn[name].heading), "font": {"color": text_colour(dark=dark), "size": 15}}
    figure.update_layout(title=heading | {"x": 0, "y": 0.98, "yanchor": "top", "yref": "container"})
    figure.update_layout(margin={"t": _HEADING_HEIGHT}, height=figure.layout.height + _HEADING_HEIGHT)
    page = _NIGHT_PAGE if dark else _DAY_PAGE  # a notebook's own page may be light or dark, whatever was asked for
    figure.update_layout(paper_bgcolor=page, plot_bgcolor=page, legend={"font": {"color": text_colour(dark=dark)}})
    figure.update_xaxes(gridcolor=VEIL)
    figure.update_yaxes(gridcolor=VEIL)
    return figure


def _check_view(trace: Trace, *, layer: int | None, head: int | None, token: int | None) -> None:
    allowed = {
        "layer": (layer, trace.layers),
        "head": (head, range(trace.num_heads)),
        "token": (token, range(len(trace.pieces))),
    }
    for name, (given, known) in allowed.items():
        if given is not None and given not in known:
            message = f"Got {name}={given!r}; this answer has {name}s {known[0]} to {known[-1]}."
            raise InvalidInput(message)
