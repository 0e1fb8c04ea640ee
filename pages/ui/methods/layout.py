"""One run on the page Methods: what is chosen above, one view of it, and how many answers are behind it."""

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

import streamlit as st

from analysis.runs.create import check_comparable
from analysis.runs.opened import Run
from pages.ui.methods import controls, views
from pages.ui.methods.controls import PAGE, Chosen, choose
from pages.ui.methods.query import Asked, View, fitted, read_asked
from pages.ui.shared import run_filters
from pages.ui.shared.run_page import draw_view, filters, open_run, run_picker, usual_thresholds, view_picker
from pages.ui.shared.url_state import FILTERS, METHOD, METHODS, TOKENS

OF_ONE_RUN = (METHOD, METHODS, TOKENS, *FILTERS)


@dataclass(frozen=True, kw_only=True)
class _Sight:
    """A view: what it is called, what draws it, which choice is its own, and whether it ranks by a metric."""

    name: str
    draw: Callable[[Chosen], None]
    choose: Callable[[Chosen], None] | None = None
    metric: bool = False
    figure: bool = True


_SIGHTS = MappingProxyType[View, _Sight](
    {
        "ranking": _Sight(name="Ranking", draw=views.ranking, metric=True),
        "rejection": _Sight(name="Rejection", draw=views.rejection, choose=controls.methods_picker),
        "alpha": _Sight(name="Alpha", draw=views.alpha, choose=controls.signal_switch, metric=True),
        "ablations": _Sight(name="Ablations", draw=views.ablation, choose=controls.ablation_picker, metric=True),
        "attention": _Sight(
            name="Does attention matter?", draw=views.attention, choose=controls.token_switch, metric=True
        ),
        "scores": _Sight(name="Score and quality", draw=views.scores, choose=controls.method_picker),
        "agreement": _Sight(name="Agreement", draw=views.agreement, choose=controls.other_picker),
        "errors": _Sight(name="Errors", draw=views.errors, choose=controls.method_picker, figure=False),
    }
)


def empty_stage() -> None:
    """Say what the page is for."""
    st.title("Does RAUQ rank answers better than other methods?", anchor=False)
    st.write(
        "This page sets uncertainty methods side by side on a set of answers that was scored, a run: how well each "
        "ranks them, what it costs, and what of RAUQ does the ranking. There is no run here yet."
    )


def show_run(name: str) -> None:
    """Open a run, and show what the URL asks for."""
    columns = st.columns([3, 1.6, 4.7, 2], gap="small", vertical_alignment="bottom")
    with columns[0]:
        run_picker(PAGE, name, of_one_run=OF_ONE_RUN)
    if (run := open_run(name)) is None:
        return
    check_comparable(run.manifest.request)
    chosen = choose(name, run, _asked(run), usual_thresholds(run))
    sight = _SIGHTS[chosen.asked.view]
    with columns[1]:
        if sight.metric:
            controls.metric_switch(chosen)
    with columns[2]:
        if sight.choose:
            sight.choose(chosen)
    with columns[3]:
        filters(chosen, chosen.asked.filters)
    view_picker({view: one.name for view, one in _SIGHTS.items()}, chosen.asked.view, usual=Asked().view)
    draw_view(lambda: sight.draw(chosen), chosen, figure=sight.figure)


def _asked(run: Run) -> Asked:
    """What the URL asks for; what cannot be used is taken out of it, and the user is told."""
    found, wrong = read_asked(st.query_params.to_dict())
    found, unfit = fitted(found, run)
    run_filters.mend((*wrong, *unfit))
    return found
