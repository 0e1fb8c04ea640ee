"""The choices on the page Methods: what its URL asks for, the answers chosen by it, and the fields."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Annotated, Any, Literal, get_args

import numpy as np
import streamlit as st

from analysis.methods.ablations import ablations
from analysis.methods.attention_permutation import TokensScored
from analysis.methods.comparison import Metric, name_of
from analysis.paper import published_ref
from analysis.quality.judgement import Thresholds
from analysis.runs.opened import Run
from analysis.stats import METRICS
from analysis.survival.tokens import OF_A_RUN
from analysis.tokens.sentences import SIGNAL_NAMES
from analysis.views.all_views import OF_METHODS
from analysis.views.methods import Choices, base_of, usual
from pages.ui.host import runs
from pages.ui.shared import url_state
from pages.ui.shared.run_views.filters import FILTERS, Filters, groups, marks_facts, passing
from pages.ui.shared.run_views.page import ChosenAnswers, choice, key_of, put, write
from pages.ui.shared.run_views.picker import Listed
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
from rauq.scoring.settings import Signal
from rauq.trace.trace import Alignment

PAGE = "methods"
SUPERVISED, SEVERAL, OWN_SCORES = "supervised", "several", "own_scores"  # views that this page alone has
_WITHIN = {view.id: view.within for view in OF_METHODS if view.within}
_BEYOND = "Other detectors and runs"
_VIEWS = {view.id: Listed(view.topic, view.title) for view in OF_METHODS} | {
    SUPERVISED: Listed(_BEYOND, "Supervised"),
    SEVERAL: Listed(_BEYOND, "Several runs"),
    OWN_SCORES: Listed("What does the ranking rest on?", "Your own file"),
}
TITLES = MappingProxyType({view: one.title for view, one in _VIEWS.items()})
LISTED = MappingProxyType({view: one for view, one in _VIEWS.items() if view not in _WITHIN})
"""The views that can be picked; another one is reached from that in `SHOWN_AS`."""
SHOWN_AS = MappingProxyType({view: _WITHIN.get(view, view) for view in TITLES})
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

    view: Annotated[str, one_of(TITLES)] = OF_METHODS[0].id
    metric: Annotated[Metric, one_of(get_args(Metric))] = "prr"
    method: Name = None
    methods: Annotated[tuple[str, ...] | None, Codec(_read_methods)] = None
    table: Name = None
    published: Annotated[str | None, Codec(published_ref)] = None
    tokens: Annotated[TokensScored, one_of(get_args(TokensScored))] = "all"
    token_signal: Annotated[str, one_of(OF_A_RUN)] = OF_A_RUN[0]
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


@dataclass(frozen=True, eq=False, kw_only=True)
class Chosen(ChosenAnswers):
    """Answers of a run, with the options chosen for their methods."""

    page: str = PAGE
    can_move_thresholds: bool = False
    asked: Asked

    @cached_property
    def choices(self) -> Choices:
        """Return what views depend on: what the URL asks for, and where it asks for nothing what is usual."""
        asked, default, base = self.asked, usual(self.run), base_of(self.run)
        return Choices(
            metric=asked.metric,
            method=asked.method or default.method,
            other=default.other if asked.method in (None, base) else asked.method,
            methods=asked.methods or default.methods,
            table=asked.table or default.table,
            tokens=asked.tokens,
            token_signal=asked.token_signal,
            signal=asked.signal or default.signal,
            alignment=asked.alignment,
        )


def choose(name: str, run: Run, asked: Asked, thresholds: Thresholds) -> Chosen:
    """Return the answers that pass the filters."""
    rows = np.flatnonzero(passing(run, asked))
    ids = {method: method for method in run.methods}  # these tell the names of the user's own methods
    shown, together = ids.get(asked.method or ""), tuple(ids[method] for method in asked.methods or ())
    asked = replace(asked, method=shown, methods=together or None)
    return Chosen(name=name, run=run, rows=rows, thresholds=thresholds, asked=asked)


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
    _pick_method("Method", chosen.run.methods, chosen.choices.method)


def other_picker(chosen: Chosen) -> None:
    """Choose the method compared with RAUQ, or with what stands for it in a run without RAUQ."""
    base = base_of(chosen.run)
    others = tuple(method for method in chosen.run.methods if method != base) or (base,)
    _pick_method(f"Compare {name_of(base)} with", others, chosen.choices.other)


def methods_picker(chosen: Chosen) -> None:
    """Choose several methods to be drawn together."""
    put(url_state.METHODS, list(chosen.choices.methods))
    st.multiselect(
        "Methods",
        chosen.run.methods,
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


def token_signal_picker(chosen: Chosen) -> None:
    """Choose a signal of single tokens."""
    titles: dict[str, str] = {name: SIGNAL_NAMES[name] for name in OF_A_RUN}
    _pick("Signal", url_state.TOKEN_SIGNAL, titles, chosen.asked.token_signal, usual=OF_A_RUN[0])


def signal_switch(chosen: Chosen) -> None:
    """Choose the signal of the sweep, and the alignment of attention."""
    with st.container(horizontal=True):
        choice("Signal", SIGNAL, _SIGNALS, chosen.choices.signal, usual=usual(chosen.run).signal)
        choice("Alignment", ALIGNMENT, _ALIGNMENTS, chosen.asked.alignment, usual="predicting")


def ablation_picker(chosen: Chosen) -> None:
    """Choose one of the paper's tables of ablations."""
    titles = {ablation.id: ablation.title for ablation in ablations(chosen.run.answerer.layers)}
    _pick("Table", url_state.TABLE, titles, chosen.choices.table, usual=next(iter(titles)))


PICKERS: Mapping[str, Callable[[Chosen], None]] = MappingProxyType(
    {
        "methods": methods_picker,
        "signal": signal_switch,
        "table": ablation_picker,
        "tokens": token_switch,
        "method": method_picker,
        "token_signal": token_signal_picker,
        "other": other_picker,
    }
)
"""The field beside the metric, by what a view needs."""


def _pick_method(label: str, methods: Sequence[str], chosen: str) -> None:
    _pick(label, url_state.METHOD, {method: name_of(method) for method in methods}, chosen, usual=None)


def _pick(label: str, name: str, titles: Mapping[str, str], chosen: str, *, usual: str | None) -> None:
    put(name, chosen)
    options: dict[str, Any] = {"key": key_of(name), "on_change": write, "args": (name, usual)}
    st.selectbox(label, list(titles), format_func=titles.__getitem__, **options)


def _write_methods() -> None:
    chosen = tuple(st.session_state[key_of(url_state.METHODS)])
    update_url({url_state.METHODS: text_of(chosen) or None})
