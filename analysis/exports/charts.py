"""The figures of a report as pieces of HTML that hold their data."""

from typing import Any, NamedTuple

from analysis.figures.confidence import confidence
from analysis.figures.layer_head_map import layer_head_map
from analysis.figures.token_head_map import token_head_map
from rauq import report
from rauq.score import Score
from rauq.trace import Trace

_BACKGROUND = {False: "#ffffff", True: "#14171c"}  # by dark, as in report.css: a saved figure keeps it
_CONFIG = {"displaylogo": False}


class Drawing(NamedTuple):
    """A figure that is not yet HTML, with the words around it."""

    name: str
    heading: str
    caption: str
    figure: Any  # a plotly Figure: its methods are all that is needed here


class Chart(NamedTuple):
    """A figure as HTML; `name` is the id of its element, and of its file when it is saved."""

    name: str
    heading: str
    caption: str
    html: str


def charts(trace: Trace, score: Score, *, dark: bool) -> tuple[Chart, ...]:
    """The figures of a score, the first with plotly.js in it; an answer of one token has no maps of attention."""
    drawings = [_confidence(trace, score, dark=dark)]
    if len(trace.pieces) > 1:
        drawings = [_layer_head_map(trace, score, dark=dark), *drawings, _token_head_map(trace, score, dark=dark)]
    return tuple(_chart(drawing, dark=dark, first=index == 0) for index, drawing in enumerate(drawings))


def _chart(drawing: Drawing, *, dark: bool, first: bool) -> Chart:
    figure = drawing.figure
    figure.layout.template = "plotly_dark" if dark else "plotly_white"  # the default may be another's
    figure.update_layout(
        paper_bgcolor=_BACKGROUND[dark], plot_bgcolor=_BACKGROUND[dark], font_family="system-ui, sans-serif"
    )
    html = figure.to_html(
        config=_CONFIG | {"toImageButtonOptions": {"filename": drawing.name, "scale": 2}},
        include_plotlyjs=first,
        full_html=False,
        div_id=drawing.name,
        default_height=f"{figure.layout.height}px",
    )
    return Chart(drawing.name, drawing.heading, drawing.caption, html)


def _layer_head_map(trace: Trace, score: Score, *, dark: bool) -> Drawing:
    picked = list(zip(score.layers, map(int, score.heads), strict=True))
    weights = trace.previous_token_attention(score.settings.alignment).mean(axis=2)
    return Drawing(
        "layer-head-map",
        "Previous-token attention",
        "Mean over the answer. Shaded rows: the layers that RAUQ looks at. Ringed: the head picked in each. Framed: "
        "the head shown below, token by token.",
        layer_head_map(weights, trace.layers, picked=picked, marked=_front_head(trace, score), dark=dark),
    )


def _confidence(trace: Trace, score: Score, *, dark: bool) -> Drawing:
    layer = _front_layer(score)
    bold = "the layer that decided" if score.layer is not None else f"layer {layer}, since no single layer decided"
    return Drawing(
        "confidence",
        f"Confidence, layer {layer}",
        f"Bold: {bold}; thin: the others. Dotted: r, the same recurrence of a model that is sure of every token. The "
        "scale is logarithmic, so the gap from r down to c is the collapse.",
        confidence(score, trace.pieces, layer=layer, collapse=_collapse(score), dark=dark),
    )


def _token_head_map(trace: Trace, score: Score, *, dark: bool) -> Drawing:
    layer, head = _front_head(trace, score)
    averaged = ", which looks back most; the score took the mean of all" if score.settings.heads == "mean" else ""
    weights = trace.previous_token_attention(score.settings.alignment)[trace.layers.index(layer)]
    return Drawing(
        "token-head-map",
        f"Heads of layer {layer}, token by token",
        f"Attention to the previous token at each answer token; the first has none. Framed: head {head}{averaged}.",
        token_head_map(weights, trace.pieces, head=head, collapse=_collapse(score), dark=dark),
    )


def _front_layer(score: Score) -> int:
    """The layer that decided; the window's first where none did."""
    return score.layers[0] if score.layer is None else score.layer


def _front_head(trace: Trace, score: Score) -> tuple[int, int]:
    """The front layer and its picked head; where all heads are averaged, the one that looks back most."""
    layer = _front_layer(score)
    head = int(score.heads[score.layers.index(layer)])
    if head < 0:
        weights = trace.previous_token_attention(score.settings.alignment)[trace.layers.index(layer)]
        head = int(weights.mean(axis=1).argmax())
    return layer, head


def _collapse(score: Score) -> int | None:
    found = report.collapse(score)
    return found.token if found else None
