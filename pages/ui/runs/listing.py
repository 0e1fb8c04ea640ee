"""The list of runs, the newest first, each described in words; the chosen one is expanded, with its actions."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import IO, Literal

import streamlit as st

from analysis.answer_sets.outcomes import outcomes, outcomes_in_words
from analysis.exports.csv_text import csv_columns
from analysis.quality.measures import MEASURES, OWN
from analysis.report.export import jsonl_bytes, parquet_bytes
from analysis.runs.archive import export_zip
from analysis.runs.files.corrections import read_corrections, remove_corrections
from analysis.runs.job import WORKING, State, Status, is_stopping, last_lines, request_stop
from analysis.runs.library import Listed, delete_run, slug
from analysis.runs.manifest import MANIFEST, Answerer, Manifest, Request, StoredLayers
from analysis.runs.methods import about_unknown_methods
from analysis.runs.opened import Run
from analysis.runs.own import needs_of, row_of
from pages.ui.host import cache, hosting, uploads
from pages.ui.host.hosting import without_folders
from pages.ui.host.session_runs import counted, forget_run, free_name, make_room, progress, runs_folder
from pages.ui.runs import kept, query
from pages.ui.runs.joined_questions import joined_questions
from pages.ui.runs.new_run import attempt, begin, open_form, problem
from pages.ui.shared import state as shared_state
from pages.ui.shared.errors import in_full, message_text, printable, show_error
from pages.ui.shared.url_state import LISTED, RUN, VIEW
from pages.ui.shared.words import explained
from rauq.errors import RunError
from rauq.labels import about_weights, lines, running, size
from rauq.layout import ANALYSIS_COMMAND

_WRONG: tuple[State, ...] = ("interrupted", "failed")
_LAYERS: Mapping[StoredLayers, str] = MappingProxyType({"middle": "the middle layers", "all": "all layers"})


def about_run(run: Listed) -> str:
    """Return a run's model, data set, size on disk and day, on one line."""
    if run.manifest is None:
        return size(run.num_bytes)
    request, day = run.manifest.request, running(run.manifest.created[:10])
    return f"model {running(request.model)}, data {running(request.data)}, {size(run.num_bytes)}, {day}"


def what_is_wrong(run: Listed) -> str:
    """Return why a run cannot be read or why its job ended early; empty if neither."""
    if run.status is None:
        return message_text(run.fault)
    return message_text(run.status.message) if run.status.state in _WRONG else ""


def about_request(manifest: Manifest, run: Run | None = None) -> str:
    """Return what a run computes, with which model, and what it stores, a line each; `run`: opened, if it can be."""
    request = manifest.request
    begun = running(manifest.created[:16].replace("T", " "))
    said = [
        f"{request.count:,} examples of {running(request.data)}, created on {begun} UTC",
        f"Quality: {_quality(manifest)}",
        f"{_longest(request, run)}, batches of {request.batch_size}",
        *_methods(request),
        *([f"Methods added later: {_names(manifest.added_methods)}"] if manifest.added_methods else []),
        *([f"Revision requested: {running(request.revision)}"] if request.revision else []),
        f"Stored per token: {_stored(request)}",
        _answerer(manifest.answerer) if manifest.answerer else "Its model has not been loaded yet",
    ]
    return lines("\n".join(said))


def _longest(request: Request, run: Run | None) -> str:
    """Return how long a generated answer can be, and how many are not generated."""
    most = f"at most {request.max_new_tokens} new tokens"
    given = 0 if run is None else int((run.answers["stop_reason"] == "given").sum())
    if run is None or not given:
        return most.capitalize()
    if given == len(run.answers):
        return "All answers come from the data set; none is generated"
    return f"{given:,} answers come from the data set; the others have {most}"


def _stored(request: Request) -> str:
    """Return what the run stores of each token, and of its extras."""
    extras = f", and the extras {', '.join(map(running, request.keep))}" if request.keep else ""
    return f"the attention of {_LAYERS[request.stored_layers]}, {request.offsets} keys back{extras}"


def _quality(manifest: Manifest) -> str:
    """Return the measure of quality, and why it was chosen if the data set says so."""
    measure, own = manifest.request.quality, manifest.request.own_quality
    name = MEASURES[measure].name if measure in MEASURES else running(measure)
    if own is not None:
        name = f"{OWN.name} {own.name}"
    return f"{name}. {running(manifest.quality_reason)}" if manifest.quality_reason else name


def _names(methods: tuple[str, ...]) -> str:
    return ", ".join(row.name if (row := row_of(method)) else running(method) for method in methods)


def _methods(request: Request) -> list[str]:
    """Return the methods and what they use besides the model."""
    names = _names(request.known_methods)
    judges = [running(name) for name in (request.nli, request.similarity, request.tagger, request.idf) if name]
    sampled = any("samples" in needs_of(method) for method in request.known_methods)
    with_samples = f", {request.samples} samples, seed {request.seed}" if sampled else ""
    return [
        *([f"Methods: {names}{with_samples}"] if names else []),
        *filter(None, [about_unknown_methods(request)]),
        *([f"Judges: {', '.join(judges)}"] if judges else []),
    ]


def _answerer(answerer: Answerer) -> str:
    heads = f"{answerer.num_layers} layers of {answerer.num_heads} heads"
    facts = f"{running(answerer.name)}: {answerer.kind}, {answerer.dtype}, {heads}, revision {answerer.revision[:12]}"
    weights = about_weights(answerer.quantisation, answerer.dtype, answerer.adapter, answerer.engine)
    return f"{facts}. {weights}" if weights else facts


def _opened(run: Listed) -> Run | None:
    """Return a run that has answers; None where it has none, or where the list says what is wrong with it."""
    if run.status is None or not run.status.saved:
        return None
    try:
        return cache.run(run.folder)
    except RunError:
        return None


def judged(run: Listed) -> None:
    """Show how many answers of a run are correct, incorrect, unclear or undefined, and the way to the unclear ones."""
    if (found := _opened(run)) is None:
        return
    counts = outcomes(found.answers, cache.usual_thresholds(found))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.text(running(outcomes_in_words(counts)), width="content")
        if counts.unclear:
            query_params = {RUN: run.name, VIEW: "answers", LISTED: "unclear"}
            st.page_link(
                "pages/answer_sets.py", label="Read the unclear ones", icon=":material/list:", query_params=query_params
            )


def corrected_verdicts(run: Listed) -> None:
    """Show how many verdicts were corrected or that the corrections are damaged, with a button to undo all."""
    try:
        count = len(read_corrections(run.folder))
        said = f"{count:,} verdict{'' if count == 1 else 's'} corrected by hand"
    except RunError as error:
        count, said = None, message_text(error)
    if count == 0:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.text(said, width="content")
        with st.popover("Undo all corrections"):
            st.text("The measured verdicts apply again. This cannot be undone.")
            st.button("Undo them", key="undo_corrections", type="primary", on_click=_undo, args=(run,))


def _undo(run: Listed) -> None:
    if attempt(lambda: remove_corrections(run.folder), run.name):
        shared_state.notify("All corrections are undone.")


_HELP = f"A larger archive is imported by the command {ANALYSIS_COMMAND} import."
_OPEN, _UPLOAD, _UPLOADS = "import_run", "import_run_", "_import_runs"


def field() -> None:
    """Draw the upload of an exported run; the archive is checked before the run appears in the list."""
    popover = st.popover("Import", key=_OPEN, width="stretch", on_change="rerun")
    if not popover.open:
        return
    key = f"{_UPLOAD}{st.session_state.get(_UPLOADS, 0)}"
    popover.file_uploader(
        "A run exported from this app",
        "zip",
        key=key,
        help=None if hosting.is_hosted() else _HELP,
        on_change=_import,
        args=(key,),
    )


def _import(key: str) -> None:
    """Import the run under the file's name and clear the field."""
    file = uploads.uploaded(key)
    if file is None:
        return
    st.session_state[_UPLOADS] = st.session_state.get(_UPLOADS, 0) + 1
    name = free_name(slug(file.name.removesuffix(".zip")))
    if attempt(lambda: _take_in(file, name)):
        st.session_state[_OPEN] = False
        query.choose(name)


def _take_in(file: IO[bytes], name: str) -> None:
    make_room()
    uploads.import_run(file, runs_folder(), name)


_LAST_LINES = 12
_MOST_EXPORTED = 2 * 2**30  # bytes: an archive is held in memory
_MOST_FAILURES = 20  # rows that are shown without scrolling
_DELETING = "_runs_deleting"
_TABLES: Mapping[str, Callable[[Run], bytes]] = MappingProxyType({"Parquet": parquet_bytes, "JSONL": jsonl_bytes})


def details(run: Listed) -> None:
    """Draw the details of a run, and its buttons."""
    if run.manifest is not None:
        st.text(about_request(run.manifest, _opened(run)))
    judged(run)
    corrected_verdicts(run)
    joined_questions(run)
    if run.status is not None and run.status.state in _WRONG:
        _log(run)
    if run.status is not None and run.status.failed and run.status.state not in WORKING:
        _failures(run)
    if _is_asked_to_delete(run.name):
        _question(run)
    else:
        _buttons(run)


def _log(run: Listed) -> None:
    """Draw the end of a job's log, which is hidden on a host since it shows details of the machine."""
    if not hosting.is_hosted() and (log := last_lines(run.folder, _LAST_LINES)):
        with st.expander("Last lines of the log"):
            st.code(lines(log), language=None, wrap_lines=True)


def _failures(run: Listed) -> None:
    try:
        found = cache.run(run.folder)
    except RunError as error:
        st.text(message_text(error))
        return
    st.caption("Examples without an answer, by their number in the data set, with the reason")
    numbers = found.failures["number"].tolist()
    table = {
        "number": numbers,
        "question": [printable(found.examples[number].asked) for number in numbers],
        "error": [printable(without_folders(error)) for error in found.failures["error"]],
    }
    st.dataframe(
        table,
        key="failures",
        hide_index=True,
        height="content" if len(numbers) <= _MOST_FAILURES else "auto",
        column_config={
            "number": st.column_config.NumberColumn(width="small"),
            "question": st.column_config.TextColumn(width=300),
            "error": st.column_config.TextColumn(width=600),
        },
        alt="The examples that failed, with the reason",
    )
    st.download_button(
        "Table as CSV", partial(csv_columns, table), "failures.csv", "text/csv", key="save_failures", on_click="ignore"
    )
    in_full("Errors in full", dict(zip(numbers, map(without_folders, found.failures["error"]), strict=True)))


def _buttons(run: Listed) -> None:
    if run.read_only:
        st.caption("This run came with the app and cannot be deleted.")
    state = run.status.state if run.status else None
    with st.container(horizontal=True):
        if run.num_bytes > _MOST_EXPORTED:
            st.caption(f"Too large to export here ({size(run.num_bytes)}): copy its folder.", width="content")
        elif run.manifest is not None:
            st.download_button(
                "Export as zip",
                partial(_zipped, run.folder),
                f"{run.name}.zip",
                "application/zip",
                key="export",
                on_click="ignore",
            )
        if run.status is not None and run.status.saved:
            for kind, write in _TABLES.items():
                st.download_button(
                    f"Results as {kind}",
                    partial(_table, run.folder, write),
                    f"{run.name}.{kind.lower()}",
                    "application/octet-stream",
                    key=f"export_{kind}",
                    on_click="ignore",
                )
        if not run.read_only:
            st.button(
                "Delete",
                key="delete",
                on_click=_ask_to_delete,
                args=(run.name,),
                disabled=state in WORKING,
            )


def _zipped(folder: Path) -> bytes:
    with export_zip(folder) as archive:
        return archive.read()


def _table(folder: Path, write: Callable[[Run], bytes]) -> bytes:
    return write(cache.run(folder))


def _question(run: Listed) -> None:
    st.text(f"Delete {run.name} ({size(run.num_bytes)})? This cannot be undone.")
    with st.container(horizontal=True):
        st.button("Delete run", key="delete_for_good", type="primary", on_click=_delete, args=(run.name,))
        st.button("Keep run", key="keep", on_click=_ask_to_delete, args=(None,))


def _stop(name: str, folder: Path) -> None:
    """Stop the job of a run; saved answers stay."""
    attempt(lambda: request_stop(folder), name)


def _ask_to_delete(name: str | None) -> None:
    """Ask the user to confirm a deletion; None withdraws the question."""
    st.session_state[_DELETING] = name


def _is_asked_to_delete(name: str) -> bool:
    return st.session_state.get(_DELETING) == name


def _delete(name: str) -> None:
    """Delete a run after the user has confirmed."""
    _ask_to_delete(None)
    if attempt(lambda: delete_run(name, runs_folder()), name):
        forget_run(name)
        query.choose(None)
        shared_state.notify("Run deleted.")


_WHAT = "A run holds a model's answers to a data set, with attention and uncertainty,"
_LEADS = (
    "The page Answer sets draws the paper's figures from a run; Methods compares how well methods rank its answers."
)


def head(*, about: bool = True) -> None:
    """Draw the title, the buttons that import or create a run, and what a run is."""
    with st.container(key="runs_head"):
        title, import_it, new = st.columns([8, 2, 2], vertical_alignment="center", gap="small")
        title.title("Runs", anchor=False)
        with import_it:
            field()
        new.button("New run", key="new_run", type="primary", width="stretch", on_click=open_form)
    if about:
        words = explained(_WHAT, _LEADS)
        st.caption(f"{_WHAT} {kept.who_sees_them()}", help=f"{_LEADS}\n\n{words}")
        kept.show_state()


def empty_state() -> None:
    """Show how to make the first run."""
    with st.container(border=True):
        st.header("There is no run yet", anchor=False)
        st.write(
            "New run: a model answers a file of prompts, an embedded data set or one of the paper's data sets. The job "
            "continues while this page is closed. Import: a run that was exported elsewhere."
        )


Colour = Literal["blue", "gray", "orange"]

_BROKEN, _STOPPING = "broken", "stopping"
_UNFOLDED: tuple[State, ...] = ("new", "stopped", *_WRONG)
_STOP_HELP = "Stops after the current token. Resume generates the answers that were not saved."
_COLOURS: Mapping[str, Colour] = MappingProxyType(
    {
        "loading": "blue",
        "answering": "blue",
        "interrupted": "orange",
        "failed": "orange",
        _BROKEN: "orange",
        _STOPPING: "blue",
    }
)
_PAGES = (
    ("pages/answer_sets.py", "Answer sets", ":material/bar_chart:"),
    ("pages/methods.py", "Methods", ":material/leaderboard:"),
)
_STATES: Mapping[str, str] = MappingProxyType({"new": "not started", "loading": "loading model"})


def run_list(runs: Sequence[Listed], chosen: str | None) -> None:
    """Draw every run: first the one that came with the app, then the others, newest first."""
    for run in sorted(runs, key=lambda run: (not run.read_only, -_since(run))):
        with st.container(border=True, key=f"run-{run.name}", gap="small"):
            _line(run, unfolded=run.name == chosen)
            if (failed := problem()) and failed.name == run.name:  # shown next to the run
                show_error(failed.error)
            if run.status is not None and run.status.state != "finished":
                progress(run.folder, run.status)
            if wrong := what_is_wrong(run):
                st.text(wrong)
            if run.name == chosen:
                query.way_to_heads(run)
                details(run)


def _line(run: Listed, *, unfolded: bool) -> None:
    name, state, counts, links = st.columns([5, 2, 3, 5], vertical_alignment="center", gap="small")
    with name, st.container(key=f"name-{run.name}", gap=None):
        st.text(run.name)
        st.text(about_run(run))
    with state:
        _badge(run)
    with counts:
        if run.status is not None and run.status.state == "finished":
            st.text(counted(run.status))
    with links, st.container(horizontal=True, horizontal_alignment="right", vertical_alignment="center"):
        _ways(run, unfolded=unfolded)


def _ways(run: Listed, *, unfolded: bool) -> None:
    if run.status is not None:
        _ways_of(run, run.status)
    st.button(
        "Close" if unfolded else "Details",
        key=f"details_{run.name}",
        on_click=query.choose,
        args=(None if unfolded else run.name,),
    )


def _ways_of(run: Listed, status: Status) -> None:
    if status.saved:
        for page, label, icon in _PAGES:
            st.page_link(page, label=label, icon=icon, query_params={RUN: run.name})
    if status.state in WORKING:
        st.button(
            "Stop",
            key=f"stop_{run.name}",
            on_click=_stop,
            args=(run.name, run.folder),
            disabled=is_stopping(run.folder),
            help=_STOP_HELP,
        )
    elif status.state in _UNFOLDED and not run.read_only:
        name = "Start" if status.state == "new" else "Resume"
        st.button(name, key=f"resume_{run.name}", on_click=begin, args=(run.name, run.folder))


def _badge(run: Listed) -> None:
    state = run.status.state if run.status else _BROKEN
    if state in WORKING and is_stopping(run.folder):
        state = _STOPPING
    st.badge(_STATES.get(state, state), color=_COLOURS.get(state, "gray"))


def _since(run: Listed) -> float:
    """Return when a run was created or imported, in seconds since 1970."""
    try:
        return (run.folder / MANIFEST).stat().st_mtime
    except OSError:
        return 0.0
