"""The drawers of one answer: its reference, and exports as link, trace, numbers, report, code and figures.

The reference: what the score is compared with, another choice, the calibration, and how to make one.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from analysis.one_answer.standing import rank_in_words, standing
from analysis.one_answer.statements import Statements
from pages.ui.host import hosting, looking
from pages.ui.host.kept import MOST_ANSWERS_BYTES
from pages.ui.inspect.added_heads import added_heads_field
from pages.ui.inspect.answer_view import AnswerView
from pages.ui.inspect.closing import OPEN, close_outside, drawer_of, toggle
from pages.ui.inspect.reference import (
    TABLE,
    UNDEFINED,
    Model,
    Reference,
    about_reference,
    calibration,
    choose,
    model_of,
    reference,
    settled,
    share_near,
    table,
)
from pages.ui.inspect.verdict import said_in_link
from pages.ui.shared import figure_export, model_form, selection, url_state
from pages.ui.shared.errors import message_text, printable, show_error
from pages.ui.shared.figure_export import format_picker, is_dark
from pages.ui.shared.state import ATLAS
from pages.ui.shared.url_state import CORRECT_ANSWER, LONGEST, RUN, SAID, VERDICT, VIEW
from pages.ui.shared.words import explained
from rauq.errors import RauqError
from rauq.labels import lines, listed, running, size
from rauq.recorded.scores import ReferenceScores
from rauq.scoring.report import was_given
from rauq.scoring.score import Score
from rauq.trace.trace import Trace

if TYPE_CHECKING:
    from pathlib import Path

REFERENCE, EXPORT = "reference", "export"
_TRACE = "answer.safetensors"
_SAID: Mapping[str, str] = MappingProxyType({VERDICT: "your verdict", CORRECT_ANSWER: "your correct answer"})
_TYPES: Mapping[str, str] = MappingProxyType(
    {"safetensors": "application/octet-stream", "html": "text/html", "csv": "text/csv"}
)


def drawer_links(view: AnswerView) -> None:
    """Draw what opens the drawers, and the way to Compare with this answer as A.

    Not popovers: one that runs the page when it closes brings it back to this page after a click on another one.
    """
    name = view.shown.name
    is_open = drawer_of(name)
    _drawer_button(REFERENCE, "Reference", is_open=is_open == REFERENCE)
    query = url_state.comparing(name, view.marked.wrong)
    st.page_link("pages/compare.py", label="Compare", query_params=query, width="content")
    _drawer_button(EXPORT, "Export", is_open=is_open == EXPORT)
    close_outside((REFERENCE, EXPORT), is_open)


def open_drawer(view: AnswerView) -> None:
    """Draw the drawer that is open, if one is."""
    name = st.session_state.get(OPEN)
    if name not in {REFERENCE, EXPORT}:
        return
    with st.container(key="open_drawer"):
        if name == REFERENCE:
            _reference_panel(view.marked, view.score)
            added_heads_field()
        else:
            _copy_link(view.whole, said_in_link(view.shown.name, view.whole, view.shown.linked))
            _files(view.marked, view.score, view.statements)
        st.button("Close", key="close_drawer", type="tertiary", on_click=toggle, args=(name,))


def make_reference() -> None:
    """Open the drawer of the reference with the form of a new one; for a callback."""
    st.session_state.update({OPEN: REFERENCE, _MAKE: True})


def _files(trace: Trace, score: Score, said: Statements) -> None:
    st.markdown("**Download**")
    _downloads(trace, score, said)
    st.markdown("**Python code that reproduces this score**")
    _python(trace, score)


def print_figures(trace: Trace, score: Score) -> None:
    """Draw the figures for print, folded."""
    place = st.expander("Figures for print: SVG, PNG", key="folded_Figures", on_change="rerun")
    if place.open:
        with place:
            _figures(trace, score)


def _drawer_button(name: str, label: str, *, is_open: bool) -> None:
    icon = f":material/expand_{'less' if is_open else 'more'}:"
    options: dict[str, Any] = {"icon": icon, "icon_position": "right", "on_click": toggle, "args": (name,)}
    st.button(label, key=f"drawer_{name}", **options)


def _copy_link(trace: Trace, linked: Mapping[str, str]) -> None:
    st.markdown("**Copy link**")
    if (found := _link(trace, linked)) is None:
        st.text(f"The link would exceed {LONGEST} characters. Download the trace and send that instead.")
    else:
        st.caption(f"{_about_link(found)} {_about_verdict(found, linked)}".rstrip())
        st.code(printable(found), language=None, wrap_lines=True)


def _link(trace: Trace, linked: Mapping[str, str]) -> str | None:
    """Return the link to an answer; a typed correct answer is left out where the prompt would have no room for it."""
    base = (st.context.url or "").rstrip("/")
    address = base if base.endswith("/inspect") else f"{base}/inspect"
    query = {name: text for name, text in st.query_params.to_dict().items() if name not in SAID}
    shorter = {name: text for name, text in linked.items() if name != CORRECT_ANSWER}
    links = [url_state.link(address, {**query, **said}, trace) for said in (linked, shorter)]
    return max(filter(None, links), key=lambda link: f"{url_state.PROMPT}=" in link, default=None)


def _about_verdict(link: str, linked: Mapping[str, str]) -> str:
    """Say that a link contains the user's verdict and correct answer, or that there is no room for the latter."""
    carried = [words for name, words in _SAID.items() if name in linked and f"{name}=" in link]
    left_out = CORRECT_ANSWER in linked and f"{CORRECT_ANSWER}=" not in link
    contains = f"It contains {listed(carried)}." if carried else ""
    return " ".join(filter(None, (contains, "Your correct answer is too long for it." if left_out else "")))


def _about_link(found: str) -> str:
    """Say what a link opens and for how long."""
    if f"{url_state.KEPT}=" not in found:
        return "The link opens this view. Nothing is loaded or run."
    lasts = (
        "The link opens this answer while it is in the memory of this app: until the app restarts, or newer answers "
        f"need the room ({size(MOST_ANSWERS_BYTES)} for all). "
    )
    if f"&{url_state.ANSWER}=" in found:
        return lasts + "After that it shows prompt and answer, which it contains, and offers to score them again."
    if f"{url_state.PROMPT}=" in found:
        return lasts + "After that it shows the prompt, which it contains, and offers to generate the answer again."
    return lasts + "The prompt is too long for a link, so download the trace to keep the answer."


def _downloads(trace: Trace, score: Score, said: Statements) -> None:
    """Draw a button for each file, which is made when it is asked for: nothing of the session can be read then."""
    from analysis.exports.file_names import file_name

    name = partial(file_name, trace)
    with st.container(horizontal=True):
        _download("Trace", trace.to_bytes, name(_TRACE), "Everything in one file, to open here or in Python.")
        report = partial(_report, trace, score, said, dark=is_dark())
        _download("Report", report, name("report.html"), "An HTML page that opens offline.")
        numbers = partial(_numbers, trace, score, said)
        _download("Token numbers", numbers, name("tokens.csv"), "One row per token.")
        heads = partial(_heads, trace, score, said)
        _download("Selected heads", heads, name("heads.csv"), "One row per layer used by RAUQ.")


def _download(label: str, make: Callable[[], str | bytes], name: str, explanation: str) -> None:
    mime = _TYPES[name.rpartition(".")[2]]
    st.download_button(label, make, name, mime, key=f"download_{label}", on_click="ignore", help=explanation)


def _numbers(trace: Trace, score: Score, said: Statements) -> str:
    from analysis.exports.numbers import numbers_csv

    return numbers_csv(trace, score, said=said)


def _heads(trace: Trace, score: Score, said: Statements) -> str:
    from analysis.exports.numbers import selected_heads_csv

    return selected_heads_csv(trace, score, said=said)


def _report(trace: Trace, score: Score, said: Statements, *, dark: bool) -> str:
    from analysis.exports.html_report import html_report

    return html_report(trace, score, said=said, dark=dark)


def _python(trace: Trace, score: Score) -> None:
    from analysis.exports.file_names import file_name
    from analysis.exports.python_code import python_code

    st.caption("This code gives the same score. Save the trace in the same folder, under the name below.")
    st.code(python_code(trace, score, trace_file=file_name(trace, _TRACE)), language=None)


def _figures(trace: Trace, score: Score) -> None:
    """Draw the figures of the current selection, one below the other, saved with Plotly's own button."""
    from analysis.exports.file_names import file_name
    from analysis.one_answer.figures import default_view, drawings

    format_picker()
    st.caption("These figures show the selection above.")
    view = default_view(trace, score)._replace(token=selection.chosen(trace).token)
    for drawing in drawings(trace, score, view, dark=is_dark()):
        key = f"figure_{drawing.name.replace('-', '_')}"
        st.header(drawing.heading, anchor=False)
        figure_export.draw(drawing.figure, file_name(trace, drawing.name), key=key, alt=drawing.heading)
        st.caption(drawing.caption, help=explained(drawing.caption))


_PICK, _FORM, _COUNT, _MAKE = "reference_run", "reference_form", "reference_count", "reference_make"
_CHANGED, _MAKING, _PROBLEM = "_reference_changed", "_reference_making", "_reference_problem"
_USUAL, _FEWEST = 300, 20  # questions of a reference
_EMBEDDED: Mapping[str, str] = MappingProxyType({"atlas": "Prompts held out from its training"})
_FACTS, _EXACT = "an answer is correct if it names the fact", "their correct answers are known exactly"
_STATES: Mapping[str, str] = MappingProxyType({"new": "starting", "loading": "loading the model"})
_UNKNOWN = "How long this takes is unknown until the model has generated an answer in this app."


def _reference_panel(trace: Trace, score: Score) -> None:
    """Draw what a score is compared with; nothing is read for it that `finish_reference` has not read."""
    found = reference(trace, score)
    if found.pending:
        st.text(found.reason)
        if _is_drawn_alone():
            st.rerun()  # only the whole page reads a run
        return
    _choice(trace, score, found)
    if found.scores is None:
        st.text(lines(found.reason))
    else:
        _rank(trace, score, found.scores, found.name)
    if found.run:
        _way_to_answers(trace, score, found.run)
    _make(trace)
    if st.session_state.pop(_CHANGED, False) and _is_drawn_alone():
        st.rerun()  # the whole page compares with it


def _is_drawn_alone() -> bool:
    """Return whether only a part of the page is being drawn."""
    context = get_script_run_ctx()
    return context is not None and bool(context.fragment_ids_this_run)


def _choice(trace: Trace, score: Score, found: Reference) -> None:
    """Draw the choice between the table and the runs of this model, if there is one."""
    kept = [TABLE] if table(trace, score) is not None else []
    names = [*kept, *(one.name for one in settled(trace))]
    if len(names) < 2:
        return
    key = f"{_PICK}_{trace.model}"
    st.session_state[key] = found.run or TABLE
    st.selectbox("Compare with", names, key=key, format_func=_named, on_change=_choose, args=(trace, key))


def _named(name: str) -> str:
    return "The table that came with the app" if name == TABLE else f"The run {name}"


def _choose(trace: Trace, key: str) -> None:
    choose(trace, st.session_state[key])
    st.session_state[_CHANGED] = True


def _rank(trace: Trace, score: Score, scores: ReferenceScores, name: str) -> None:
    """Say where the score ranks, and draw the share of correct answers at every score."""
    from analysis.answer_sets.figures import calibration_chart

    ranked = standing(score.uncertainty, np.array(scores.uncertainties), np.array(scores.correct))
    if ranked is None:
        st.text(UNDEFINED)
        return
    about = about_reference(score, scores, name)
    curve = calibration(scores)
    rank = rank_in_words(ranked, written=scores.written)
    said = f"{rank}. {share_near(trace, score, scores)} {about}"
    st.text(said, help=explained(said))
    if curve.reason:
        return
    figure = calibration_chart(curve, score=score.uncertainty, dark=is_dark())
    st.plotly_chart(figure, key="reference_chart", alt="Share of correct answers by uncertainty, this score marked")


def _way_to_answers(trace: Trace, score: Score, name: str) -> None:
    written = url_state.written_settings(score.settings, trace.kind)
    query = {RUN: name, VIEW: "meaning"} | {key: value for key, value in written.items() if value is not None}
    st.page_link("pages/answer_sets.py", label="All answers of this run", query_params=query)


def _make(trace: Trace) -> None:
    """Draw the run that is being made for this model, or the form of a new one."""
    if (name := _making().get(model_of(trace))) is not None and _follow(trace, name):
        return
    if st.toggle("Make a reference", key=_MAKE):
        _new(trace)


def _making() -> dict[Model, str]:
    found: dict[Model, str] = st.session_state.get(_MAKING, {})
    return found


def _follow(trace: Trace, name: str) -> bool:
    """Draw how far a run is, or how it ended; whether its job is at work."""
    from analysis.runs.job import WORKING, is_held, read_status
    from pages.ui.host import runs
    from pages.ui.host.session_runs import progress

    if (folder := runs.folder(name)) is None or (status := read_status(folder)).state == "finished":
        st.session_state[_MAKING] = {key: value for key, value in _making().items() if key != model_of(trace)}
        st.session_state[_CHANGED] = True
        return False
    works = status.state in WORKING or is_held(folder)
    becomes = "It becomes the reference of this model" if works else "It would have become the reference of this model"
    state = _STATES.get(status.state, status.state) if works else status.state
    st.text(message_text(f"The run {name} is {state}. {becomes}. {status.message}").rstrip())
    progress(folder, status)
    st.page_link("pages/runs.py", label="Stop or resume it on the page Runs", query_params={RUN: name})
    return works


def _new(trace: Trace) -> None:
    """Draw the form of a new run of this model: which questions, and how many."""
    from analysis.datasets.names import load

    kind_of, offered, about = _offered(trace)
    st.text(about)
    key = f"{_FORM}{kind_of}"
    form = st.selectbox("Questions", list(offered), key=key, format_func=offered.__getitem__, persist_state="session")
    data = load(form, kind=trace.kind)
    most = min(len(data.examples), hosting.limits().rows)
    count = st.number_input(
        "Number of questions", _FEWEST, most, min(_USUAL, most), key=_COUNT, persist_state="session"
    )
    st.caption(time_in_words(looking.tokens_per_second(model_form.model_of(trace)), int(count), data.max_new_tokens))
    st.button("Start", key="start_reference", on_click=_start, args=(trace, key))
    if (error := st.session_state.pop(_PROBLEM, None)) is not None:
        show_error(error)


def _offered(trace: Trace) -> tuple[str, Mapping[str, str], str]:
    """The data sets of a new reference, and what the model does with them, under a name for this choice."""
    from analysis.datasets.names import FACT_FORMS, WRITTEN

    model = running(trace.model)
    if was_given(trace):
        about = f"{model} reads a right and a wrong written answer to each question."
        return "_written", {WRITTEN: "Written answers about facts, half of them correct"}, about
    if trace.model == ATLAS:
        return f"_{ATLAS}", _EMBEDDED, f"{model} answers questions; {_EXACT}."
    return "", FACT_FORMS, f"{model} answers questions; {_FACTS}."


def time_in_words(speed: float | None, count: int, tokens: int) -> str:
    """Say how long `count` answers of up to `tokens` tokens take, by the tokens per second of one answer at a time."""
    from pages.ui.host.session_runs import duration

    if speed is None:
        return _UNKNOWN
    asked = f"{count:,} answers of up to {tokens} tokens at the {speed:,.0f} tokens per second of its last answer here"
    return (
        f"About {duration(count * tokens / speed)} once the model is loaded: {asked}. The page may be closed meanwhile."
    )


def _start(trace: Trace, key: str) -> None:
    """Start what the fields hold now, which may be newer than what they held when the button was drawn."""
    try:
        folder = _begun(trace, st.session_state[key], int(st.session_state[_COUNT]))
    except RauqError as error:
        st.session_state[_PROBLEM] = error
        return
    st.session_state[_MAKING] = _making() | {model_of(trace): folder.name}
    choose(trace, folder.name)


def _begun(trace: Trace, form: str, count: int) -> "Path":
    """Create a run of the answer's model as the page Runs does, start its job, and return its folder.

    Raises:
        RauqError: the host does not allow it, or the job ended at once.
    """
    from analysis.datasets.example import spread
    from analysis.datasets.names import load
    from analysis.runs.create import request_for
    from analysis.runs.library import slug
    from pages.ui.host.session_runs import begin_job, create_run, free_name

    data, choice = load(form, kind=trace.kind), model_form.model_of(trace)
    examples = replace(data, examples=spread(data.examples, count, seed=0))
    request = request_for(
        examples, model=choice.name, kind=choice.kind, device=choice.device, dtype=choice.dtype, engine=choice.engine
    )
    folder = create_run(free_name(slug(f"{data.name}-{choice.name.rsplit('/', 1)[-1]}")), examples, request)
    begin_job(folder)
    return folder
