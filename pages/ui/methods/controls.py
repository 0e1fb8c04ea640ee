"""What the reader chooses besides the run and its answers: how rankings are measured, and which methods."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from analysis.methods.ablations import ablations
from analysis.methods.comparison import RAUQ, name_of
from analysis.stats import METRICS
from pages.ui import links
from pages.ui.methods.asked import written_methods
from pages.ui.methods.chosen import Chosen
from pages.ui.of_run.controls import choice, key_of, put, write
from pages.ui.of_run.filters import marks_facts
from pages.ui.settings_link import ALIGNMENT, SIGNAL
from pages.ui.told import put_in_url
from rauq.settings import Settings, signal_and_alpha

MOST_CURVES = 8

_SIGNALS = {"probability": "Probability", "entropy": "Entropy"}
_ALIGNMENTS = {"predicting": "Predicting", "own": "Own"}
_TOKENS = {"all": "Whole answer", "fact": "Fact tokens"}
_NO_FACTS = "This run does not say which tokens carry the fact: its measure of quality does not know."


def metric_switch(chosen: Chosen) -> None:
    """PRR or ROC-AUC."""
    choice("Ranked by", links.METRIC, METRICS, chosen.asked.metric, usual="prr")


def method_picker(chosen: Chosen) -> None:
    """Choose the method that is looked at."""
    _pick_method("Method", chosen.methods, chosen.method)


def other_picker(chosen: Chosen) -> None:
    """Choose the method that is set beside RAUQ."""
    others = tuple(method for method in chosen.methods if method != RAUQ) or (RAUQ,)
    _pick_method("RAUQ beside", others, chosen.other)


def methods_picker(chosen: Chosen) -> None:
    """Choose several methods to be drawn together."""
    put(links.METHODS, list(chosen.some_methods))
    st.multiselect(
        "Methods",
        chosen.methods,
        key=key_of(links.METHODS),
        format_func=name_of,
        max_selections=MOST_CURVES,
        on_change=_write_methods,
    )


def token_switch(chosen: Chosen) -> None:
    """The whole answer, or the tokens that carry the fact; off, with the reason, where no answer marks any."""
    known = marks_facts(chosen.run)
    choice(
        "Scored over" if known else "Scored over (no fact tokens known)",
        links.TOKENS,
        _TOKENS,
        chosen.asked.tokens,
        usual="all",
        disabled=not known,
        help=None if known else _NO_FACTS,
    )


def signal_switch(chosen: Chosen) -> None:
    """Which signal is swept, and how attention is aligned."""
    papers, _ = signal_and_alpha(Settings(), chosen.run.answerer.kind)
    with st.container(horizontal=True):
        choice("Signal", SIGNAL, _SIGNALS, chosen.signal, usual=papers)
        choice("Alignment", ALIGNMENT, _ALIGNMENTS, chosen.asked.alignment, usual="predicting")


def ablation_picker(chosen: Chosen) -> None:
    """Choose one of the paper's tables of ablations."""
    titles = {one.id: one.title for one in ablations(chosen.run.answerer.layers)}
    _pick("Table", links.TABLE, titles, chosen.table.id, usual=next(iter(titles)))


def _pick_method(label: str, methods: Sequence[str], chosen: str) -> None:
    _pick(label, links.METHOD, {method: name_of(method) for method in methods}, chosen, usual=None)


def _pick(label: str, name: str, titles: Mapping[str, str], chosen: str, *, usual: str | None) -> None:
    put(name, chosen)
    options: dict[str, Any] = {"key": key_of(name), "on_change": write, "args": (name, usual)}
    st.selectbox(label, list(titles), format_func=titles.__getitem__, **options)


def _write_methods() -> None:
    chosen = tuple(st.session_state[key_of(links.METHODS)])
    put_in_url(links.METHODS, written_methods(chosen) or None)
