"""What the reader chooses: the run, the tokens, the layer, which answers, and how attention and quality are read."""

from dataclasses import replace
from typing import Any, get_args

import numpy as np
import streamlit as st

from analysis.runs.arrays import TokenChoice
from analysis.runs.opened import Run
from analysis.runs.shard import OFFSETS
from pages.ui import links, runs_at_hand, state
from pages.ui.answer_sets import place
from pages.ui.answer_sets.asked import LONGEST_TEXT, MOST_ROWS, Asked, Span, View, groups, marks_facts, written_span
from pages.ui.answer_sets.chosen import Chosen
from pages.ui.errors import printable
from pages.ui.settings_link import ALIGNMENT, ALPHA, SETTINGS, SIGNAL, written_settings
from rauq.labels import running
from rauq.settings import Settings, Signal, resolve
from rauq.trace import Alignment

_ALL = ""
_TOKEN_NAMES = {"all": "Whole answer", "fact": "Fact tokens", "other": "Other tokens"}
_NO_FACTS = "This run does not say which tokens carry the fact: its measure of quality does not know."
_STEPS = 20
_READ = (links.OFFSET, links.COUNT, links.CORRECT, links.INCORRECT, *SETTINGS)


def run_picker(name: str) -> None:
    """Choose among all runs."""
    st.session_state[place.PICKER] = name
    st.selectbox("Run", runs_at_hand.names(), key=place.PICKER, on_change=_choose_run)


def view_picker(names: dict[View, str], chosen: View) -> None:
    """Choose what is looked at."""
    _put(links.VIEW, chosen)
    st.segmented_control(
        "View",
        list(names),
        key=_key(links.VIEW),
        required=True,
        format_func=names.__getitem__,
        label_visibility="collapsed",
        on_change=_write,
        args=(links.VIEW, Asked().view),
    )


def token_switch(run: Run, asked: Asked) -> None:
    """Whole answer, fact tokens or the others; off, with the reason, where no answer of the run marks any."""
    _put(links.TOKENS, asked.tokens)
    known = marks_facts(run)
    st.segmented_control(
        "Attention over" if known else "Attention over (no fact tokens known)",
        get_args(TokenChoice),
        key=_key(links.TOKENS),
        required=True,
        disabled=not known,
        help=None if known else _NO_FACTS,
        format_func=_TOKEN_NAMES.__getitem__,
        on_change=_write,
        args=(links.TOKENS, "all"),
    )


def layer_picker(chosen: Chosen) -> None:
    """Choose a layer that has attention."""
    _put(links.LAYER, chosen.layer)
    st.selectbox("Layer", chosen.layers, key=_key(links.LAYER), on_change=_write, args=(links.LAYER, None))


def filters(chosen: Chosen) -> None:
    """Which answers are looked at; the button says how many of all."""
    all_of_them, own = len(chosen.run.answers), len(chosen.rows)
    label = f"All {own:,} answers" if own == all_of_them else f"{own:,} of {all_of_them:,} answers"
    popover = st.popover(label, key="answer_filters", width="stretch", on_change="rerun")
    if popover.open:
        with popover:
            _group(chosen)
            _span("Quality", links.QUALITY, chosen.run.answers["quality"].to_numpy(float), chosen.asked.filters.quality)
            _span("Tokens of the answer", links.LENGTH, chosen.run.lengths, chosen.asked.filters.length)
            _put(links.TEXT, printable(chosen.asked.filters.text))
            st.text_input(
                "Prompt or answer contains",
                key=_key(links.TEXT),
                max_chars=LONGEST_TEXT,
                on_change=_write,
                args=(links.TEXT, ""),
            )
            st.button("Look at all answers", key="all_answers", on_click=place.forget, args=(links.FILTERS,))


def reading(chosen: Chosen, *, offset: bool, sides: bool, rows: bool, score: bool) -> None:
    """How attention is read, and whatever else the view depends on."""
    settings = resolve(chosen.settings, chosen.run.answerer.kind)
    popover = st.popover(_reading_label(chosen), key="answer_reading", width="stretch", on_change="rerun")
    if popover.open:
        with popover:
            _setting("Alignment", ALIGNMENT, get_args(Alignment), chosen.run, settings)
            if offset:
                _put(links.OFFSET, chosen.asked.offset)
                options: dict[str, Any] = {"key": _key(links.OFFSET), "on_change": _write, "args": (links.OFFSET, 1)}
                st.segmented_control("Which preceding token", OFFSETS, required=True, **options)
            if sides:
                _threshold("Correct above", links.CORRECT, chosen, chosen.thresholds.correct)
                _threshold("Incorrect below", links.INCORRECT, chosen, chosen.thresholds.incorrect)
            if rows:
                _put(links.COUNT, chosen.asked.k)
                options = {"key": _key(links.COUNT), "on_change": _write, "args": (links.COUNT, Asked().k)}
                st.number_input("Best and worst answers, of each", 1, MOST_ROWS, **options)
            if score:
                _score(chosen.run, settings)
            st.button(
                "Back to the usual", key="usual", on_click=place.forget, args=(_READ,), disabled=_is_usual(chosen)
            )


def _group(chosen: Chosen) -> None:
    names = groups(chosen.run)
    if len(names) < 2:
        return
    _put(links.GROUP, chosen.asked.filters.group or _ALL)
    st.selectbox(
        "Group",
        list(dict.fromkeys((_ALL, *names))),
        key=_key(links.GROUP),
        format_func=lambda name: running(name) or "all groups",
        on_change=_write,
        args=(links.GROUP, _ALL),
    )


def _span(label: str, name: str, values: np.ndarray, chosen: Span) -> None:
    """A slider with two ends; none where there is nothing to choose among."""
    known = values[np.isfinite(values)]
    if not known.size or known.min() == known.max():
        return
    low, high = known.min().item(), known.max().item()
    _put(name, tuple(min(max(end, low), high) for end in chosen))
    options: dict[str, Any] = {"key": _key(name), "on_change": _write_span, "args": (name, (low, high))}
    st.slider(label, low, high, step=1 if isinstance(low, int) else (high - low) / _STEPS, **options)


def _threshold(label: str, name: str, chosen: Chosen, value: float) -> None:
    """A slider over the qualities of the run, wide enough for what is chosen."""
    quality = chosen.run.answers["quality"].to_numpy(float)
    known = np.append(quality[np.isfinite(quality)], [0.0, 1.0, value])
    _put(name, value)
    low, high = float(known.min()), float(known.max())
    options: dict[str, Any] = {"key": _key(name), "on_change": _write_threshold, "args": (name,)}
    st.slider(label, low, high, step=(high - low) / (5 * _STEPS), **options)


def _score(run: Run, settings: Settings) -> None:
    _setting("Signal", SIGNAL, get_args(Signal), run, settings)
    _put(ALPHA, settings.alpha)
    options: dict[str, Any] = {"key": _key(ALPHA), "on_change": _change_setting, "args": (ALPHA, run)}
    st.slider("alpha: weight of the signal", 0.0, 1.0, step=0.05, **options)


def _setting(label: str, name: str, choices: tuple[str, ...], run: Run, settings: Settings) -> None:
    _put(name, getattr(settings, name))
    options: dict[str, Any] = {"key": _key(name), "on_change": _change_setting, "args": (name, run)}
    st.segmented_control(label, choices, required=True, **options)


def _reading_label(chosen: Chosen) -> str:
    return "Attention, thresholds" if _is_usual(chosen) else "Attention, thresholds: changed"


def _is_usual(chosen: Chosen) -> bool:
    usual = replace(Asked(), view=chosen.asked.view, layer=chosen.asked.layer, tokens=chosen.asked.tokens)
    papers = written_settings(chosen.settings, chosen.run.answerer.kind)
    return replace(chosen.asked, filters=usual.filters) == usual and not any(papers.values())


def _choose_run() -> None:
    place.choose_run(st.session_state[place.PICKER])


def _write(name: str, usual: object) -> None:
    value = st.session_state[_key(name)]
    place.write(name, None if value == usual else str(value))


def _write_span(name: str, ends: tuple[float, float]) -> None:
    chosen = Span(*st.session_state[_key(name)])
    place.write(name, None if chosen == ends else written_span(chosen))


def _write_threshold(name: str) -> None:
    place.write(name, f"{st.session_state[_key(name)]:.6g}")


def _change_setting(name: str, run: Run) -> None:
    """Take over one changed setting; with another signal, alpha becomes the paper's for it."""
    kind = run.answerer.kind
    chosen = replace(resolve(place.settings(run), kind), **{name: st.session_state[_key(name)]})
    state.change_settings(resolve(replace(chosen, alpha=None), kind) if name == SIGNAL else chosen, kind)


def _put(name: str, value: object) -> None:
    st.session_state[_key(name)] = value


def _key(name: str) -> str:
    return f"answers_{name}"
