"""What the reader chooses on the page Answer sets: answers, tokens, a layer, and how attention is read."""

from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
import streamlit as st

from analysis.answer_sets.heads import of_picked
from analysis.answer_sets.sentences import picks_note
from analysis.quality.judgement import Thresholds
from analysis.runs.arrays import Picks, TokenChoice
from analysis.runs.opened import Run
from analysis.runs.shard import OFFSETS
from pages.ui.answer_sets.query import MOST_ROWS, Asked, thresholds
from pages.ui.answer_sets.query import settings as asked_settings
from pages.ui.host import cache
from pages.ui.shared import run_filters, state, url_state
from pages.ui.shared.run_filters import marks_facts, passing
from pages.ui.shared.run_page import STEPS, ChosenAnswers, key_of, put, write
from pages.ui.shared.url_state import ALIGNMENT, ALPHA, SETTINGS, SIGNAL, put_in_url, written_settings
from rauq.scoring.settings import Settings, Signal, resolve
from rauq.trace.trace import Alignment

PAGE = "answer_sets"


@dataclass(frozen=True, eq=False, kw_only=True)
class Chosen(ChosenAnswers):
    """Answers of a run, with what is asked of them and under which settings."""

    page: str = PAGE
    asked: Asked
    settings: Settings

    @property
    def layers(self) -> tuple[int, ...]:
        """All layers that have attention, absolute."""
        return self.run.answerer.layers

    @property
    def layer(self) -> int:
        """The layer that is looked at, absolute: where none is asked for, the middle one of those kept."""
        return (
            self.run.stored_layers[len(self.run.stored_layers) // 2] if self.asked.layer is None else self.asked.layer
        )

    @property
    def column(self) -> int:
        """Where that layer lies on the layer axis."""
        return self.layers.index(self.layer)

    def means(self, *, tokens: TokenChoice | None = None, offset: int | None = None) -> np.ndarray:
        """Mean attention of every head (n, L, H), of the tokens and the offset that are asked for unless others are."""
        return np.asarray(
            cache.means(self.run, self.settings.alignment, tokens or self.asked.tokens, offset or self.asked.offset)[
                self.rows
            ]
        )

    def picks(self) -> np.ndarray:
        """The head that each answer picks in each layer (n, L), over the whole answer, as RAUQ does."""
        return np.asarray(self._all_picks().heads[self.rows])

    @property
    def about_picks(self) -> str:
        """Where picks come from, if they were not stored when the answers were scored."""
        return picks_note(self._all_picks().stored[self.rows])

    def picked_attention(self) -> np.ndarray:
        """Attention (n,) of the picked head in the layer that is looked at."""
        return of_picked(self.means()[:, self.column], self.picks()[:, self.column])

    def _all_picks(self) -> Picks:
        return cache.picks(self.run, self.settings.alignment)


def choose(name: str, run: Run, asked: Asked, settings: Settings, usual: Thresholds) -> Chosen:
    """The answers that pass the filters."""
    rows = np.flatnonzero(passing(run, asked.filters))
    return Chosen(name=name, run=run, rows=rows, thresholds=thresholds(asked, usual), asked=asked, settings=settings)


_TOKEN_NAMES = {"all": "Whole answer", "fact": "Fact tokens", "other": "Other tokens"}
_NO_FACTS = "This run does not say which tokens carry the fact: its measure of quality does not know."
_READ = (url_state.OFFSET, url_state.COUNT, url_state.CORRECT, url_state.INCORRECT, *SETTINGS)


def token_switch(run: Run, asked: Asked) -> None:
    """Whole answer, fact tokens or the others; off, with the reason, where no answer of the run marks any."""
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


def reading(chosen: Chosen, *, offset: bool, sides: bool, rows: bool, score: bool) -> None:
    """How attention is read, and whatever else the view depends on."""
    settings = resolve(chosen.settings, chosen.run.answerer.kind)
    popover = st.popover(_reading_label(chosen), key="answer_reading", width="stretch", on_change="rerun")
    if popover.open:
        with popover:
            _setting("Alignment", ALIGNMENT, get_args(Alignment), chosen.run, settings)
            if offset:
                put(url_state.OFFSET, chosen.asked.offset)
                options: dict[str, Any] = {
                    "key": key_of(url_state.OFFSET),
                    "on_change": write,
                    "args": (url_state.OFFSET, 1),
                }
                st.segmented_control("Which preceding token", OFFSETS, required=True, **options)
            if sides:
                _threshold("Correct above", url_state.CORRECT, chosen, chosen.thresholds.correct)
                _threshold("Incorrect below", url_state.INCORRECT, chosen, chosen.thresholds.incorrect)
            if rows:
                put(url_state.COUNT, chosen.asked.k)
                options = {"key": key_of(url_state.COUNT), "on_change": write, "args": (url_state.COUNT, Asked().k)}
                st.number_input("Best and worst answers, of each", 1, MOST_ROWS, **options)
            if score:
                _score(chosen.run, settings)
            st.button(
                "Back to the usual", key="usual", on_click=run_filters.forget, args=(_READ,), disabled=_is_usual(chosen)
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
