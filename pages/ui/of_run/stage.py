"""A page about a run: one run is opened, what is wrong with it is said, and what is left of it is shown."""

from collections.abc import Callable

import streamlit as st

from analysis.quality.judgement import Thresholds
from analysis.quality.measures import measure
from analysis.runs.opened import Run
from analysis.runs.shard import answers_path
from pages.ui import cache, runs_at_hand, state
from pages.ui.camera import format_picker
from pages.ui.errors import show_error
from pages.ui.links import FILTERS, RUN
from pages.ui.of_run import place
from pages.ui.of_run.chosen import ChosenAnswers
from pages.ui.shell import require_shell
from rauq.errors import RauqError, RunError
from rauq.labels import lines

_MOST_ERRORS = 3


def page_about_a_run(page: str, *, empty: Callable[[], None], show: Callable[[str], None]) -> None:
    """Show the run that the URL names, or, where there is none at all, what the page is for."""
    require_shell(page)
    place.bring_back_url(page)
    name = place.run_name()
    try:
        if name is None:
            empty()
            _how_to_get_a_run()
        else:
            show(name)
    except RauqError as error:
        show_error(error)
        if name is not None:
            _way_to_runs(name)
    state.tell_notices()
    place.remember_url(page)


def open_run(name: str) -> Run | None:
    """Open a run, and say what is wrong with it; None where there is no answer to look at.

    Raises:
        RunError: it is not there, or cannot be opened.
    """
    folder = runs_at_hand.folder(name)
    if folder is None:
        message = f"The run {name} is no longer there. Choose another one."
        raise RunError(message)
    with st.spinner("Opening the run", show_time=False):
        run = cache.run(folder)
    _faults(name, run)
    if run.answers.empty:
        _no_answers(name, run)
        return None
    return run


def draw_view(draw: Callable[[], None], chosen: ChosenAnswers, *, figure: bool) -> None:
    """Draw a view, or say why there is nothing to draw; with a `figure` the reader chooses what cameras save."""
    if not len(chosen.rows):
        st.info("No answer passes the filters.")
        st.button("Look at all answers", key="no_filters", on_click=place.forget, args=(FILTERS,))
        return
    try:
        draw()
    except RauqError as error:
        show_error(error)
    if figure:
        format_picker()


def usual_thresholds(run: Run) -> Thresholds:
    """The thresholds of the run's measure of quality."""
    return measure(run.manifest.request.quality).thresholds


def _how_to_get_a_run() -> None:
    st.page_link("pages/runs.py", label="Score a data set, or import a run", icon=":material/playlist_add:")
    st.write("Or, in a shell:")
    st.code("python -m analysis score --model atlas --data atlas --out runs/first", language="bash")


def _way_to_runs(name: str) -> None:
    """Lead to the run on the page Runs, where it is watched and resumed."""
    st.page_link(
        "pages/runs.py",
        label="Watch it or resume it on the page Runs",
        icon=":material/arrow_forward:",
        query_params={RUN: name},
    )


def _faults(name: str, run: Run) -> None:
    """Parts that are not answered yet, or missing or broken; the rest is shown."""
    if not run.faults:
        return
    if _is_begun_only(run):
        if run.answers.empty:
            return  # what is said of such a run says it all
        done = len(run.answers) + len(run.failures)
        st.info(
            f"This run is not finished: {done:,} of its {run.manifest.request.count:,} examples are answered so far, "
            "and shown."
        )
        _way_to_runs(name)
        return
    st.warning(
        f"{len(run.faults)} of {run.manifest.num_shards} parts of this run are missing or broken: the "
        f"{len(run.answers):,} answers of the others are shown.",
        icon="⚠️",
    )
    details = st.expander("Which parts, and why", key="answer_set_faults", on_change="rerun")
    if details.open:
        with details:
            st.text(lines("\n".join(run.faults)))


def _is_begun_only(run: Run) -> bool:
    """Whether what it lacks was never written, and nothing is broken."""
    there = sum(answers_path(run.folder, number).exists() for number in range(run.manifest.num_shards))
    return there == len(run.shards)


def _no_answers(name: str, run: Run) -> None:
    st.info("This run has no answers yet.")
    _way_to_runs(name)
    for error in run.failures["error"].head(_MOST_ERRORS):
        st.text(lines(str(error)))
