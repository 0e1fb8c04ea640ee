"""The page Answer sets: the choices at the top, one view of a run, and the number of answers in it."""

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

import streamlit as st

from pages.ui.answer_sets import controls, query, views
from pages.ui.answer_sets.controls import PAGE, Chosen, choose
from pages.ui.answer_sets.query import Asked, View
from pages.ui.shared.run_page import default_thresholds, draw_view, filters, open_run, run_picker, view_picker


@dataclass(frozen=True, kw_only=True)
class _ViewSpec:
    """A view: its name, the function that draws it, and the choices it depends on."""

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


_VIEW_SPECS = MappingProxyType[View, _ViewSpec](
    {
        "best": _ViewSpec(name="Best and worst", draw=views.best, rows=True, picks=True),
        "gap": _ViewSpec(name="Correct vs incorrect", draw=views.gap, sides=True, picks=True),
        "bins": _ViewSpec(name="Quality by attention", draw=views.bins, picks=True),
        "further": _ViewSpec(
            name="Attention by distance", draw=views.by_distance, sides=True, offset=False, picks=True
        ),
        "picked": _ViewSpec(name="Selected heads", draw=views.picked, picks=True),
        "separation": _ViewSpec(name="Discriminative heads", draw=views.discriminative, sides=True, layer=False),
        "meaning": _ViewSpec(
            name="What a score means", draw=views.meaning, tokens=False, layer=False, offset=False, score=True
        ),
        "answers": _ViewSpec(
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


def empty_state() -> None:
    """Show what the page is for and how to get a run."""
    st.title("Do attention heads separate correct from incorrect answers?", anchor=False)
    st.write(
        "This page shows the paper's figures for a run, a scored set of answers. Clicking a point opens its answer. "
        "There is no run here yet."
    )


def show_run(name: str) -> None:
    """Open a run and show the view in the URL."""
    columns = st.columns([3, 4, 1.3, 2, 2.4], gap="small", vertical_alignment="bottom")
    with columns[0]:
        run_picker(PAGE, name, of_one_run=query.OF_ONE_RUN)
    if (run := open_run(name)) is None:
        return
    usual = default_thresholds(run)
    chosen = choose(name, run, query.asked(run, usual), query.settings(run), usual)
    spec = _VIEW_SPECS[chosen.asked.view]
    _controls(columns[1:], chosen, spec)
    view_picker({view: one.name for view, one in _VIEW_SPECS.items()}, chosen.asked.view, usual=Asked().view)
    draw_view(lambda: _draw(chosen, spec), chosen, figure=spec.figure)


def _draw(chosen: Chosen, spec: _ViewSpec) -> None:
    spec.draw(chosen)
    if spec.picks and (note := chosen.about_picks):
        st.caption(note)


def _controls(columns: list[st.delta_generator.DeltaGenerator], chosen: Chosen, spec: _ViewSpec) -> None:
    with columns[0]:
        if spec.tokens:
            controls.token_switch(chosen.run, chosen.asked)
    with columns[1]:
        if spec.layer:
            controls.layer_picker(chosen)
    with columns[2]:
        filters(chosen, chosen.asked)
    with columns[3]:
        controls.reading(chosen, offset=spec.offset, sides=spec.sides, rows=spec.rows, score=spec.score)
