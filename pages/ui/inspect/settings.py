"""The drawer Scoring: how the answer is scored, the way back to the paper's setting, and offers of other settings."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

import streamlit as st

from pages.ui.shared import selection, state, url_state
from pages.ui.shared.measure import choose_measure, measure, measure_of_given
from pages.ui.shared.settings_form import SettingsForm, settings_form
from rauq.scoring.report import BLIND_TO_TOKENS, attention_adds_little, was_given
from rauq.scoring.score import Measure, Score
from rauq.scoring.settings import is_paper_setting
from rauq.trace.trace import Kind, Trace

_HALF = 0.5  # alpha with which signal and attention weigh the same
_MOST_NAMED = 2  # settings on the closed drawer


_MEASURES: Mapping[Measure, str] = MappingProxyType({"surprisal": "Largest surprisal", "rauq": "RAUQ"})
_BY = "score_by"


def scoring_drawer(trace: Trace | None, *, without_loop: bool) -> None:
    """What changes the settings of the URL; the closed drawer names what is not the paper's.

    `trace` None: the answer is not there yet. `without_loop`: its repetition is left out of the score.
    """
    form, reader = _form(*([trace] if trace else [])), _reader(trace)
    by = measure(trace) if trace else measure_of_given() if reader else "rauq"
    label = _label(form, by) + (", without the repetition" if without_loop else "")
    with st.popover(label, key="scoring"):
        if reader:
            _measure_field(by, reader)
        if by == "rauq":
            settings_form(form)
        _badge(form, by, given=reader is not None)


def _reader(trace: Trace | None) -> str | None:
    """The model that reads an answer which it did not write, shown or asked for by the URL; None for another answer."""
    if trace is not None:
        return trace.model if was_given(trace) else None
    asked = url_state.read_asked(st.query_params.to_dict())
    return asked.model if asked and asked.answer is not None else None


def _label(form: SettingsForm, by: Measure) -> str:
    if by == "surprisal":
        return "Scoring: largest surprisal"
    changed = url_state.written_settings(form.read(), form.kinds[0])
    named = [f"{name} {text}".replace("_", " ") for name, text in changed.items() if text is not None]
    if not named:
        return "Scoring: paper's"
    more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    return f"Scoring: {', '.join(named[:_MOST_NAMED])}{more}"


def _measure_field(by: Measure, reader: str) -> None:
    """The choice between what finds errors in an answer that the model did not write, and RAUQ."""
    from analysis.evidence.written import why_surprisal

    st.session_state[_BY] = by
    options: dict[str, Any] = {"format_func": _MEASURES.__getitem__, "key": _BY, "on_change": _take_measure}
    st.segmented_control("Score by", list(_MEASURES), required=True, **options)
    st.caption(why_surprisal(reader))


@url_state.by_the_user
def _take_measure() -> None:
    choose_measure(st.session_state[_BY])


def offer_surprisal(trace: Trace, score: Score) -> None:
    """A line and a button where a given answer is scored by what does not depend on its tokens."""
    if score.by == "surprisal" or score.settings.signal != "entropy" or not was_given(trace):
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(BLIND_TO_TOKENS, width="content")
        options: dict[str, Any] = {"key": "by_surprisal", "type": "tertiary", "on_click": choose_measure}
        st.button("Score by the largest surprisal", args=("surprisal",), **options)


def more_attention(trace: Trace, score: Score) -> dict[str, Any] | None:
    """The offer of settings under which attention counts as much as the signal, where it hardly counts."""
    if score.by == "surprisal" or not attention_adds_little(trace, score):
        return None
    return {"label": f"Try alpha {_HALF:g}, where attention weighs {100 * (1 - _HALF):.0f} %"}


def take_more_attention(trace: Trace, score: Score) -> None:
    """Score with the settings that `more_attention` offers, if it offers any."""
    if more_attention(trace, score) is not None:
        state.change_settings(replace(score.settings, alpha=_HALF), trace.kind)


def _form(*traces: Trace) -> SettingsForm:
    selected = partial(selection.chosen, *traces) if traces else None
    read = partial(state.settings, *traces)
    asked = url_state.read_asked(st.query_params.to_dict())
    kind: Kind = (asked and asked.kind) or "base"
    return SettingsForm(answers=traces, kind=kind, read=read, write=state.change_settings, selected=selected)


def _badge(form: SettingsForm, by: Measure, *, given: bool) -> None:
    papers = by == "rauq" and is_paper_setting(form.read(), *form.kinds)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.badge("the paper's setting" if papers else "not the paper's setting", color="gray" if papers else "orange")
        options: dict[str, Any] = {"key": "paper", "on_click": choose_measure, "type": "tertiary"}
        st.button("Reset to paper's setting", args=("rauq" if given else None,), disabled=papers, **options)
