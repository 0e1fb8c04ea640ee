"""The form of a new run: data, model, methods, start."""

import math
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import streamlit as st

from analysis.datasets.example import DataSet, Example, spread
from analysis.quality.measures import MEASURES, Measure
from analysis.runs.create import request_for
from analysis.runs.files.shards import bytes_per_answer
from analysis.runs.library import slug
from analysis.runs.manifest import Request, StoredLayers
from analysis.runs.methods import ASKABLE, DEFAULT, available_needs, missing_needs, without_download
from pages.ui.host import hosting, models
from pages.ui.host.session_runs import begin_job, create_run, free_name, runs_folder
from pages.ui.runs import query
from pages.ui.runs.columns import open_doubts
from pages.ui.runs.data import FILE, SOURCE, data_fields, preview
from pages.ui.runs.example_file import example_file
from pages.ui.shared import state
from pages.ui.shared.errors import message_text, show_error
from pages.ui.shared.model_form import checked, chosen_model, model_form
from rauq.checkpoints.named import find_named
from rauq.errors import InvalidInput, RauqError
from rauq.labels import size
from rauq.layout import ANALYSIS_COMMAND
from rauq.methods.method import Need
from rauq.methods.table import METHODS

METHOD, SAMPLES, JUDGE = "new_run_method_", "new_run_samples", "new_run_judge_"
_DEFAULT_SAMPLES = 5
_ASKED: dict[Need, tuple[str, str, str]] = {
    "nli": ("nli", "Natural-language inference", "microsoft/deberta-large-mnli, or a folder"),
    "similarity": ("similarity", "Sentence similarity", "cross-encoder/stsb-roberta-large, or a folder"),
    "keywords": ("tagger", "Keywords, by spaCy", "en_core_web_sm, or a folder"),
    "idf": ("idf", "Document frequencies", f"A file made by {ANALYSIS_COMMAND} idf"),
}
_FREE = "From one generation, with at most one more forward pass."
_SAMPLED = "From samples: this many more answers to every prompt."
_JUDGED = "With an additional model or file. Methods in grey need one: enter it below, as a hub id or a folder."


_OF_THE_DATA: frozenset[Need] = frozenset({"facts", "written"})  # needs that only some data sets meet


def method_fields(data: DataSet) -> None:
    """Draw the choice of methods, folded; `asked` reads it."""
    with st.expander("Methods"):
        st.button("Select all without a download", key="no_download", on_click=_choose_all, args=(data,))
        there = available_needs(chosen_model().name, data) | _named()
        own = [method for method in ASKABLE if METHODS[method].needs & _OF_THE_DATA <= there]
        judged = [
            method for method in own if METHODS[method].needs & set(_ASKED) - available_needs(chosen_model().name, data)
        ]
        rest = [method for method in own if method not in judged]
        _group(_FREE, [method for method in rest if "samples" not in METHODS[method].needs], there)
        _group(_SAMPLED, [method for method in rest if "samples" in METHODS[method].needs], there)
        st.number_input("Samples", 2, hosting.limits().samples, _DEFAULT_SAMPLES, key=SAMPLES, persist_state="session")
        if not hosting.is_hosted():
            _judges(judged, there)


def asked(data: DataSet) -> dict[str, Any]:
    """Return the methods, samples and judges of a request."""
    there = available_needs(chosen_model().name, data) | _named()
    ticked = [method for method in ASKABLE if st.session_state.get(METHOD + method, _is_usual(method))]
    judges = {name: _judge(need) for need, (name, _, _) in _ASKED.items()}
    methods = tuple(method for method in ticked if METHODS[method].needs <= there)
    return {"methods": methods, "samples": st.session_state.get(SAMPLES, _DEFAULT_SAMPLES), **judges}


def _judges(judged: list[str], there: frozenset[Need]) -> None:
    _group(_JUDGED, judged, there)
    for need, (_, label, example) in _ASKED.items():
        st.text_input(label, key=JUDGE + need, placeholder=example, persist_state="session")


def _group(caption: str, methods: list[str], there: frozenset[Need]) -> None:
    st.caption(caption)
    for place, column in enumerate(st.columns(2, gap="small")):
        with column:
            for method in methods[place::2]:
                _box(method, there)


def _box(method: str, there: frozenset[Need]) -> None:
    row, words = METHODS[method], missing_needs(method, there)
    st.checkbox(
        row.name,
        value=_is_usual(method),
        key=METHOD + method,
        disabled=bool(words),
        help=f"Needs {words}: enter it below." if words else f"Extra forward passes: {row.cost}.",
        wrap=True,
        persist_state="session",
    )


def _is_usual(method: str) -> bool:
    """Whether a method is ticked at first; what is for given answers alone is offered for these alone."""
    return method in DEFAULT or "written" in METHODS[method].needs


def _choose_all(data: DataSet) -> None:
    for method in without_download(chosen_model().name, data):
        st.session_state[METHOD + method] = True


def _named() -> frozenset[Need]:
    return frozenset(need for need in _ASKED if _judge(need))


def _judge(need: Need) -> str:
    return str(st.session_state.get(JUDGE + need) or "").strip()


# The keys of the first three end in the data set or model they belong to: another one starts from the default.
MEASURE, TOKENS, REVISION = "new_run_measure_", "new_run_tokens_", "new_run_revision_"
LIMIT, BATCH, LAYERS, WEIGHTS = "new_run_limit", "new_run_batch", "new_run_layers", "new_run_weights"
_DEFAULT_BATCH = 8
_LIMIT_HELP = "A smaller number draws a seeded sample, with every group and stratum in proportion."
_BATCH_HELP = "How many prompts are answered at once. A larger batch is faster but needs more memory."
_REVISION_HELP = "Branch, tag or commit on the hub. The run stores the commit that it starts with, and resumes with it."
_LAYERS_HELP = (
    "Needed to score again under other settings. The middle third is the paper's window; all layers take up to three "
    "times the space. Averages over each answer are stored for every layer."
)
_HAS: Mapping[str, Callable[[Example], bool]] = MappingProxyType(
    {
        "references": lambda example: bool(example.references),
        "source": lambda example: bool(example.source.strip()),
        "quality": lambda example: example.quality is not None,
        "group": lambda example: bool(example.group),
    }
)


def model_step(data: DataSet | None) -> None:
    """Draw the fields; `request_of` reads them. Without a data set only the model can be chosen."""
    st.session_state.setdefault(state.MODEL, hosting.first_model())
    model_form()
    if data is None:
        return
    left, right = st.columns([3, 2], gap="small")
    with left:
        measure = _measure(data)
    with right:
        st.number_input(
            "Examples",
            min_value=1,
            max_value=hosting.limits().rows,
            value=None,
            key=LIMIT,
            placeholder=_all_of(data),
            help=_LIMIT_HELP,
            persist_state="session",
        )
    st.caption(about_measure(measure, data))
    if "weights" in measure.needs:
        st.text_input(
            "Folder of the measure's weights",
            key=WEIGHTS,
            placeholder=f"A folder made by {ANALYSIS_COMMAND} convert",
            persist_state="session",
        )
    method_fields(data)
    with st.expander("More"):
        _more(data)


def request_of(data: DataSet) -> tuple[DataSet, Request]:
    """Return the examples of the run and its request.

    Raises:
        InvalidInput: no model is given, or an option is not allowed.
    """
    examples = replace(data, examples=spread(data.examples, count(data), seed=0))
    choice = chosen_model()
    if not choice.name:
        message = "No model is given. Enter a hub id, a folder or a GGUF file, or choose atlas."
        raise InvalidInput(message)
    return examples, request_for(
        examples,
        model=choice.name,
        revision=st.session_state.get(REVISION + choice.name, "").strip() or None,
        kind=choice.kind,
        device=choice.device,
        dtype=choice.dtype,
        engine=choice.engine,
        quality=st.session_state[MEASURE + data.quality],
        weights=st.session_state.get(WEIGHTS, "").strip(),
        max_new_tokens=most_tokens(data),
        batch_size=st.session_state[BATCH],
        stored_layers=stored_layers(),
        **asked(data),
    )


def count(data: DataSet) -> int:
    """Return the number of examples in the run."""
    return min(st.session_state[LIMIT] or _most(data), _most(data))


def most_tokens(data: DataSet) -> int:
    """Return the largest number of new tokens."""
    return int(st.session_state[TOKENS + str(data.max_new_tokens)])


def stored_layers() -> StoredLayers:
    """Return the layers whose attention is stored per token."""
    chosen: StoredLayers = st.session_state[LAYERS]
    return chosen


def about_measure(measure: Measure, data: DataSet) -> str:
    """Describe a measure: why it is the default, if it is, its source, and how many examples lack its inputs."""
    missing_needs = {
        need: sum(not has(example) for example in data.examples) for need, has in _HAS.items() if need in measure.needs
    }
    missing = [
        f"{number:,} of {len(data.examples):,} have no {need}" for need, number in missing_needs.items() if number
    ]
    undefined = f" {' and '.join(missing)}: the quality of their answers is undefined." if missing else ""
    usual = f"{data.quality_reason} " if measure.id == data.quality and data.quality_reason else ""
    return f"{usual}Source: {measure.source}.{undefined}"


def _most(data: DataSet) -> int:
    return min(len(data.examples), hosting.limits().rows)


def _all_of(data: DataSet) -> str:
    there, most = len(data.examples), _most(data)
    return f"all {there:,}" if most == there else f"{most:,} of {there:,}"


def _measure(data: DataSet) -> Measure:
    """Draw the choice of measure; those that read weights from a folder are not offered on a host."""
    names = tuple(name for name in MEASURES if not (hosting.is_hosted() and "weights" in MEASURES[name].needs))
    chosen = st.selectbox(
        "Measure of quality",
        names,
        index=names.index(data.quality),
        key=MEASURE + data.quality,
        format_func=lambda name: MEASURES[name].name,
        persist_state="session",
    )
    return MEASURES[chosen]


def _more(data: DataSet) -> None:
    left, right = st.columns(2, gap="small")
    with left:
        most, key = hosting.limits().new_tokens, f"{TOKENS}{data.max_new_tokens}"
        usual = min(data.max_new_tokens, most)
        st.number_input("Max new tokens", 1, most, usual, key=key, persist_state="session")
    with right:
        most = hosting.limits().batch
        st.number_input("Batch size", 1, most, _DEFAULT_BATCH, key=BATCH, help=_BATCH_HELP, persist_state="session")
    st.segmented_control(
        "Layers stored per token",
        ("middle", "all"),
        default="middle",
        key=LAYERS,
        required=True,
        help=_LAYERS_HELP,
        persist_state="session",
    )
    if (name := chosen_model().name) not in hosting.models():
        key = REVISION + name
        st.text_input("Revision", key=key, placeholder="main", help=_REVISION_HELP, persist_state="session")


NAME = "new_run_name"
_CHARACTERS_A_TOKEN = 3  # of a given answer; most tokens have more, so the estimate is rather too large


def open_form() -> None:
    """Show the form as it was left, except for the name."""
    st.session_state[NAME] = ""
    query.open_form()


def start_step(data: DataSet) -> None:
    """Draw the name and the button, which is disabled without examples."""
    suggested = free_name(slug(f"{data.name.rsplit('.', 1)[0]}-{chosen_model().name.rsplit('/', 1)[-1]}"))
    typed = st.text_input("Name of the run", key=NAME, placeholder=suggested, persist_state="session")
    if st.button("Start", key="start_run", type="primary", disabled=not data.examples):
        with st.spinner("Starting the job"):
            try:
                folder = make_run(data, typed.strip() or suggested)
            except RauqError as error:
                show_error(error)
                return
            query.follow(folder.name)
            query.await_heads(folder.name)
            begin(folder.name, folder)
        st.rerun()


def make_run(data: DataSet, name: str) -> Path:
    """Create the run that the form asks for and return its folder.

    Raises:
        RauqError: a name or an option is not allowed, or the name is taken.
    """
    asked, request = request_of(data)
    return create_run(name, asked, request)


_PROBLEM = "_runs_problem"


class Problem(NamedTuple):
    """Why an action failed, and the name of its run, if any."""

    error: RauqError
    name: str | None


def problem() -> Problem | None:
    """Return why the last action failed, if it did."""
    found: Problem | None = st.session_state.get(_PROBLEM)
    return found


def attempt(action: Callable[[], object], name: str | None = None) -> bool:
    """Perform an action, on the run of that name if any; store its error and return whether it succeeded."""
    try:
        action()
    except RauqError as error:
        st.session_state[_PROBLEM] = Problem(error, name)
        return False
    st.session_state[_PROBLEM] = None
    return True


def begin(name: str, folder: Path) -> None:
    """Start or resume the job of a run."""
    attempt(lambda: begin_job(folder), name)


def room(data: DataSet) -> str:
    """Say how much disk space the run takes at most and how much is free; may inspect the embedded model."""
    choice = chosen_model()
    named = find_named(choice.name)
    is_here = choice.name in hosting.models() or (named is not None and named.is_here)
    model = models.inspect_model(choice) if is_here else checked(choice)
    if model is None:
        how = "once the model is on this machine" if named else "after Check model"
        return f"The disk space needed depends on the model's layers and heads; it is shown {how}."
    tokens = _tokens(data)
    each = bytes_per_answer(
        tokens,
        num_layers=model.num_layers,
        num_heads=model.num_heads,
        stored_layers=stored_layers(),
    )
    whole = each * count(data)
    place = next(path for path in (runs_folder(), *runs_folder().parents) if path.exists())
    free = min(shutil.disk_usage(place).free, hosting.limits().bytes_each)
    verdict = "" if whole < free else " This does not fit. Choose fewer examples."
    return f"At most {size(whole)}, {size(each)} for an answer of {tokens} tokens. {size(free)} free.{verdict}"


def _tokens(data: DataSet) -> int:
    """Return the longest length of an answer, in tokens: the limit, or that of the given answers."""
    given = [len(example.answer) for example in data.examples if example.answer is not None]
    longest = [math.ceil(max(given) / _CHARACTERS_A_TOKEN)] if given else []
    generated = [most_tokens(data)] if len(given) < len(data.examples) else []
    return max([*longest, *generated])


_NOTHING = "Accepted rows will appear here, and rejected rows with the reason."
_NO_START = "Start appears here once rows are accepted in step 2."
_ANSWER_FIRST = "The run can be started once the question in step 1 is answered."


def new_run() -> None:
    """Draw the form; nothing is loaded or answered before Start."""
    with st.container(key="runs_head", horizontal=True, vertical_alignment="center"):
        st.button("All runs", key="all_runs", icon=":material/arrow_back:", on_click=query.choose, args=(None,))
        st.title(query.HEADS_TITLE if query.is_heads() else "New run", anchor=False)
    if query.is_heads():
        query.about_heads()
    left, right = st.columns([2, 3], gap="large")
    with left:
        st.header("1 Data", anchor=False)
        data = _data()
    with right:
        st.header("2 Rows", anchor=False)
        _rows(data)
    left, right = st.columns([2, 3], gap="large")
    with left:
        st.header("3 Model", anchor=False)
        model_step(data)
    with right:
        st.header("4 Start", anchor=False)
        if data is None:
            st.caption(_NO_START)
            return
        if data.understood and open_doubts():
            st.caption(_ANSWER_FIRST)
            return
        if query.is_heads() and (missing := query.missing_for_heads(data)):
            st.text(missing)
        needed = st.empty()
        start_step(data)
    with needed:  # last, since it may import torch
        _room(data)


def _rows(data: DataSet | None) -> None:
    if data is not None:
        preview(data, provisional=bool(data.understood and open_doubts()))
    elif st.session_state[SOURCE] == FILE:
        example_file()
    else:
        st.caption(_NOTHING)


def _data() -> DataSet | None:
    try:
        return data_fields()
    except RauqError as error:
        show_error(error)
        return None


def _room(data: DataSet) -> None:
    if not data.examples:
        st.caption(_NO_START)
    elif models.busy():
        st.caption("Another model is being loaded. The disk space needed is shown once it is loaded.")
    else:
        try:
            st.caption(room(data))
        except RauqError as error:
            st.text(message_text(error))
