"""One run on the page: what is chosen above, one view of it, and how many answers are behind it."""

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

import streamlit as st

from analysis.quality.judgement import Thresholds
from analysis.quality.measures import measure
from analysis.runs.opened import Run
from analysis.runs.shard import answers_path
from pages.ui import cache, runs_at_hand
from pages.ui.answer_sets import attention_views, controls, head_views, place, score_views
from pages.ui.answer_sets.asked import View
from pages.ui.answer_sets.chosen import Chosen, choose
from pages.ui.camera import format_picker
from pages.ui.errors import printable, show_error
from pages.ui.links import FILTERS, RUN
from rauq.errors import RauqError, RunError

_MOST_ERRORS = 3


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


_SIGHTS = MappingProxyType[View, _Sight](
    {
        "best": _Sight(name="Best and worst", draw=attention_views.best, rows=True),
        "gap": _Sight(name="Correct against incorrect", draw=attention_views.gap, sides=True),
        "bins": _Sight(name="Quality by attention", draw=attention_views.bins),
        "further": _Sight(name="Further back", draw=attention_views.further, sides=True, offset=False),
        "picked": _Sight(name="Picked heads", draw=head_views.picked),
        "separation": _Sight(name="Which heads separate", draw=head_views.separating, sides=True, layer=False),
        "meaning": _Sight(
            name="What a score means", draw=score_views.meaning, tokens=False, layer=False, offset=False, score=True
        ),
        "answers": _Sight(
            name="Answers",
            draw=score_views.answers,
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
    st.page_link("pages/runs.py", label="Score a data set, or import a run", icon=":material/playlist_add:")
    st.write("Or, in a shell:")
    st.code("python -m analysis score --model atlas --data atlas --out runs/first", language="bash")


def way_to_runs(name: str) -> None:
    """Lead to the run on the page Runs, where it is watched and resumed."""
    st.page_link(
        "pages/runs.py",
        label="Watch it or resume it on the page Runs",
        icon=":material/arrow_forward:",
        query_params={RUN: name},
    )


def show_run(name: str) -> None:
    """Open a run, and show what the URL asks for."""
    columns = st.columns([3, 4, 1.3, 2, 2.4], gap="small", vertical_alignment="bottom")
    with columns[0]:
        controls.run_picker(name)
    folder = runs_at_hand.folder(name)
    if folder is None:
        message = f"The run {name} is no longer there. Choose another one."
        raise RunError(message)
    with st.spinner("Opening the run", show_time=False):
        run = cache.run(folder)
    _faults(name, run)
    if run.answers.empty:
        _no_answers(name, run)
        return
    chosen = choose(name, run, place.asked(run, usual := _usual(run)), place.settings(run), usual)
    sight = _SIGHTS[chosen.asked.view]
    _controls(columns[1:], chosen, sight)
    controls.view_picker({view: one.name for view, one in _SIGHTS.items()}, chosen.asked.view)
    _show(chosen, sight)


def _controls(columns: list[st.delta_generator.DeltaGenerator], chosen: Chosen, sight: _Sight) -> None:
    with columns[0]:
        if sight.tokens:
            controls.token_switch(chosen.run, chosen.asked)
    with columns[1]:
        if sight.layer:
            controls.layer_picker(chosen)
    with columns[2]:
        controls.filters(chosen)
    with columns[3]:
        controls.reading(chosen, offset=sight.offset, sides=sight.sides, rows=sight.rows, score=sight.score)


def _show(chosen: Chosen, sight: _Sight) -> None:
    if not len(chosen.rows):
        st.info("No answer passes the filters.")
        st.button("Look at all answers", key="no_filters", on_click=place.forget, args=(FILTERS,))
        return
    try:
        sight.draw(chosen)
    except RauqError as error:
        show_error(error)
    if sight.figure:
        format_picker()


def _faults(name: str, run: Run) -> None:
    """Parts that are not answered yet, or missing or broken; the rest is shown."""
    if not run.faults:
        return
    if _is_begun_only(run):
        done = len(run.answers) + len(run.failures)
        st.info(
            f"This run is not finished: {done:,} of its {run.manifest.request.count:,} examples are answered so far, "
            "and shown."
        )
        way_to_runs(name)
        return
    st.warning(
        f"{len(run.faults)} of {run.manifest.num_shards} parts of this run are missing or broken: the "
        f"{len(run.answers):,} answers of the others are shown.",
        icon="⚠️",
    )
    details = st.expander("Which parts, and why", key="answer_set_faults", on_change="rerun")
    if details.open:
        with details:
            st.text("\n".join(map(printable, run.faults)))


def _is_begun_only(run: Run) -> bool:
    """Whether what it lacks was never written, and nothing is broken."""
    there = sum(answers_path(run.folder, number).exists() for number in range(run.manifest.num_shards))
    return there == len(run.shards)


def _no_answers(name: str, run: Run) -> None:
    st.info("This run has no answers yet.")
    way_to_runs(name)
    for error in run.failures["error"].head(_MOST_ERRORS):
        st.text(printable(str(error)))


def _usual(run: Run) -> Thresholds:
    """The thresholds of the run's measure of quality."""
    return measure(run.manifest.request.quality).thresholds
