"""The page Methods: the choices at the top, one view of a run, and the number of answers in it."""

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

import streamlit as st

from analysis.runs.create import check_comparable
from pages.ui.methods import controls, views
from pages.ui.methods.controls import PAGE, Chosen, choose
from pages.ui.methods.query import OF_ONE_RUN, Asked, View, fitted
from pages.ui.shared import run_filters
from pages.ui.shared.run_page import default_thresholds, draw_view, filters, open_run, run_picker, view_picker


@dataclass(frozen=True, kw_only=True)
class _ViewSpec:
    """A view: its name, the function that draws it, its own choice, and whether it uses a metric."""

    name: str
    draw: Callable[[Chosen], None]
    choose: Callable[[Chosen], None] | None = None
    metric: bool = False
    figure: bool = True


_VIEW_SPECS = MappingProxyType[View, _ViewSpec](
    {
        "ranking": _ViewSpec(name="Ranking", draw=views.ranking, metric=True),
        "rejection": _ViewSpec(name="Rejection", draw=views.rejection, choose=controls.methods_picker),
        "alpha": _ViewSpec(name="Alpha", draw=views.alpha, choose=controls.signal_switch, metric=True),
        "ablations": _ViewSpec(name="Ablations", draw=views.ablation, choose=controls.ablation_picker, metric=True),
        "attention": _ViewSpec(
            name="Does attention matter?", draw=views.attention, choose=controls.token_switch, metric=True
        ),
        "scores": _ViewSpec(name="Score and quality", draw=views.scores, choose=controls.method_picker),
        "agreement": _ViewSpec(name="Agreement", draw=views.agreement, choose=controls.other_picker),
        "errors": _ViewSpec(name="Errors", draw=views.errors, choose=controls.method_picker, figure=False),
    }
)


def empty_state() -> None:
    """Show what the page is for and how to get a run."""
    st.title("Does RAUQ rank answers better than other methods?", anchor=False)
    st.write(
        "This page compares uncertainty methods on a run, a scored set of answers: how well each method ranks the "
        "answers, what it costs, and which parts of RAUQ matter. There is no run here yet."
    )


def show_run(name: str) -> None:
    """Open a run and show the view in the URL."""
    columns = st.columns([3, 1.6, 4.7, 2], gap="small", vertical_alignment="bottom")
    with columns[0]:
        run_picker(PAGE, name, of_one_run=OF_ONE_RUN)
    if (run := open_run(name)) is None:
        return
    check_comparable(run.manifest.request)
    asked = run_filters.asked(Asked(), lambda found: fitted(found, run))
    chosen = choose(name, run, asked, default_thresholds(run))
    spec = _VIEW_SPECS[chosen.asked.view]
    with columns[1]:
        if spec.metric:
            controls.metric_switch(chosen)
    with columns[2]:
        if spec.choose:
            spec.choose(chosen)
    with columns[3]:
        filters(chosen, chosen.asked)
    view_picker({view: one.name for view, one in _VIEW_SPECS.items()}, chosen.asked.view, usual=Asked().view)
    draw_view(lambda: spec.draw(chosen), chosen, figure=spec.figure)
