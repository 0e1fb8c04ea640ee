"""What the page remembers: session keys, the selection of layer, head and token, and their place in the URL.

A layer, a head or a token stands in the URL only once the user has chosen it; until then the page shows the layer
that decided and the head that was picked in it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast, get_args

import streamlit as st

from pages.ui.recorded import recordings
from rauq.atlas.recorded import Recorded
from rauq.score import Score
from rauq.settings import Settings, Signal, resolve
from rauq.trace import Alignment, Kind, Trace

PROMPT, ANSWER, TASK, MODEL, OTHER_MODEL, LIMIT = "prompt", "answer", "task", "model", "other_model", "max_new_tokens"
SIGNAL, ALPHA, ALIGNMENT = "signal", "alpha", "alignment"
LAYER, HEAD, TOKEN = "layer", "head", "token"
JOB, TRACE, NOTE, NOTICE = "_job", "_trace", "_note", "_notice"
_VERDICT = {True: "right", False: "wrong"}
_ALPHA = re.compile(r"0(\.\d{1,4})?|1(\.0{1,4})?", re.ASCII)


@dataclass(frozen=True)
class Selection:
    """What the linked views show: absolute layer, head, and an answer token or None for the whole answer."""

    layer: int
    head: int
    token: int | None


def selection(trace: Trace, score: Score) -> Selection:
    """The user's choice where there is one, brought into range; else the deciding layer and its picked head."""
    layer = score.layers[0] if score.layer is None else score.layer
    asked_layer, asked_head, asked_token = (_from_url(name) for name in (LAYER, HEAD, TOKEN))
    if asked_layer is not None:
        layer = nearest(trace.layers, asked_layer)
    picked = int(score.heads[score.layers.index(layer)]) if layer in score.layers else 0
    head = max(picked, 0) if asked_head is None else nearest(range(trace.num_heads), asked_head)
    token = None if asked_token is None else nearest(range(len(trace.pieces)), asked_token)
    found = Selection(layer, head, token)
    _correct(found, (asked_layer, asked_head, asked_token))
    return found


def choose_head(layer: int, head: int) -> None:
    """Select a head; it stays selected whatever the settings pick."""
    st.query_params.update({LAYER: str(layer), HEAD: str(head)})


def choose_token(token: int) -> None:
    """Select an answer token, or, if it is the selected one, the whole answer again."""
    if st.query_params.get(TOKEN) == str(token):
        del st.query_params[TOKEN]
    else:
        st.query_params[TOKEN] = str(token)


def show(trace: Trace) -> None:
    """Show another trace, and forget what was selected in the one before."""
    if st.session_state.get(TRACE) is not None:
        for name in (LAYER, HEAD, TOKEN):
            st.query_params.pop(name, None)
    st.session_state[TRACE] = trace
    st.session_state[NOTE] = ""


def current_trace() -> Trace | None:
    """The trace to look into: that of the job which has just finished, or the one before, or a recorded one."""
    job = st.session_state.get(JOB)
    if job is not None and job.trace is not None and job.trace is not st.session_state.get(TRACE):
        show(job.trace)
    elif TRACE not in st.session_state and (recorded := recordings()):
        open_recorded(recorded[0])
    return st.session_state.get(TRACE)


def open_recorded(recorded: Recorded) -> None:
    """Show a recorded generation and put its prompt into the form; a job at work is stopped."""
    if job := st.session_state.pop(JOB, None):
        job.cancel.set()
    show(recorded.trace())
    st.session_state[NOTE] = f"Recorded; the answer is {_VERDICT[recorded.correct]}. {recorded.what_to_see}"
    st.session_state[PROMPT] = st.session_state[TRACE].prompt


def nearest(allowed: Sequence[int], asked: int) -> int:
    """The allowed number closest to the one that was asked for."""
    return min(allowed, key=lambda number: abs(number - asked))


def _from_url(name: str) -> int | None:
    value = st.query_params.get(name, "")
    return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else None


def _correct(found: Selection, asked: tuple[int | None, ...]) -> None:
    """Write what is shown back to the URL where that asked for something else, and tell the user."""
    shown = (found.layer, found.head, found.token)
    wrong = [name for name, old, new in zip((LAYER, HEAD, TOKEN), asked, shown, strict=True) if old not in (None, new)]
    for name in wrong:
        st.query_params[name] = str(getattr(found, name))
    if wrong:
        st.session_state[NOTICE] = f"This answer has no such {' or '.join(wrong)}: the nearest is shown."


def settings() -> Settings:
    """The settings of the URL; whatever it does not name, or names wrongly, follows the paper."""
    alpha, signal, alignment = (st.query_params.get(name, "") for name in (ALPHA, SIGNAL, ALIGNMENT))
    return Settings(
        alpha=float(alpha) if _ALPHA.fullmatch(alpha) else None,
        signal=cast("Signal", signal) if signal in get_args(Signal) else None,
        alignment=cast("Alignment", alignment) if alignment in get_args(Alignment) else "predicting",
    )


def change_settings(chosen: Settings, kind: Kind) -> None:
    """Write settings to the URL, leaving out what is the paper's for this kind of model anyway."""
    paper = resolve(Settings(), kind)
    papers_alpha = resolve(Settings(signal=chosen.signal), kind).alpha
    shown = {
        SIGNAL: None if chosen.signal == paper.signal else chosen.signal,
        ALPHA: None if chosen.alpha in (None, papers_alpha) else f"{chosen.alpha:g}",
        ALIGNMENT: None if chosen.alignment == paper.alignment else chosen.alignment,
    }
    for name, value in shown.items():
        if value is None:
            st.query_params.pop(name, None)
        else:
            st.query_params[name] = value
