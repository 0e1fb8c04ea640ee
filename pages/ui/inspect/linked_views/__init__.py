"""The linked views of one answer, drawn in the browser: text, verdict, tracks, attention maps, selected heads.

One component gets typed arrays once for each score. A click or a key changes the picture at once in the browser;
Python is notified afterwards, writes the selection to the URL, and redraws nothing.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from analysis.figures import attention_scale
from analysis.one_answer.colours import COLOURINGS
from pages.ui.inspect.linked_views.documents import document_payload, document_texts
from pages.ui.inspect.linked_views.encoding import as_base64
from pages.ui.inspect.linked_views.sentences import READS, sentence_payload
from pages.ui.inspect.linked_views.tokens import bare_tokens, drawn_tokens
from pages.ui.shared import words as field_words
from pages.ui.shared.assets import joined
from pages.ui.shared.components import component
from pages.ui.shared.sent import events
from rauq.labels import direction
from rauq.scoring import report
from rauq.scoring.headline import of_question
from rauq.scoring.report import CollapsePoint, Words, one_token_note, why_empty
from rauq.scoring.score import Score, collapse_token
from rauq.scoring.settings import Signal
from rauq.scoring.shown import head_in_words, shown_head
from rauq.trace.attribution import weight_name
from rauq.trace.trace import Alignment, Trace

MOST_STEPS = 65534  # a weight of 1
LONG = 60  # tokens: a longer answer uses smaller type, and scrolls
_HINT = "Scored so far: selected heads, colours and curves can change with the next tokens."
_MAP_CAPTION = (
    "Weight on the previous token; the colours span the layers used by RAUQ (shaded). Rings: the head selected in "
    "each{}. Blue frame: the head shown above. Hover to see another head there; click to keep it."
)
RIGHT_TO_LEFT = " Columns run from right to left, as the answer does."
_TOKEN_CAPTION = "{} to the previous token at each answer token. The first has no previous answer token."
_CHART_CAPTION = (
    "Dotted: reference r, a fully confident model with the head's mean attention, so c may pass it where attention is "
    "high. Log scale: the gap from r down to c is the collapse, this project's measure, not the paper's."
)
_UNITS: dict[Signal, str] = {"probability": "probability", "entropy": "log V − entropy, nats"}


def payload(trace: Trace, score: Score, words: Words) -> dict[str, Any]:
    """Return all that the browser draws of one scored answer; the page adds the selection."""
    whole = {
        "live": False,
        "long": len(trace.pieces) > LONG,
        "reads": len(trace.pieces) >= READS,
        "tokens": drawn_tokens(trace),
        "thinking": trace.thinking,
        "folded": score.settings.part == "answer",
        "weights": _weights(trace, score.settings.alignment, score.span),
        "note": one_token_note(trace, score),
        "words": field_words.word_list(),
        "document": document_payload(trace, score),
    }
    return words._asdict() | _scored(trace, score) | whole | sentence_payload(trace, score)


def live_payload(trace: Trace | None, score: Score | None, words: Words) -> dict[str, Any]:
    """Return what the browser draws of an answer that is still being generated: no single weights, no alternatives.

    The tokens stand alone where they have no score yet. A long answer reads by sentences once it is complete: the
    tracks below it would move when their table came in the middle.
    """
    tokens = [] if trace is None else bare_tokens(trace.pieces, goes_on=True)
    bare = words._asdict() | {"live": True, "long": len(tokens) > LONG, "reads": False, "answer": ""}
    bare |= {"tokens": tokens, "sentences": [], "document": document_texts(trace)}
    if trace is None or score is None or why_empty(trace, score.settings.part):
        return bare
    return bare | _scored(trace, score) | {"hint": _HINT}


def _scored(trace: Trace, score: Score) -> dict[str, Any]:
    """Return the numbers of a score, and what names and colours them."""
    collapse_point = report.headline_point(trace, score)
    rows = {layer: row for row, layer in enumerate(trace.layers)}
    reasons = {"collapse": score.reasons.collapse, "contribution": score.reasons.contributions}
    return {
        "layers": trace.layers,
        "numHeads": trace.num_heads,
        "gaps": len(trace.pieces) - 1,
        "direction": (toward := direction(trace.pieces)),
        "empty": bool(why_empty(trace, score.settings.part)),
        "picked": [
            {"layer": layer, "row": rows[layer], "head": int(head), "five": score.settings.heads == "top5"}
            for layer, head in zip(score.layers, score.heads, strict=True)
        ],
        "scoreLayer": score.layer,
        "front": {"layer": (opening := shown_head(replace(score, shown=None))).layer, "head": max(opening.head, 0)},
        "numbersOf": _numbers_of(score),
        "contributionTitle": f"Contribution to {_SUM if score.shown is None else _numbers_of(score)}",
        "collapseAt": collapse_point.token if collapse_point else None,
        "largestAt": collapse_token(trace, score),
        "weakPoints": _weak_points(trace, score, collapse_point),
        "ofQuestion": np.flatnonzero(of_question(trace)).tolist(),
        "measure": COLOURINGS[score.by]._asdict(),
        "signalName": score.settings.signal,
        "arrays": {name: as_base64(array, "<f4") for name, array in _arrays(trace, score).items()},
        "reasons": {name: reason for name, reason in reasons.items() if reason},
        "scales": {name: [colour for _, colour in attention_scale(dark=name == "dark")] for name in ("light", "dark")},
        "alpha": score.settings.alpha,
        "update": score.settings.update,
        "signalUnit": _UNITS[score.settings.signal or "probability"],
        "sureSignal": 1.0 if score.settings.signal == "probability" else math.log(trace.vocab_size or 1),
        "weightName": (weight := weight_name(trace.attribution)),
        "captions": {
            "map": _MAP_CAPTION.format("" if score.layer is None else ", orange for the one that gives the score"),
            "confidence": ("" if score.layer is None else "Bold: the layer that gives the score. ") + _CHART_CAPTION,
            "token": _TOKEN_CAPTION.format(f"{weight[:1].upper()}{weight[1:]}") + (RIGHT_TO_LEFT * (toward == "rtl")),
        },
    }


def _weak_points(trace: Trace, score: Score, named: CollapsePoint | None) -> tuple[int, ...]:
    """Return the weak points, and the one that the headline names where that is a later one."""
    headline = () if named is None else (named.token,)
    return tuple(dict.fromkeys((*report.weak_points(trace, score), *headline)))


_SUM = "the score"


def _numbers_of(score: Score) -> str:
    """The layer and head that collapse and contributions are of; empty where they are of none."""
    if score.by == "surprisal":
        return ""
    if score.shown is None and score.layer is None:
        return f"{score.settings.layer_aggregation} over layers"
    shown = shown_head(score)
    return head_in_words(score, shown.layer, shown.head)


def _arrays(trace: Trace, score: Score) -> dict[str, np.ndarray]:
    """Return arrays with one row per layer, head or token, in the order that the browser reads."""
    heads = report.selected_heads(score)
    return {
        "means": report.mean_weights(trace, score.settings),
        "probability": np.exp(trace.logprobs),
        "entropy": trace.entropies,
        "signal": score.signal,
        "collapse": report.settled(score.collapse),
        "contribution": score.contributions,
        "shares": report.settled(score.collapse_shares),  # (N, 2)
        "confidence": score.confidence,  # (Lw, N)
        "sure": score.reference_confidence,  # (Lw, N)
        "pickedAttention": score.attention,  # (Lw, N - 1)
        "headNumbers": np.array([(head.mean_attention, head.margin, head.layer_score) for head in heads]),  # (Lw, 3)
    }


@lru_cache(maxsize=8)  # by trace, not by score: saves half the time of a changed setting
def _weights(trace: Trace, alignment: Alignment, span: tuple[int, int]) -> str:
    """Attention to the previous token (L, H, N - 1) in steps of 1 / 65534, half the bytes of float32; nan is 65535.

    Outside the scored tokens it is nan.
    """
    weights = trace.previous_token_attention(alignment).astype(np.float32)  # half precision ends at 65504
    start, stop = span
    weights[..., :start] = weights[..., max(start, stop - 1) :] = np.nan
    steps = np.round(np.clip(weights, 0, 1) * MOST_STEPS)
    return as_base64(np.where(np.isnan(weights), MOST_STEPS + 1, steps), "<u2")


KEY = "views"
_FOLDER = Path(__file__).parent
_mount = component(
    "linked_views",
    _FOLDER / "js/linked_views.js",
    html=joined(_FOLDER, "linked_views.html"),
    css=f"{joined(_FOLDER, 'linked_views.css')}\n{field_words.STYLE}",
)


class Listener(NamedTuple):
    """What is done when the browser reports an event of this kind."""

    kind: Any
    act: Callable[[Any], object]


def show_views(data: dict[str, Any], **on: Listener) -> None:
    """Draw a scored answer; before the next script run the listeners get what happened, by the name of the event."""
    callbacks: dict[str, Any] = {f"on_{name}_change": partial(_report, name, listener) for name, listener in on.items()}
    _mount(key=KEY, data=data, **callbacks)


def _report(name: str, listener: Listener) -> None:
    if (event := events.event(KEY, name, listener.kind)) is not None:
        listener.act(event)


def live_views(trace: Trace | None, score: Score | None, words: Words) -> None:
    """Draw an answer that is still being generated."""
    _mount(key=KEY, data=live_payload(trace, score, words))
