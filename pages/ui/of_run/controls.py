"""What the reader chooses on every page about a run: the run, the view, and which answers."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import streamlit as st

from pages.ui import links, runs_at_hand
from pages.ui.errors import printable
from pages.ui.of_run import place
from pages.ui.of_run.chosen import ChosenAnswers
from pages.ui.of_run.filters import LONGEST_TEXT, Filters, Span, groups, written_span
from pages.ui.told import by_the_user, put_in_url
from rauq.labels import running

STEPS = 20  # of a slider

_ALL = ""


def run_picker(page: str, name: str, *, of_one_run: Iterable[str]) -> None:
    """Choose among all runs; what the URL says `of_one_run` goes with another."""
    key = place.picker(page)
    st.session_state[key] = name
    st.selectbox("Run", runs_at_hand.names(), key=key, on_change=_choose_run, args=(key, of_one_run))


def view_picker(names: Mapping[str, str], chosen: str, *, usual: str) -> None:
    """Choose what is looked at."""
    choice("View", links.VIEW, names, chosen, usual=usual, label_visibility="collapsed")


def choice(label: str, name: str, names: Mapping[Any, str], chosen: object, *, usual: object, **options: Any) -> None:  # noqa: ANN401 - those of Streamlit
    """Choose one of a few, by what they are called."""
    put(name, chosen)
    st.segmented_control(
        label,
        list(names),
        key=key_of(name),
        required=True,
        format_func=names.__getitem__,
        on_change=write,
        args=(name, usual),
        **options,
    )


def filters(chosen: ChosenAnswers, asked: Filters) -> None:
    """Which answers are looked at; the button says how many of all."""
    all_of_them, own = len(chosen.run.answers), len(chosen.rows)
    label = f"All {own:,} answers" if own == all_of_them else f"{own:,} of {all_of_them:,} answers"
    popover = st.popover(label, key="answer_filters", width="stretch", on_change="rerun")
    if popover.open:
        with popover:
            _group(chosen, asked.group)
            _span("Quality", links.QUALITY, chosen.run.answers["quality"].to_numpy(float), asked.quality)
            _span("Tokens of the answer", links.LENGTH, chosen.run.lengths, asked.length)
            put(links.TEXT, printable(asked.text))
            st.text_input(
                "Prompt or answer contains",
                key=key_of(links.TEXT),
                max_chars=LONGEST_TEXT,
                on_change=write,
                args=(links.TEXT, ""),
            )
            st.button("Look at all answers", key="all_answers", on_click=place.forget, args=(links.FILTERS,))


@by_the_user
def write(name: str, usual: object) -> None:
    """Write what was chosen into the URL, or, where it is the usual, take it out."""
    value = st.session_state[key_of(name)]
    put_in_url(name, None if value == usual else str(value))


def put(name: str, value: object) -> None:
    """Let the widget of a parameter show this value."""
    st.session_state[key_of(name)] = value


def key_of(name: str) -> str:
    """The key of the widget of a parameter."""
    return f"answers_{name}"


def _group(chosen: ChosenAnswers, asked: str | None) -> None:
    names = groups(chosen.run)
    if len(names) < 2:
        return
    put(links.GROUP, asked or _ALL)
    st.selectbox(
        "Group",
        list(dict.fromkeys((_ALL, *names))),
        key=key_of(links.GROUP),
        format_func=lambda name: running(name) or "all groups",
        on_change=write,
        args=(links.GROUP, _ALL),
    )


def _span(label: str, name: str, values: np.ndarray, chosen: Span) -> None:
    """A slider with two ends; none where there is nothing to choose among."""
    known = values[np.isfinite(values)]
    if not known.size or known.min() == known.max():
        return
    low, high = known.min().item(), known.max().item()
    put(name, tuple(min(max(end, low), high) for end in chosen))
    options: dict[str, Any] = {"key": key_of(name), "on_change": _write_span, "args": (name, (low, high))}
    st.slider(label, low, high, step=1 if isinstance(low, int) else (high - low) / STEPS, **options)


def _choose_run(key: str, of_one_run: Iterable[str]) -> None:
    put_in_url(links.RUN, st.session_state[key])
    place.forget(of_one_run)


def _write_span(name: str, ends: tuple[float, float]) -> None:
    chosen = Span(*st.session_state[key_of(name)])
    put_in_url(name, None if chosen == ends else written_span(chosen))
