"""A page about a run: the run, the answers that pass the filters, the view, and what all views share."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from analysis.answer_sets.outcomes import Outcomes, about_outcomes, counts_in_words, outcomes
from analysis.exports.csv_text import csv_table
from analysis.quality.judgement import Thresholds
from analysis.quality.measures import measure
from analysis.questions import about_joined
from analysis.runs.manifest import answers_path
from analysis.runs.opened import Run, about_machines, about_sample
from analysis.runs.verdicts import about_corrections
from analysis.views.answer_set import AnswerSet, Reader
from pages.ui.host import cache, runs
from pages.ui.shared import figure_export, state, url_state, words
from pages.ui.shared.entrypoint import require_shell
from pages.ui.shared.errors import message_text, printable, show_error
from pages.ui.shared.figure_export import format_picker
from pages.ui.shared.run_views import filters as run_filters
from pages.ui.shared.run_views.filters import FILTERS, LONGEST_TEXT, Filters, Span, groups, written_span
from pages.ui.shared.run_views.verdicts import verdict_buttons
from pages.ui.shared.url_state import FROM, HEAD, LAYER, NUMBER, RUN, by_the_user, update_url
from rauq.errors import RauqError, RunError
from rauq.labels import running
from rauq.layout import ANALYSIS_COMMAND

READER = Reader(means=cache.means, picks=cache.picks, batch=cache.batch, scores=cache.scores, words=cache.words)
"""All sessions share what it returns."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ChosenAnswers(AnswerSet):
    """Answers of the run `name`. `page` is the address of the page that shows them; Inspect links back to it."""

    page: str
    name: str
    reader: Reader = READER
    can_move_thresholds: bool = True


def _outcomes(chosen: ChosenAnswers) -> Outcomes:
    return outcomes(chosen.run.answers.iloc[chosen.rows], chosen.thresholds)


def counted(chosen: ChosenAnswers) -> str:
    """Say how many answers a view uses by outcome, and how many others it leaves out."""
    return about_outcomes(
        _outcomes(chosen),
        chosen.thresholds,
        filtered_out=len(chosen.run.answers) - len(chosen.rows),
        failed=len(chosen.run.failures),
        can_move_thresholds=chosen.can_move_thresholds,
    )


UNDEFINED, QUESTION = "–", "question"
_ROW = 35  # pixels
_FORMATS = {"quality": "%.2f", "uncertainty": "%.3f"}  # the other columns are whole numbers
_WIDTHS = {
    **{name: st.column_config.TextColumn(width=280) for name in (QUESTION, "answer")},
    "references": st.column_config.TextColumn(width=150),
    "id": st.column_config.TextColumn(width="medium"),
}
_FIRST, _LAST = (QUESTION, "answer", "references"), ("why not judged", "group", "stratum", "id")


def headline(claim: str, chosen: ChosenAnswers, *numbers: str) -> None:
    """Draw the result of a view in a sentence and how many answers it uses; folded, the numbers behind it."""
    st.header(claim.removesuffix("."), anchor=False)
    run = chosen.run
    joined = about_joined(run.joined, apart=run.apart)
    notes = (counted(chosen), joined, about_corrections(run), about_machines(run), about_sample(run))
    said = [*filter(None, numbers), " ".join(filter(None, notes))]
    st.caption(f"{counts_in_words(_outcomes(chosen))}.", help=words.explained(claim, *said))
    with st.expander("In numbers", key="in_numbers"):
        st.caption("  \n".join(said))


def chart(figure: go.Figure, name: str, alt: str) -> None:
    """Draw a figure; its camera button saves it under `name`."""
    figure_export.draw(figure, name, key=f"answers_{name}", alt=alt)


def clickable(
    figure: go.Figure, name: str, alt: str, chosen: ChosenAnswers, *, head: tuple[int, int] | None = None
) -> None:
    """Draw a figure whose points are answers, by position among those chosen; a click opens one in Inspect.

    `head`: the layer and the head that are then chosen there.
    """
    event = figure_export.draw(figure, name, key=f"answers_{name}", alt=alt, on_select="rerun", selection_mode="points")
    for point in event["selection"]["points"]:
        place = point.get("customdata")
        if isinstance(place, int) and 0 <= place < len(chosen.rows):  # the value comes from the browser
            open_in_inspect(chosen, place, head=head)


def openable(table: pd.DataFrame, name: str, chosen: ChosenAnswers, note: str, *, height: int | None = None) -> None:
    """Draw a table of answers, its index the position among those chosen; a ticked row can be opened in Inspect.

    In place of a prompt, which may begin with worked examples, the page shows its question, and in place of the
    number of an answer, which counts from 0, its id alone.
    """
    event = st.dataframe(
        _as_shown(table, chosen),
        key=f"{name}_table",
        hide_index=True,
        height=height if height and len(table) * _ROW > height else "content",
        placeholder=UNDEFINED,
        on_select="rerun",
        selection_mode="single-row",
        column_config=_WIDTHS
        | {
            column: st.column_config.NumberColumn(format=_FORMATS.get(str(column), "%.0f"))
            for column in table.select_dtypes("number")
        },
        alt="Answers with their quality and uncertainty",
    )
    rows = [row for row in event["selection"]["rows"] if 0 <= row < len(table)]
    with st.container(horizontal=True, vertical_alignment="center"):
        pressed = st.button("Open in Inspect", key="open_answer", type="primary", disabled=not rows)
        save("Table as CSV", f"{name}.csv", lambda: csv_table(table))
        place = int(table.index[rows[0]]) if rows else None
        number = None if place is None else int(chosen.column_of("number")[place])
        verdict_buttons(chosen.run, chosen.name, number)
    st.caption(f"Tick a row to open it or to correct its verdict. {note}")
    if pressed and rows:
        open_in_inspect(chosen, int(table.index[rows[0]]))


def _as_shown(table: pd.DataFrame, chosen: ChosenAnswers) -> pd.DataFrame:
    numbers = chosen.column_of("number")[table.index]
    questions = [printable(chosen.run.examples[number].asked) for number in numbers]
    shown = table.drop(columns="number").assign(prompt=questions).rename(columns={"prompt": QUESTION})
    return shown[sorted(shown, key=_place)]


def _place(column: str) -> int:
    """Return the place of a column: what is read comes first, then the numbers of the view, and last what few need."""
    if column in _FIRST:
        return _FIRST.index(column) - len(_FIRST)
    return 1 + _LAST.index(column) if column in _LAST else 0


def save(label: str, file: str, write: Callable[[], str]) -> None:
    """Draw a button that saves a text, which is made only when the button is pressed."""
    st.download_button(label, write, file, "text/plain", key=file, on_click="ignore")


def open_in_inspect(chosen: ChosenAnswers, place: int, *, head: tuple[int, int] | None = None) -> None:
    """Open the answer at `place` among those chosen in Inspect; the URL keeps what the link back needs.

    `head`: the layer and the head that are chosen there.
    """
    number = int(chosen.column_of("number")[place])
    query = st.query_params.to_dict() | {RUN: chosen.name, NUMBER: str(number), FROM: chosen.page}
    query.pop(HEAD, None)  # one that another view has chosen
    query |= {} if head is None else {LAYER: str(head[0]), HEAD: str(head[1])}
    st.switch_page("pages/inspect.py", query_params=query)


STEPS = 20  # of a slider

_ALL = ""


def run_picker(page: str, name: str, *, of_one_run: Iterable[str]) -> None:
    """Choose among all runs; another run clears the URL parameters `of_one_run`."""
    key = run_filters.picker(page)
    st.session_state[key] = name
    st.selectbox("Run", runs.names(), key=key, on_change=_choose_run, args=(key, of_one_run))


def choice(label: str, name: str, names: Mapping[Any, str], chosen: object, *, usual: object, **options: Any) -> None:  # noqa: ANN401 - those of Streamlit
    """Choose one of a few options by name."""
    put(name, chosen)
    st.segmented_control(
        label,
        list(names),
        key=key_of(name),
        required=True,
        format_func=names.__getitem__,
        on_change=write,
        args=(name, usual),
        **options,
    )


def filters(chosen: ChosenAnswers, asked: Filters) -> None:
    """Choose which answers are used; the button shows how many of all."""
    all_of_them, own = len(chosen.run.answers), len(chosen.rows)
    label = f"All {own:,} answers" if own == all_of_them else f"{own:,} of {all_of_them:,} answers"
    popover = st.popover(label, key="answer_filters", width="stretch", on_change="rerun")
    if popover.open:
        with popover:
            _group(chosen, asked.group)
            _span_field("Quality", url_state.QUALITY, chosen.run.answers["quality"].to_numpy(float), asked.quality)
            _span_field("Answer length, tokens", url_state.LENGTH, chosen.run.lengths, asked.length)
            put(url_state.TEXT, printable(asked.text))
            st.text_input(
                "Prompt or answer contains",
                key=key_of(url_state.TEXT),
                max_chars=LONGEST_TEXT,
                on_change=write,
                args=(url_state.TEXT, ""),
            )
            st.button("Clear filters", key="all_answers", on_click=url_state.drop, args=FILTERS)


@by_the_user
def write(name: str, usual: object) -> None:
    """Write a choice to the URL, or remove it if it is the default."""
    value = st.session_state[key_of(name)]
    update_url({name: None if value == usual else str(value)})


def put(name: str, value: object) -> None:
    """Set the widget of a parameter to this value."""
    st.session_state[key_of(name)] = value


def key_of(name: str) -> str:
    """Return the key of the widget of a parameter."""
    return f"answers_{name}"


def _group(chosen: ChosenAnswers, asked: str | None) -> None:
    names = groups(chosen.run)
    if len(names) < 2:
        return
    put(url_state.GROUP, asked or _ALL)
    st.selectbox(
        "Group",
        list(dict.fromkeys((_ALL, *names))),
        key=key_of(url_state.GROUP),
        format_func=lambda name: running(name) or "all groups",
        on_change=write,
        args=(url_state.GROUP, _ALL),
    )


def _span_field(label: str, name: str, values: np.ndarray, chosen: Span) -> None:
    """Draw a range slider; none if all values are equal."""
    known = values[np.isfinite(values)]
    if not known.size or known.min() == known.max():
        return
    low, high = known.min().item(), known.max().item()
    put(name, tuple(min(max(end, low), high) for end in chosen))
    options: dict[str, Any] = {"key": key_of(name), "on_change": _write_span, "args": (name, (low, high))}
    st.slider(label, low, high, step=1 if isinstance(low, int) else (high - low) / STEPS, **options)


def _choose_run(key: str, of_one_run: Iterable[str]) -> None:
    update_url({url_state.RUN: st.session_state[key]})
    url_state.drop(*of_one_run)


def _write_span(name: str, ends: tuple[float, float]) -> None:
    chosen = Span(*st.session_state[key_of(name)])
    update_url({name: None if chosen == ends else written_span(chosen)})


_MOST_ERRORS = 3


def page_about_a_run(page: str, *, empty: Callable[[], None], show: Callable[[str], None]) -> None:
    """Show the run that the URL names, or, if there are no runs, what the page is for."""
    require_shell(page)
    if run_filters.is_arriving(page):
        url_state.restore_url(page)
    name = run_filters.run_name()
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
    state.show_notices()
    url_state.remember(page)


def open_run(name: str) -> Run | None:
    """Open a run, and show what is wrong with it; None if it has no answers.

    Raises:
        RunError: the run does not exist or cannot be opened.
    """
    folder = runs.folder(name)
    if folder is None:
        message = f"Run {name} not found. Choose another one."
        raise RunError(message)
    with st.spinner("Opening the run", show_time=False):
        run = cache.run(folder)
    _faults(name, run)
    if run.answers.empty:
        _no_answers(name, run)
        return None
    return run


def draw_view(draw: Callable[[], None], chosen: ChosenAnswers, *, figure: bool) -> None:
    """Draw a view, or show why there is nothing to draw; `figure`: with the choice of the format of saved figures."""
    if not len(chosen.rows):
        st.header("No answer passes the filters", anchor=False)
        st.button("Clear filters", key="no_filters", on_click=url_state.drop, args=FILTERS)
        return
    try:
        with st.spinner("Computing this view …", show_time=True):
            draw()
    except RauqError as error:
        show_error(error)
    if figure:
        format_picker()


def default_thresholds(run: Run) -> Thresholds:
    """Return the thresholds of the run's measure of quality."""
    return measure(run.manifest.request.quality).thresholds


def _how_to_get_a_run() -> None:
    st.page_link("pages/runs.py", label="Score a data set, or import a run", icon=":material/playlist_add:")
    st.write("Or, in a shell:")
    st.code(f"{ANALYSIS_COMMAND} score --model atlas --data atlas --out runs/first", language="bash")


def _way_to_runs(name: str) -> None:
    """Link to the run on the page Runs, where it can be watched and resumed."""
    st.page_link(
        "pages/runs.py",
        label="Watch or resume this run on the page Runs",
        icon=":material/arrow_forward:",
        query_params={RUN: name},
    )


def _faults(name: str, run: Run) -> None:
    """Show which parts are not answered yet, missing or damaged; the rest is used."""
    if not run.faults:
        return
    if _is_begun_only(run):
        if run.answers.empty:
            return  # that message is enough for such a run
        done = len(run.answers) + len(run.failures)
        st.info(
            f"This run is not finished: {done:,} of its {run.manifest.request.count:,} examples are answered so far "
            "and used here."
        )
        _way_to_runs(name)
        return
    st.warning(
        f"{len(run.faults)} of {run.manifest.num_shards} parts of this run are missing or damaged. The "
        f"{len(run.answers):,} answers of the other parts are used here.",
        icon="⚠️",
    )
    details = st.expander("Missing or damaged parts, with the reason", key="answer_set_faults", on_change="rerun")
    if details.open:
        with details:
            st.text(message_text("\n".join(run.faults)))


def _is_begun_only(run: Run) -> bool:
    """Return whether parts are only missing because they were not written yet, and none is damaged."""
    there = sum(answers_path(run.folder, number).exists() for number in range(run.manifest.num_shards))
    return there == len(run.shards)


def _no_answers(name: str, run: Run) -> None:
    failed = len(run.failures)
    why = f": {failed:,} example{'s' * (failed > 1)} failed" if failed else ""
    st.header(f"This run has no answers yet{why}", anchor=False)
    _way_to_runs(name)
    for error in run.failures["error"].head(_MOST_ERRORS):
        st.text(message_text(error))
