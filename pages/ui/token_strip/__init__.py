"""The answer as a row of tokens, coloured by collapse: hover or focus tells the numbers, a click selects."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from pages.ui.words import Words
from rauq.labels import NEWLINE, SPACE, label, parts, visible
from rauq.score import Score
from rauq.trace import Trace

KEY = "strip"
SWATCHES = (0.0, 0.25, 0.75, 1.5, 3.0)  # nats
LONG = 60  # tokens, from which on the strip is set smaller, and scrolls
_HTML = """
<p class="source"></p>
<h1 class="headline"></h1>
<div class="strip" role="group" aria-label="Answer, token by token"></div>
<p class="detail"></p>
<div class="legend"></div>
<div class="tip" role="status" popover="manual"></div>
"""
_FOLDER = Path(__file__).parent
_mount = st.components.v2.component(
    "token_strip",
    html=_HTML,
    css=(_FOLDER / "token_strip.css").read_text(encoding="utf-8"),
    js=(_FOLDER / "token_strip.js").read_text(encoding="utf-8"),
)


def token_strip(
    trace: Trace,
    score: Score,
    words: Words,
    *,
    collapse: int | None,
    selected: int | None,
    on_select: Callable[[int], None],
) -> None:
    """Draw a scored answer; `on_select` hears of a clicked token before the next run."""
    tokens = [_token(trace, score, index, collapse) for index in range(len(trace.pieces))]
    legend = {
        "name": "Collapse, log r − log c, in nats",
        "swatches": [[_level(value), f"{value:g}"] for value in SWATCHES],
        "key": ["▲ the largest", f"{SPACE} is a space", f"{NEWLINE} a line break"],
    }
    data = {
        "tokens": tokens,
        "collapse": collapse,
        "selected": selected,
        "live": False,
        "legend": legend,
        "long": len(tokens) > LONG,
    }
    _draw(data | words._asdict(), on_select)


def live_strip(pieces: Sequence[str], words: Words) -> None:
    """Draw the tokens of an answer that is still being written: no numbers yet."""
    tokens = [_bare_token(piece.encode("utf-8", "replace"), index) for index, piece in enumerate(pieces)]
    _draw(
        {"tokens": tokens, "collapse": None, "selected": None, "live": True, "long": len(tokens) > LONG}
        | words._asdict(),
        lambda _: None,
    )


def _draw(data: dict[str, Any], on_select: Callable[[int], None]) -> None:
    data["long"] = len(data["tokens"]) > LONG
    _mount(key=KEY, data=data, on_select_change=lambda: on_select(int(st.session_state[KEY]["select"])))


def _bare_token(piece: bytes, index: int) -> dict[str, Any]:
    return {
        "parts": [[part.text, part.mark] for part in parts(piece)],
        "ends_line": piece.endswith(b"\n"),
        "spoken": f"token {index}: {label(piece)}",
        "title": label(piece, longest=60),
        "level": 0,
        "number": "",
        "facts": [],
    }


def _token(trace: Trace, score: Score, index: int, collapse: int | None) -> dict[str, Any]:
    bare = _bare_token(trace.pieces[index], index)
    value = float(score.collapse[index])
    probability = math.exp(trace.logprobs[index])
    shown = _number(value, places=2)
    note = ", the collapse" if index == collapse else ""
    return bare | {
        "level": _level(value),
        "number": shown,
        "spoken": f"{bare['spoken']}, probability {probability:.2f}, collapse {shown}{note}",
        "subtitle": f"token {index}{note}",
        "facts": _facts(trace, score, index),
        "alternatives": _alternatives(trace, index),
    }


def _level(collapse: float) -> float:
    """Strength of the colour: the share of a sure model's confidence that is lost."""
    return 0.0 if math.isnan(collapse) else 1 - math.exp(-max(collapse, 0.0))


def _facts(trace: Trace, score: Score, index: int) -> list[tuple[str, str]]:
    row = None if score.layer is None else score.layers.index(score.layer)
    facts = [
        ("probability", f"{math.exp(trace.logprobs[index]):.4f}"),
        ("entropy", f"{trace.entropies[index]:.3f} nats"),
    ]
    if row is not None:
        attention = score.attention[row][index - 1] if index else np.nan
        facts.append((f"attention, layer {score.layer} head {score.heads[row]}", _number(attention)))
        facts.append((f"confidence c, layer {score.layer}", _number(score.confidence[row][index])))
    by_signal, by_attention = score.collapse_shares[index]
    facts.append(("collapse", _number(score.collapse[index])))
    facts.append((f"from {score.settings.signal}, attention", f"{_number(by_signal)}, {_number(by_attention)}"))
    return facts


def _alternatives(trace: Trace, index: int) -> list[tuple[str, float, str, bool]]:
    chosen = int(trace.answer_ids[index])
    return [
        (visible(text) or "∅", math.exp(logprob), _probability(logprob), token == chosen)
        for token, text, logprob in trace.alternatives[index]
    ]


def _probability(logprob: float) -> str:
    return f"{math.exp(logprob):.3f}" if math.exp(logprob) >= 0.0005 else "<0.001"


def _number(value: float, places: int = 3) -> str:
    """A number with a minus that reads as one, none on a rounded zero; a dash where it is undefined."""
    return "–" if math.isnan(value) else f"{value:z.{places}f}".replace("-", "−").replace("inf", "∞")
