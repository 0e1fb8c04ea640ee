"""The choices on the page Answer sets: what its URL asks for, the answers chosen by it, and the fields."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple, get_args

import numpy as np
import streamlit as st

from analysis.methods.added_heads import SIZES
from analysis.quality.judgement import Thresholds
from analysis.runs.attention import TokenChoice
from analysis.runs.files.arrays import OFFSETS
from analysis.runs.opened import Run
from analysis.views import answer_sets
from analysis.views.answer_set import Choices
from analysis.views.answer_sets import MEANING
from pages.ui.shared import state, url_state
from pages.ui.shared.run_views import filters as run_filters
from pages.ui.shared.run_views.filters import FILTERS, NUMBER_PATTERN, Filters, groups, marks_facts, passing
from pages.ui.shared.run_views.page import STEPS, ChosenAnswers, default_thresholds, key_of, put, write
from pages.ui.shared.run_views.picker import Listed
from pages.ui.shared.url_state import (
    ALIGNMENT,
    ALPHA,
    CORRECT,
    FIRST,
    GROUP,
    HEAD,
    INCORRECT,
    LAYER,
    LAYERS,
    SECOND,
    SETTINGS,
    SIGNAL,
    TOKENS,
    Codec,
    Name,
    Number,
    Read,
    matching,
    one_of,
    text_of,
    update_url,
    written,
    written_settings,
)
from rauq.errors import InvalidInput
from rauq.scoring.declaration import declared
from rauq.scoring.settings import Settings, resolve, window

PAGE = "answer_sets"
VIEWS = tuple(view for view in answer_sets.VIEWS if not view.within)
ANSWERS = "answers"  # a list, which this page alone has
LISTED = MappingProxyType(
    {view.id: Listed(view.topic, view.title) for view in VIEWS} | {ANSWERS: Listed(MEANING.topic, "Answers")}
)
TITLES = MappingProxyType({view: one.title for view, one in LISTED.items()})
_FORMER = MappingProxyType({"separation": "heads"})  # names that older links have
_ADDRESSES = {name: name for name in TITLES}
WHOLE = "all:"  # of two maps of heads: all answers on the left, all other groups on the right
ANOTHER_RUN = "run:"  # before its name
MOST_ROWS = 50  # best and worst answers, of each
OF_ONE_RUN = (LAYER, HEAD, TOKENS, CORRECT, INCORRECT, FIRST, SECOND, *FILTERS)

_Quality = Annotated[float | None, Codec(matching(NUMBER_PATTERN, float))]


@dataclass(frozen=True, kw_only=True)
class Asked(Filters):
    """What is to be shown; a layer of None is the middle one, thresholds of None are those of the run's measure.

    `first` and `second` are what two maps of heads are of, as `pages.ui.answer_sets.carry_over` names it.
    """

    view: Annotated[str, Codec((_ADDRESSES | _FORMER).get)] = VIEWS[0].id
    layer: Number = None
    head: Number = None
    tokens: Annotated[TokenChoice, one_of(get_args(TokenChoice))] = "all"
    offset: Annotated[int, one_of(OFFSETS)] = 1
    k: Annotated[int, one_of(range(1, MOST_ROWS + 1))] = 10
    added: Annotated[int, one_of(SIZES)] = 5
    first: Name = None
    second: Name = None
    listed: Annotated[Literal["all", "unclear"], one_of(("all", "unclear"))] = "all"
    above: _Quality = None
    below: _Quality = None


def asked(run: Run, usual: Thresholds) -> Asked:
    """What the URL asks for; unusable parameters are removed with a notice."""
    return run_filters.asked(Asked(), lambda found: fitted(found, run, usual))


def fitted(asked: Asked, run: Run, usual: Thresholds) -> Read[Asked]:
    """The same as far as the run can follow: unavailable layers, groups and tokens are replaced by defaults."""
    chosen = thresholds(asked, usual)
    crossed = chosen.incorrect > chosen.correct
    lacking = {
        LAYER: asked.layer not in (None, *run.answerer.layers),
        HEAD: asked.head not in (None, *range(run.answerer.num_heads)),
        TOKENS: asked.tokens != "all" and not marks_facts(run),
        GROUP: asked.group not in (None, *groups(run)),
        FIRST: asked.first not in (None, WHOLE, *groups(run)),
        SECOND: asked.second not in (None, WHOLE, *groups(run)) and not str(asked.second).startswith(ANOTHER_RUN),
        CORRECT: crossed,
        INCORRECT: crossed,
    }
    return url_state.without(asked, Asked(), lacking)


def thresholds(asked: Asked, usual: Thresholds) -> Thresholds:
    """The thresholds that are asked for, else the measure's."""
    return replace(
        usual,
        correct=usual.correct if asked.above is None else asked.above,
        incorrect=usual.incorrect if asked.below is None else asked.below,
    )


class _Captured(NamedTuple):
    """What settings have to suit: the layers that a run stores per token."""

    layers: tuple[int, ...]
    num_layers: int
    num_heads: int


def settings(run: Run) -> Settings:
    """The settings of the URL, as far as the stored layers of the run allow."""
    captured = _Captured(run.stored_layers, run.answerer.num_layers, run.answerer.num_heads)
    found = state.settings(captured)
    if _needs_others(found, run):
        state.notify("This run does not store all layers per token, so the score uses the middle layers.")
        url_state.drop(LAYERS)
        return settings(run)
    return found


def _needs_others(settings: Settings, run: Run) -> bool:
    """Whether a rule of layers takes in some that the model has and the run does not keep."""
    if settings.layers not in ("all", "middle_five"):
        return False
    try:
        wanted = window(settings, captured=run.answerer.layers, num_layers=run.answerer.num_layers)
    except InvalidInput:  # the model has none of them: the score says so
        return False
    return not set(wanted) <= set(run.stored_layers)


@dataclass(frozen=True, eq=False, kw_only=True)
class Chosen(ChosenAnswers):
    """Answers of a run, with the options and settings chosen in the URL."""

    page: str = PAGE
    asked: Asked

    @property
    def layer(self) -> int:
        """Return the layer shown, absolute; by default the middle one of those stored."""
        return (
            self.run.stored_layers[len(self.run.stored_layers) // 2] if self.asked.layer is None else self.asked.layer
        )

    @property
    def column(self) -> int:
        """Return the index of that layer on the layer axis."""
        return self.layers.index(self.layer)

    @property
    def choices(self) -> Choices:
        """Return what views depend on."""
        asked = self.asked
        return Choices(layer=self.layer, tokens=asked.tokens, offset=asked.offset, k=asked.k, added=asked.added)


def choose(name: str, run: Run, asked: Asked, settings: Settings, usual: Thresholds) -> Chosen:
    """Return the answers that pass the filters."""
    rows = np.flatnonzero(passing(run, asked))
    return Chosen(name=name, run=run, rows=rows, thresholds=thresholds(asked, usual), asked=asked, settings=settings)


_TOKEN_NAMES = {"all": "Whole answer", "fact": "Fact tokens", "other": "Other tokens"}
_NO_FACTS = "Fact tokens are unknown in this run: its measure of quality does not mark them."
_READ = (url_state.OFFSET, url_state.COUNT, url_state.CORRECT, url_state.INCORRECT, *SETTINGS)


def token_switch(run: Run, asked: Asked) -> None:
    """Choose whole answer, fact tokens or other tokens; disabled, with the reason, if no answer has fact tokens."""
    put(url_state.TOKENS, asked.tokens)
    known = marks_facts(run)
    st.segmented_control(
        "Attention over" if known else "Attention over (no fact tokens known)",
        get_args(TokenChoice),
        key=key_of(url_state.TOKENS),
        required=True,
        disabled=not known,
        help=None if known else _NO_FACTS,
        format_func=_TOKEN_NAMES.__getitem__,
        on_change=write,
        args=(url_state.TOKENS, "all"),
    )


def layer_picker(chosen: Chosen) -> None:
    """Choose a layer that has attention."""
    put(url_state.LAYER, chosen.layer)
    st.selectbox("Layer", chosen.layers, key=key_of(url_state.LAYER), on_change=write, args=(url_state.LAYER, None))


def reading(chosen: Chosen, needs: AbstractSet[str]) -> None:
    """Choose how attention is measured, and the other options that the view needs."""
    settings = resolve(chosen.settings, chosen.run.answerer.kind)
    popover = st.popover(_reading_label(chosen), key="answer_reading", width="stretch", on_change="rerun")
    if popover.open:
        with popover:
            _setting(ALIGNMENT, chosen.run, settings)
            if "offset" in needs:
                put(url_state.OFFSET, chosen.asked.offset)
                options: dict[str, Any] = {
                    "key": key_of(url_state.OFFSET),
                    "on_change": write,
                    "args": (url_state.OFFSET, 1),
                }
                st.segmented_control("Which preceding token", OFFSETS, required=True, **options)
            if "thresholds" in needs:
                _threshold("Correct above", url_state.CORRECT, chosen, "correct")
                _threshold("Incorrect below", url_state.INCORRECT, chosen, "incorrect")
            if "k" in needs:
                put(url_state.COUNT, chosen.asked.k)
                options = {"key": key_of(url_state.COUNT), "on_change": write, "args": (url_state.COUNT, Asked().k)}
                st.number_input("Number of best and of worst answers", 1, MOST_ROWS, **options)
            if "settings" in needs:
                _score(chosen.run, settings)
            st.button(
                "Reset to defaults", key="usual", on_click=url_state.drop, args=_READ, disabled=_is_default(chosen)
            )


def _threshold(label: str, name: str, chosen: Chosen, side: Literal["correct", "incorrect"]) -> None:
    """Draw a slider over the qualities of the run that includes the chosen value."""
    value, usual = (getattr(one, side) for one in (chosen.thresholds, default_thresholds(chosen.run)))
    quality = chosen.run.answers["quality"].to_numpy(float)
    known = np.append(quality[np.isfinite(quality)], [0.0, 1.0, value])
    put(name, value)
    low, high = float(known.min()), float(known.max())
    options: dict[str, Any] = {"key": key_of(name), "on_change": _write_threshold, "args": (name, usual)}
    st.slider(label, low, high, step=(high - low) / (5 * STEPS), **options)


def _score(run: Run, settings: Settings) -> None:
    _setting(SIGNAL, run, settings)
    put(ALPHA, settings.alpha)
    options: dict[str, Any] = {"key": key_of(ALPHA), "on_change": _change_setting, "args": (ALPHA, run)}
    st.slider(declared(Settings)[ALPHA].label, 0.0, 1.0, step=0.05, **options)


def _setting(name: str, run: Run, settings: Settings) -> None:
    put(name, getattr(settings, name))
    options: dict[str, Any] = {"key": key_of(name), "on_change": _change_setting, "args": (name, run)}
    setting = declared(Settings)[name]
    st.segmented_control(setting.label, setting.names, required=True, **options)


def _reading_label(chosen: Chosen) -> str:
    return "Attention, thresholds" if _is_default(chosen) else "Attention, thresholds: changed"


def _is_default(chosen: Chosen) -> bool:
    own = written(chosen.asked, Asked()) | written_settings(chosen.settings, chosen.run.answerer.kind)
    return not any(own[name] for name in _READ)


def _write_threshold(name: str, usual: float) -> None:
    """Write a threshold to the URL, or remove it if it is the default: the slider reports that too as it is opened."""
    value = st.session_state[key_of(name)]
    update_url({name: None if value == usual else text_of(value)})


def _change_setting(name: str, run: Run) -> None:
    """Apply one changed setting; a new signal sets alpha to the paper's value for it."""
    kind = run.answerer.kind
    chosen = replace(resolve(settings(run), kind), **{name: st.session_state[key_of(name)]})
    state.change_settings(resolve(replace(chosen, alpha=None), kind) if name == SIGNAL else chosen, kind)
