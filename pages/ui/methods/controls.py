"""What the reader chooses on the page Methods: answers, methods, and how rankings are measured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from analysis.methods.ablations import Ablation, ablations
from analysis.methods.comparison import RAUQ, Group, groups_of, name_of
from analysis.quality.judgement import Thresholds
from analysis.runs.opened import Run
from analysis.stats import METRICS
from pages.ui.methods.query import Asked, written_methods
from pages.ui.shared import url_state
from pages.ui.shared.run_filters import marks_facts, passing
from pages.ui.shared.run_page import ChosenAnswers, choice, key_of, put, write
from pages.ui.shared.url_state import ALIGNMENT, SIGNAL, put_in_url
from rauq.scoring.settings import Settings, Signal, signal_and_alpha

PAGE = "methods"
_FEW = (RAUQ, "perplexity", "msp", "mean_token_entropy")


@dataclass(frozen=True, eq=False, kw_only=True)
class Chosen(ChosenAnswers):
    """Answers of a run, with what is asked of their methods."""

    page: str = PAGE
    can_move_thresholds: bool = False
    asked: Asked

    @property
    def methods(self) -> tuple[str, ...]:
        """The ids of the run's methods."""
        return self.run.methods

    @property
    def method(self) -> str:
        """The method that is looked at: where none is asked for, RAUQ, or else the run's first."""
        return self.asked.method or (RAUQ if RAUQ in self.methods else self.methods[0])

    @property
    def other(self) -> str:
        """The method that is set beside RAUQ: where none is asked for, perplexity, or else any."""
        wanted = (self.asked.method, *_FEW, *self.methods)
        return next((method for method in wanted if method in self.methods and method != RAUQ), RAUQ)

    @property
    def some_methods(self) -> tuple[str, ...]:
        """The methods that are drawn together: where none are asked for, RAUQ and three that need one generation."""
        return self.asked.methods or tuple(method for method in _FEW if method in self.methods) or self.methods[:4]

    @property
    def table(self) -> Ablation:
        """The table of ablations that is looked at."""
        known = ablations(self.run.answerer.layers)
        return next((one for one in known if one.id == self.asked.table), known[0])

    @property
    def signal(self) -> Signal:
        """The signal that is looked at: where none is asked for, the paper's for this kind of model."""
        return self.asked.signal or signal_and_alpha(Settings(), self.run.answerer.kind)[0]

    @cached_property
    def answers(self) -> pd.DataFrame:
        """The rows of the run's table (n,), their index the position among those chosen."""
        return self.run.answers.iloc[self.rows].reset_index(drop=True)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """All of these answers first, then those of each group."""
        return groups_of(list(self.answers["group"]))

    def uncertainties(self, methods: Sequence[str]) -> dict[str, np.ndarray]:
        """What each of these methods gave of the answers (n,)."""
        return {method: self.run.uncertainty(method)[self.rows] for method in methods}


def choose(name: str, run: Run, asked: Asked, usual: Thresholds) -> Chosen:
    """The answers that pass the filters."""
    rows = np.flatnonzero(passing(run, asked.filters))
    return Chosen(name=name, run=run, rows=rows, thresholds=usual, asked=asked)


MOST_CURVES = 8

_SIGNALS = {"probability": "Probability", "entropy": "Entropy"}
_ALIGNMENTS = {"predicting": "Predicting", "own": "Own"}
_TOKENS = {"all": "Whole answer", "fact": "Fact tokens"}
_NO_FACTS = "This run does not say which tokens carry the fact: its measure of quality does not know."


def metric_switch(chosen: Chosen) -> None:
    """PRR or ROC-AUC."""
    choice("Ranked by", url_state.METRIC, METRICS, chosen.asked.metric, usual="prr")


def method_picker(chosen: Chosen) -> None:
    """Choose the method that is looked at."""
    _pick_method("Method", chosen.methods, chosen.method)


def other_picker(chosen: Chosen) -> None:
    """Choose the method that is set beside RAUQ."""
    others = tuple(method for method in chosen.methods if method != RAUQ) or (RAUQ,)
    _pick_method("RAUQ beside", others, chosen.other)


def methods_picker(chosen: Chosen) -> None:
    """Choose several methods to be drawn together."""
    put(url_state.METHODS, list(chosen.some_methods))
    st.multiselect(
        "Methods",
        chosen.methods,
        key=key_of(url_state.METHODS),
        format_func=name_of,
        max_selections=MOST_CURVES,
        on_change=_write_methods,
    )


def token_switch(chosen: Chosen) -> None:
    """The whole answer, or the tokens that carry the fact; off, with the reason, where no answer marks any."""
    known = marks_facts(chosen.run)
    choice(
        "Scored over" if known else "Scored over (no fact tokens known)",
        url_state.TOKENS,
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
    _pick("Table", url_state.TABLE, titles, chosen.table.id, usual=next(iter(titles)))


def _pick_method(label: str, methods: Sequence[str], chosen: str) -> None:
    _pick(label, url_state.METHOD, {method: name_of(method) for method in methods}, chosen, usual=None)


def _pick(label: str, name: str, titles: Mapping[str, str], chosen: str, *, usual: str | None) -> None:
    put(name, chosen)
    options: dict[str, Any] = {"key": key_of(name), "on_change": write, "args": (name, usual)}
    st.selectbox(label, list(titles), format_func=titles.__getitem__, **options)


def _write_methods() -> None:
    chosen = tuple(st.session_state[key_of(url_state.METHODS)])
    put_in_url(url_state.METHODS, written_methods(chosen) or None)
