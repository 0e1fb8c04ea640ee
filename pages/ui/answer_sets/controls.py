"""What the reader chooses besides the answers: tokens, a layer, and how attention and quality are read."""

from dataclasses import replace
from typing import Any, get_args

import numpy as np
import streamlit as st

from analysis.runs.arrays import TokenChoice
from analysis.runs.opened import Run
from analysis.runs.shard import OFFSETS
from pages.ui import links, state
from pages.ui.answer_sets.asked import MOST_ROWS, Asked
from pages.ui.answer_sets.chosen import Chosen
from pages.ui.answer_sets.place import settings as asked_settings
from pages.ui.of_run import place
from pages.ui.of_run.controls import STEPS, key_of, put, write
from pages.ui.of_run.filters import marks_facts
from pages.ui.settings_link import ALIGNMENT, ALPHA, SETTINGS, SIGNAL, written_settings
from pages.ui.told import put_in_url
from rauq.settings import Settings, Signal, resolve
from rauq.trace import Alignment

_TOKEN_NAMES = {"all": "Whole answer", "fact": "Fact tokens", "other": "Other tokens"}
_NO_FACTS = "This run does not say which tokens carry the fact: its measure of quality does not know."
_READ = (links.OFFSET, links.COUNT, links.CORRECT, links.INCORRECT, *SETTINGS)


def token_switch(run: Run, asked: Asked) -> None:
    """Whole answer, fact tokens or the others; off, with the reason, where no answer of the run marks any."""
    put(links.TOKENS, asked.tokens)
    known = marks_facts(run)
    st.segmented_control(
        "Attention over" if known else "Attention over (no fact tokens known)",
        get_args(TokenChoice),
        key=key_of(links.TOKENS),
        required=True,
        disabled=not known,
        help=None if known else _NO_FACTS,
        format_func=_TOKEN_NAMES.__getitem__,
        on_change=write,
        args=(links.TOKENS, "all"),
    )


def layer_picker(chosen: Chosen) -> None:
    """Choose a layer that has attention."""
    put(links.LAYER, chosen.layer)
    st.selectbox("Layer", chosen.layers, key=key_of(links.LAYER), on_change=write, args=(links.LAYER, None))


def reading(chosen: Chosen, *, offset: bool, sides: bool, rows: bool, score: bool) -> None:
    """How attention is read, and whatever else the view depends on."""
    settings = resolve(chosen.settings, chosen.run.answerer.kind)
    popover = st.popover(_reading_label(chosen), key="answer_reading", width="stretch", on_change="rerun")
    if popover.open:
        with popover:
            _setting("Alignment", ALIGNMENT, get_args(Alignment), chosen.run, settings)
            if offset:
                put(links.OFFSET, chosen.asked.offset)
                options: dict[str, Any] = {"key": key_of(links.OFFSET), "on_change": write, "args": (links.OFFSET, 1)}
                st.segmented_control("Which preceding token", OFFSETS, required=True, **options)
            if sides:
                _threshold("Correct above", links.CORRECT, chosen, chosen.thresholds.correct)
                _threshold("Incorrect below", links.INCORRECT, chosen, chosen.thresholds.incorrect)
            if rows:
                put(links.COUNT, chosen.asked.k)
                options = {"key": key_of(links.COUNT), "on_change": write, "args": (links.COUNT, Asked().k)}
                st.number_input("Best and worst answers, of each", 1, MOST_ROWS, **options)
            if score:
                _score(chosen.run, settings)
            st.button(
                "Back to the usual", key="usual", on_click=place.forget, args=(_READ,), disabled=_is_usual(chosen)
            )


def _threshold(label: str, name: str, chosen: Chosen, value: float) -> None:
    """A slider over the qualities of the run, wide enough for what is chosen."""
    quality = chosen.run.answers["quality"].to_numpy(float)
    known = np.append(quality[np.isfinite(quality)], [0.0, 1.0, value])
    put(name, value)
    low, high = float(known.min()), float(known.max())
    options: dict[str, Any] = {"key": key_of(name), "on_change": _write_threshold, "args": (name,)}
    st.slider(label, low, high, step=(high - low) / (5 * STEPS), **options)


def _score(run: Run, settings: Settings) -> None:
    _setting("Signal", SIGNAL, get_args(Signal), run, settings)
    put(ALPHA, settings.alpha)
    options: dict[str, Any] = {"key": key_of(ALPHA), "on_change": _change_setting, "args": (ALPHA, run)}
    st.slider("alpha: weight of the signal", 0.0, 1.0, step=0.05, **options)


def _setting(label: str, name: str, choices: tuple[str, ...], run: Run, settings: Settings) -> None:
    put(name, getattr(settings, name))
    options: dict[str, Any] = {"key": key_of(name), "on_change": _change_setting, "args": (name, run)}
    st.segmented_control(label, choices, required=True, **options)


def _reading_label(chosen: Chosen) -> str:
    return "Attention, thresholds" if _is_usual(chosen) else "Attention, thresholds: changed"


def _is_usual(chosen: Chosen) -> bool:
    usual = replace(Asked(), view=chosen.asked.view, layer=chosen.asked.layer, tokens=chosen.asked.tokens)
    papers = written_settings(chosen.settings, chosen.run.answerer.kind)
    return replace(chosen.asked, filters=usual.filters) == usual and not any(papers.values())


def _write_threshold(name: str) -> None:
    put_in_url(name, f"{st.session_state[key_of(name)]:.6g}")


def _change_setting(name: str, run: Run) -> None:
    """Take over one changed setting; with another signal, alpha becomes the paper's for it."""
    kind = run.answerer.kind
    chosen = replace(resolve(asked_settings(run), kind), **{name: st.session_state[key_of(name)]})
    state.change_settings(resolve(replace(chosen, alpha=None), kind) if name == SIGNAL else chosen, kind)
