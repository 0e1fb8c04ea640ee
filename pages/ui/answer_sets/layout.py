"""One run on the page: what is chosen above, one view of it, and how many answers are behind it."""

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

import streamlit as st

from pages.ui.answer_sets import controls, query, views
from pages.ui.answer_sets.controls import PAGE, Chosen, choose
from pages.ui.answer_sets.query import Asked, View
from pages.ui.shared.run_page import draw_view, filters, open_run, run_picker, usual_thresholds, view_picker


@dataclass(frozen=True, kw_only=True)
class _Sight:
    """A view: what it is called, what draws it, and which choices it depends on."""

    name: str
    draw: Callable[[Chosen], None]
    tokens: bool = True
    layer: bool = True
    offset: bool = True
    sides: bool = False
    rows: bool = False
    score: bool = False
    figure: bool = True
    picks: bool = False


_SIGHTS = MappingProxyType[View, _Sight](
    {
        "best": _Sight(name="Best and worst", draw=views.best, rows=True, picks=True),
        "gap": _Sight(name="Correct against incorrect", draw=views.gap, sides=True, picks=True),
        "bins": _Sight(name="Quality by attention", draw=views.bins, picks=True),
        "further": _Sight(name="Further back", draw=views.further, sides=True, offset=False, picks=True),
        "picked": _Sight(name="Picked heads", draw=views.picked, picks=True),
        "separation": _Sight(name="Which heads separate", draw=views.separating, sides=True, layer=False),
        "meaning": _Sight(
            name="What a score means", draw=views.meaning, tokens=False, layer=False, offset=False, score=True
        ),
        "answers": _Sight(
            name="Answers",
            draw=views.answers,
            tokens=False,
            layer=False,
            offset=False,
            score=True,
            figure=False,
        ),
    }
)


def empty_stage() -> None:
    """Say what the page is for, and how to get a run."""
    st.title("Do attention heads tell right answers from wrong ones?", anchor=False)
    st.write(
        "This page shows the paper's figures for a set of answers that was scored, a run, and every point opens the "
        "answer behind it. There is no run here yet."
    )


def show_run(name: str) -> None:
    """Open a run, and show what the URL asks for."""
    columns = st.columns([3, 4, 1.3, 2, 2.4], gap="small", vertical_alignment="bottom")
    with columns[0]:
        run_picker(PAGE, name, of_one_run=query.OF_ONE_RUN)
    if (run := open_run(name)) is None:
        return
    usual = usual_thresholds(run)
    chosen = choose(name, run, query.asked(run, usual), query.settings(run), usual)
    sight = _SIGHTS[chosen.asked.view]
    _controls(columns[1:], chosen, sight)
    view_picker({view: one.name for view, one in _SIGHTS.items()}, chosen.asked.view, usual=Asked().view)
    draw_view(lambda: _draw(chosen, sight), chosen, figure=sight.figure)


def _draw(chosen: Chosen, sight: _Sight) -> None:
    sight.draw(chosen)
    if sight.picks and (note := chosen.about_picks):
        st.caption(note)


def _controls(columns: list[st.delta_generator.DeltaGenerator], chosen: Chosen, sight: _Sight) -> None:
    with columns[0]:
        if sight.tokens:
            controls.token_switch(chosen.run, chosen.asked)
    with columns[1]:
        if sight.layer:
            controls.layer_picker(chosen)
    with columns[2]:
        filters(chosen, chosen.asked.filters)
    with columns[3]:
        controls.reading(chosen, offset=sight.offset, sides=sight.sides, rows=sight.rows, score=sight.score)
