"""The choices on the page Methods: what its URL asks for, the answers chosen by it, and the fields."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Literal, get_args

import numpy as np
import pandas as pd
import streamlit as st

from analysis.methods.ablations import Ablation, ablations
from analysis.methods.attention_permutation import TokensScored
from analysis.methods.comparison import RAUQ, Group, Metric, groups_of, name_of
from analysis.paper import published_ref
from analysis.quality.judgement import Thresholds
from analysis.runs.opened import Run
from analysis.stats import METRICS
from pages.ui.host import runs
from pages.ui.shared import url_state
from pages.ui.shared.run_views.filters import FILTERS, Filters, groups, marks_facts, passing
from pages.ui.shared.run_views.page import ChosenAnswers, choice, key_of, put, write
from pages.ui.shared.url_state import (
    ALIGNMENT,
    BESIDE,
    GROUP,
    METHOD,
    METHODS,
    NAMES,
    SIGNAL,
    TABLE,
    TOKENS,
    Codec,
    Name,
    Read,
    one_of,
    text_of,
    update_url,
)
from rauq.scoring.settings import Settings, Signal, signal_and_alpha
from rauq.trace.trace import Alignment

PAGE = "methods"
View = Literal[
    "ranking", "rejection", "alpha", "ablations", "attention", "scores", "agreement", "errors", "supervised", "several"
]
OF_ONE_RUN = (METHOD, METHODS, TOKENS, *FILTERS)


def _read_methods(text: str) -> tuple[str, ...] | None:
    return tuple(dict.fromkeys(text.split("."))) if text else None


@dataclass(frozen=True, kw_only=True)
class Asked(Filters):
    """What is to be shown; None means the default.

    `method` is the one shown, or compared with RAUQ, and `methods` are drawn together. `table` is one of the
    ablations, `published` one of the paper's tables. The default signal is the paper's for the kind of model. `beside`
    are other runs, `layout` one of the tables over all of these.
    """

    view: Annotated[View, one_of(get_args(View))] = "ranking"
    metric: Annotated[Metric, one_of(get_args(Metric))] = "prr"
    method: Name = None
    methods: Annotated[tuple[str, ...] | None, Codec(_read_methods)] = None
    table: Name = None
    published: Annotated[str | None, Codec(published_ref)] = None
    tokens: Annotated[TokensScored, one_of(get_args(TokensScored))] = "all"
    signal: Annotated[Signal | None, one_of(get_args(Signal))] = None
    alignment: Annotated[Alignment, one_of(get_args(Alignment))] = "predicting"
    beside: Annotated[tuple[str, ...], NAMES] = ()
    layout: Name = None
    intervals: Annotated[Literal["no", "yes"], one_of(("no", "yes"))] = "no"


def fitted(asked: Asked, run: Run) -> Read[Asked]:
    """The same as far as the run can follow: unavailable methods, groups and tokens are replaced by defaults."""
    lacking = {
        METHOD: asked.method not in (None, *run.methods),
        METHODS: not set(asked.methods or ()) <= set(run.methods),
        TABLE: asked.table not in (None, *(ablation.id for ablation in ablations(run.answerer.layers))),
        TOKENS: asked.tokens != "all" and not marks_facts(run),
        GROUP: asked.group not in (None, *groups(run)),
        BESIDE: not set(asked.beside) <= set(runs.names()),
    }
    return url_state.without(asked, Asked(), lacking)


_FEW = (RAUQ, "perplexity", "msp", "mean_token_entropy")


@dataclass(frozen=True, eq=False, kw_only=True)
class Chosen(ChosenAnswers):
    """Answers of a run, with the options chosen for their methods."""

    page: str = PAGE
    can_move_thresholds: bool = False
    asked: Asked

    @property
    def methods(self) -> tuple[str, ...]:
        """Return the ids of the run's methods."""
        return self.run.methods

    @property
    def method(self) -> str:
        """Return the method shown; by default RAUQ, or else the run's first."""
        return self.asked.method or (RAUQ if RAUQ in self.methods else self.methods[0])

    @property
    def other(self) -> str:
        """Return the method compared with RAUQ; by default perplexity, or else any."""
        wanted = (self.asked.method, *_FEW, *self.methods)
        return next((method for method in wanted if method in self.methods and method != RAUQ), RAUQ)

    @property
    def some_methods(self) -> tuple[str, ...]:
        """Return the methods drawn together; by default RAUQ and three that need one generation."""
        return self.asked.methods or tuple(method for method in _FEW if method in self.methods) or self.methods[:4]

    @property
    def table(self) -> Ablation:
        """Return the table of ablations shown."""
        known = ablations(self.run.answerer.layers)
        return next((one for one in known if one.id == self.asked.table), known[0])

    @property
    def signal(self) -> Signal:
        """Return the signal shown; by default the paper's for this kind of model."""
        return self.asked.signal or signal_and_alpha(Settings(), self.run.answerer.kind)[0]

    @cached_property
    def answers(self) -> pd.DataFrame:
        """Return the rows of the run's table (n,), their index the position among those chosen."""
        return self.run.answers.iloc[self.rows].reset_index(drop=True)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Return all of these answers first, then those of each group."""
        return groups_of(list(self.answers["group"]), clusters=self.run.clusters[self.rows])

    def uncertainties(self, methods: Sequence[str]) -> dict[str, np.ndarray]:
        """Return the uncertainties (n,) of the answers by each of these methods."""
        return {method: self.run.uncertainty(method)[self.rows] for method in methods}


def choose(name: str, run: Run, asked: Asked, usual: Thresholds) -> Chosen:
    """Return the answers that pass the filters."""
    rows = np.flatnonzero(passing(run, asked))
    ids = {method: method for method in run.methods}  # these tell the names of the user's own methods
    shown, together = ids.get(asked.method or ""), tuple(ids[method] for method in asked.methods or ())
    asked = replace(asked, method=shown, methods=together or None)
    return Chosen(name=name, run=run, rows=rows, thresholds=usual, asked=asked)


MOST_CURVES = 8

_SIGNALS = {"probability": "Probability", "entropy": "Entropy"}
_ALIGNMENTS = {"predicting": "Predicting", "own": "Own"}
_TOKENS = {"all": "Whole answer", "fact": "Fact tokens"}
_NO_FACTS = "Fact tokens are unknown in this run: its measure of quality does not mark them."


def metric_switch(chosen: Chosen) -> None:
    """Choose PRR or ROC-AUC."""
    choice("Ranked by", url_state.METRIC, METRICS, chosen.asked.metric, usual="prr")


def method_picker(chosen: Chosen) -> None:
    """Choose the method shown."""
    _pick_method("Method", chosen.methods, chosen.method)


def other_picker(chosen: Chosen) -> None:
    """Choose the method compared with RAUQ."""
    others = tuple(method for method in chosen.methods if method != RAUQ) or (RAUQ,)
    _pick_method("Compare RAUQ with", others, chosen.other)


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
    """Choose the whole answer or its fact tokens; disabled, with the reason, if no answer has any."""
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
    """Choose the signal of the sweep, and the alignment of attention."""
    papers, _ = signal_and_alpha(Settings(), chosen.run.answerer.kind)
    with st.container(horizontal=True):
        choice("Signal", SIGNAL, _SIGNALS, chosen.signal, usual=papers)
        choice("Alignment", ALIGNMENT, _ALIGNMENTS, chosen.asked.alignment, usual="predicting")


def ablation_picker(chosen: Chosen) -> None:
    """Choose one of the paper's tables of ablations."""
    titles = {ablation.id: ablation.title for ablation in ablations(chosen.run.answerer.layers)}
    _pick("Table", url_state.TABLE, titles, chosen.table.id, usual=next(iter(titles)))


def _pick_method(label: str, methods: Sequence[str], chosen: str) -> None:
    _pick(label, url_state.METHOD, {method: name_of(method) for method in methods}, chosen, usual=None)


def _pick(label: str, name: str, titles: Mapping[str, str], chosen: str, *, usual: str | None) -> None:
    put(name, chosen)
    options: dict[str, Any] = {"key": key_of(name), "on_change": write, "args": (name, usual)}
    st.selectbox(label, list(titles), format_func=titles.__getitem__, **options)


def _write_methods() -> None:
    chosen = tuple(st.session_state[key_of(url_state.METHODS)])
    update_url({url_state.METHODS: text_of(chosen) or None})
