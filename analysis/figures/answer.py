"""The figures of one scored answer, with the words around them: for a report, and to be saved from the page."""

from typing import NamedTuple

import plotly.graph_objects as go

from analysis.figures.confidence import confidence
from analysis.figures.layer_head_map import layer_head_map
from analysis.figures.token_head_map import token_head_map
from rauq import report
from rauq.score import Score
from rauq.trace import Trace


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


def usual_view(trace: Trace, score: Score) -> View:
    """The deciding layer, or the window's first, with its picked head, or of averaged ones the strongest."""
    layer = report.front_layer(score)
    head = int(score.heads[score.layers.index(layer)])
    if head < 0:
        head = int(report.mean_weights(trace, score.settings)[trace.layers.index(layer)].argmax())
    return View(layer, head)


def drawings(trace: Trace, score: Score, view: View, *, dark: bool) -> tuple[Drawing, ...]:
    """Layer x head map, confidence, token x head map; an answer of one token has no maps of attention."""
    curves = _confidence(trace, score, view, dark=dark)
    if len(trace.pieces) == 1:
        return (curves,)
    return (
        _layer_head_map(trace, score, view, dark=dark),
        curves,
        _token_head_map(trace, score, view, dark=dark),
    )


def _layer_head_map(trace: Trace, score: Score, view: View, *, dark: bool) -> Drawing:
    if view.token:  # the first token has no weight
        at_token = trace.previous_token_attention(score.settings.alignment)[:, :, view.token - 1]
    else:
        at_token = report.mean_weights(trace, score.settings)
    picked = list(zip(score.layers, map(int, score.heads), strict=True))
    return Drawing(
        "layer-head-map",
        "Previous-token attention",
        f"{f'The weight at token {view.token} alone' if view.token else 'Mean over the answer'}. Shaded rows: the "
        "layers that RAUQ looks at. Ringed: the head picked in each. Framed: the head shown below, token by token.",
        layer_head_map(at_token, trace.layers, picked=picked, marked=(view.layer, view.head), dark=dark),
    )


def _confidence(trace: Trace, score: Score, view: View, *, dark: bool) -> Drawing:
    layer = report.front_layer(score, view.layer)
    bold = "the layer that decided" if score.layer is not None else f"layer {layer}, since no single layer decided"
    marks = {"collapse": _collapse(score), "selected": view.token}
    return Drawing(
        "confidence",
        f"Confidence, layer {layer}",
        f"Bold: {bold}; thin: the others. Dotted: r, the same recurrence of a model that is sure of every token. The "
        "scale is logarithmic, so the gap from r down to c is the collapse.",
        confidence(score, trace.pieces, layer=layer, dark=dark, **marks),
    )


def _token_head_map(trace: Trace, score: Score, view: View, *, dark: bool) -> Drawing:
    averaged = " The score took the mean of all heads." if score.settings.heads == "mean" else ""
    weights = trace.previous_token_attention(score.settings.alignment)[trace.layers.index(view.layer)]
    marks = {"collapse": _collapse(score), "selected": view.token}
    return Drawing(
        "token-head-map",
        f"Heads of layer {view.layer}, token by token",
        "Attention to the previous token at each answer token; the first has none. "
        f"Framed: head {view.head}.{averaged}",
        token_head_map(weights, trace.pieces, head=view.head, dark=dark, **marks),
    )


def _collapse(score: Score) -> int | None:
    found = report.collapse(score)
    return found.token if found else None
