"""The layer and head whose values the views show: the one that gives the score, or another one that was chosen."""

from dataclasses import replace

from rauq.scoring.score import Score, ShownHead, score
from rauq.trace.trace import Trace


def shown_layer(found: Score, selected: int | None = None) -> int:
    """The layer that gives the score; where no single layer does, `selected` if in the window, else its first layer."""
    if found.shown is not None:
        return found.shown.layer
    if found.layer is not None:
        return found.layer
    return selected if selected in found.layers else found.layers[0]


def shown_head(found: Score) -> ShownHead:
    """The chosen layer and head, else those of `shown_layer`."""
    if found.shown is not None:
        return found.shown
    layer = shown_layer(found)
    return _of_row(found, found.layers.index(layer))


def show_head(trace: Trace, found: Score, layer: int | None = None, head: int | None = None) -> Score:
    """The same score, of which collapse and contributions are those of this layer and head; None: those of the score.

    `head` None: the one selected in the layer. Where heads are averaged, a layer of the window shows its average. A
    score by surprisal keeps its numbers, in which no head has a part. The contributions sum to the uncertainty of that
    head alone.

    Raises:
        InvalidInput: a layer or a head that the answer does not have.
    """
    if layer is None and head is None:
        return replace(found, shown=None)
    layer = shown_layer(found, layer) if layer is None else layer
    selected = layer in found.layers and (head is None or head == selected_head(found, layer) or _is_averaged(found))
    if selected and layer == found.layer:
        return replace(found, shown=None)
    heads = found.settings.heads if selected else ((layer, head or 0),)
    one = score(trace, replace(found.settings, layers=(layer,), heads=heads, layer_aggregation="max"))
    shown = _of_row(one, 0)
    if found.by == "surprisal":
        return replace(found, shown=shown)
    return replace(
        found,
        shown=shown,
        contributions=one.contributions,
        collapse=one.collapse,
        collapse_shares=one.collapse_shares,
        reasons=replace(one.reasons, uncertainty=found.reasons.uncertainty),
    )


def selected_head(found: Score, layer: int) -> int:
    """The head that RAUQ selects in a layer of the window: -1 for the mean of all, the first one of five."""
    return int(found.heads[found.layers.index(layer)])


def head_in_words(found: Score, layer: int, head: int | None) -> str:
    """A layer and its head as a phrase; `head` None where none was used, -1 for the mean."""
    if head is None:
        return f"layer {layer}"
    if head < 0:
        return f"layer {layer}, mean of its heads"
    if _is_averaged(found) and layer in found.layers and head == selected_head(found, layer):
        return f"layer {layer}, mean of its top five heads"
    return f"layer {layer}, head {head}"


def _is_averaged(found: Score) -> bool:
    return found.settings.heads in ("mean", "top5")


def _of_row(found: Score, row: int) -> ShownHead:
    return ShownHead(
        layer=found.layers[row],
        head=int(found.heads[row]),
        attention=found.attention[row],
        confidence=found.confidence[row],
        reference_confidence=found.reference_confidence[row],
    )
