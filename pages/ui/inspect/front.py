"""What the first screen opens on: the layer and head in front, and settings under which attention counts."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from pages.ui.shared import state
from pages.ui.shared.selection import Chosen
from rauq.recorded.scores import ReferenceHeads, ReferenceScores, scores_of
from rauq.scoring.report import attention_adds_little, shown_layer
from rauq.scoring.score import Score
from rauq.trace.trace import Trace

HALF = 0.5  # alpha with which signal and attention weigh the same


class Front(NamedTuple):
    """A layer (absolute) and a head of it; `best`: the selected head that separates the reference's answers best."""

    layer: int
    head: int
    best: bool = False


def front(
    score: Score, trace: Trace, reference: ReferenceScores | None = None, selected: Chosen | None = None
) -> Front:
    """The layer and head that the views show: those chosen, else what they open on.

    They open on the selected head that separates correct from incorrect answers of the reference best, if it does so
    beyond chance; else on the layer that gives the score. `reference`: None for the table that came with the app.
    """
    chosen = selected or Chosen()
    known = reference or scores_of(trace)
    best = None if known is None or known.heads is None else _best(score, trace, known.heads)
    layer = next((one for one in (chosen.layer, best) if one is not None), shown_layer(score))
    picked = int(score.heads[score.layers.index(layer)]) if layer in score.layers else 0
    head = max(picked, 0) if chosen.head is None else chosen.head
    return Front(layer, head, best=layer == best and head == picked)


def _best(score: Score, trace: Trace, heads: ReferenceHeads) -> int | None:
    """The layer whose selected head has the largest area under the ROC curve, if one is beyond chance."""
    own = heads.of(score.layers, trace.num_heads)
    if own is None or score.settings.alignment != "predicting" or score.settings.heads != "max":
        return None
    areas = np.array([row[head] for row, head in zip(own.auc, score.heads, strict=True)])
    return score.layers[int(areas.argmax())] if areas.max(initial=0) > 0.5 + heads.chance else None


def more_attention(trace: Trace, score: Score) -> dict[str, Any] | None:
    """The offer of settings under which attention counts as much as the signal, where it hardly counts."""
    if not attention_adds_little(trace, score):
        return None
    return {"label": f"Try alpha {HALF:g}, where attention weighs {100 * (1 - HALF):.0f} %"}


def take_more_attention(trace: Trace, score: Score) -> None:
    """Score with the settings that `more_attention` offers, if it offers any."""
    if more_attention(trace, score) is not None:
        state.change_settings(replace(score.settings, alpha=HALF), trace.kind)
