"""What the linked views are fed with: a trace and its score as JSON, numbers as base64 of float32."""

import base64
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from analysis.figures import attention_scale
from rauq.labels import NEWLINE, SPACE, label, parts, visible
from rauq.scoring import report
from rauq.scoring.report import Words, why_empty
from rauq.scoring.score import Score
from rauq.trace.trace import Alignment, Trace

MOST_STEPS = 65534  # a weight of 1
LONG = 60  # tokens, from which on the strip is set smaller, and scrolls
ONE_TOKEN = "RAUQ looks at attention between answer tokens. This answer has one token, so no head was picked."
_HINT = "Click a token, or use the arrow keys, to see its map; click a cell to select its head."
_KEY = ("▲ the largest collapse", f"{SPACE} a space", f"{NEWLINE} a line break")
_MAP_CAPTION = (
    "Shaded rows: the layers that RAUQ looks at. Ringed: the head picked in each. Framed: the selected head. "
    "A strong weight says where a head looks, not why."
)
_CHART_CAPTION = (
    "Bold: the layer that decided. Dotted: r, the same recurrence of a model that is sure of every token. The scale is "
    "logarithmic, so the gap from r down to c is the collapse. Underneath: what the recurrence was fed with."
)


def payload(trace: Trace, score: Score, words: Words) -> dict[str, Any]:
    """Everything that the browser draws of one scored answer; what is selected is added by the page."""
    found = report.collapse(score)
    rows = {layer: row for row, layer in enumerate(trace.layers)}
    reasons = {"collapse": score.reasons.collapse, "contribution": score.reasons.contributions}
    return words._asdict() | {
        "live": False,
        "long": len(trace.pieces) > LONG,
        "tokens": _tokens(trace),
        "layers": trace.layers,
        "numHeads": trace.num_heads,
        "gaps": len(trace.pieces) - 1,
        "thinking": trace.thinking,
        "folded": score.settings.part == "answer",
        "empty": bool(why_empty(trace, score.settings.part)),
        "picked": [
            {"layer": layer, "row": rows[layer], "head": int(head), "five": score.settings.heads == "top5"}
            for layer, head in zip(score.layers, score.heads, strict=True)
        ],
        "deciding": score.layer,
        "collapseAt": found.token if found else None,
        "signalName": score.settings.signal,
        "weights": _weights(trace, score.settings.alignment, score.span),
        "arrays": {name: _base64(array, "<f4") for name, array in _arrays(trace, score).items()},
        "reasons": {name: reason for name, reason in reasons.items() if reason},
        "scales": {name: [colour for _, colour in attention_scale(dark=name == "dark")] for name in ("light", "dark")},
        "key": _KEY,
        "hint": _HINT,
        "note": ONE_TOKEN if score.span[1] - score.span[0] == 1 and not why_empty(trace, score.settings.part) else "",
        "captions": {"map": _MAP_CAPTION, "confidence": _CHART_CAPTION},
    }


def live_payload(pieces: Sequence[str], words: Words) -> dict[str, Any]:
    """The tokens of an answer that is still being written: no numbers yet."""
    tokens = [_bare_token(piece.encode("utf-8", "replace")) for piece in pieces]
    return words._asdict() | {"live": True, "answer": "", "long": len(tokens) > LONG, "tokens": tokens}


def _arrays(trace: Trace, score: Score) -> dict[str, np.ndarray]:
    """One row a layer, head or token, in the order in which the browser reads them."""
    heads = report.picked_heads(score)
    return {
        "means": report.mean_weights(trace, score.settings),
        "probability": np.exp(trace.logprobs),
        "entropy": trace.entropies,
        "signal": score.signal,
        "collapse": score.collapse,
        "contribution": score.contributions,
        "shares": score.collapse_shares,  # (N, 2)
        "confidence": score.confidence,  # (Lw, N)
        "sure": score.sure_confidence,  # (Lw, N)
        "pickedAttention": score.attention,  # (Lw, N - 1)
        "headNumbers": np.array([(head.mean_attention, head.margin, head.layer_score) for head in heads]),  # (Lw, 3)
    }


@lru_cache(maxsize=8)  # of a trace, whatever its score: half of what a changed setting would cost
def _weights(trace: Trace, alignment: Alignment, span: tuple[int, int]) -> str:
    """Attention to the previous token (L, H, N - 1) in steps of 1 / 65534, half the bytes of float32; nan is 65535.

    Outside of the tokens that were scored it is nan.
    """
    weights = trace.previous_token_attention(alignment).astype(np.float32)  # half precision ends at 65504
    start, stop = span
    weights[..., :start] = weights[..., max(start, stop - 1) :] = np.nan
    steps = np.round(np.clip(weights, 0, 1) * MOST_STEPS)
    return _base64(np.where(np.isnan(weights), MOST_STEPS + 1, steps), "<u2")


@lru_cache(maxsize=8)
def _tokens(trace: Trace) -> tuple[dict[str, Any], ...]:
    return tuple(_token(trace, index) for index in range(len(trace.pieces)))


def _base64(array: np.ndarray, dtype: str) -> str:
    return base64.b64encode(np.ascontiguousarray(array).astype(dtype).tobytes()).decode()


def _bare_token(piece: bytes) -> dict[str, Any]:
    return {
        "parts": [[part.text, part.mark] for part in parts(piece)],
        "endsLine": piece.endswith(b"\n"),
        "label": label(piece, longest=60),
    }


def _token(trace: Trace, index: int) -> dict[str, Any]:
    chosen = int(trace.answer_ids[index])
    alternatives = [
        (visible(text) or "∅", math.exp(logprob), token == chosen) for token, text, logprob in trace.alternatives[index]
    ]
    return _bare_token(trace.pieces[index]) | {"alternatives": alternatives}
