"""Which model answers, how its answers are judged, and how many examples it is given."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

import streamlit as st

from analysis.datasets.example import DataSet, Example
from analysis.datasets.sampling import spread
from analysis.quality.measures import MEASURES, Measure
from analysis.runs.create import request_for
from analysis.runs.manifest import Request, StoredLayers
from pages.ui import hosting, state
from pages.ui.model_form import chosen_model, model_form
from pages.ui.runs.method_fields import asked, method_fields
from rauq.errors import InvalidInput

# The keys of the first three end in what they belong to: another data set, or another model, begins anew.
MEASURE, TOKENS, REVISION = "new_run_measure_", "new_run_tokens_", "new_run_revision_"
LIMIT, BATCH, LAYERS, WEIGHTS = "new_run_limit", "new_run_batch", "new_run_layers", "new_run_weights"
_USUAL_BATCH = 8
_LIMIT_HELP = "Fewer than there are: they are drawn by a seed, every group and stratum in proportion."
_BATCH_HELP = "How many prompts are answered at once. A larger batch is faster, and needs more memory."
_REVISION_HELP = (
    "Branch, tag or commit on the hub. The run keeps the commit that it was begun with, and resumes with it."
)
_LAYERS_HELP = (
    "To score anew under other settings. The middle third is the paper's window; all take up to three times the room. "
    "Averages over each answer are kept of every layer."
)
_HAS: Mapping[str, Callable[[Example], bool]] = MappingProxyType(
    {
        "references": lambda example: bool(example.references),
        "source": lambda example: bool(example.source.strip()),
        "quality": lambda example: example.quality is not None,
    }
)


def model_step(data: DataSet | None) -> None:
    """Draw the fields; `request_of` reads them. Without a data set there is only the model to choose."""
    st.session_state.setdefault(state.MODEL, hosting.models()[0])
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
            "Folder of its weights",
            key=WEIGHTS,
            placeholder="A folder that python -m analysis convert made",
            persist_state="session",
        )
    method_fields(data)
    with st.expander("More"):
        _more(data)


def request_of(data: DataSet) -> tuple[DataSet, Request]:
    """The examples that are asked, and how.

    Raises:
        InvalidInput: no model is named, or an option that no run can have.
    """
    examples = replace(data, examples=spread(data.examples, count(data), seed=0))
    choice = chosen_model()
    if not choice.name:
        message = "No model is named. Give a hub id or a folder, or choose atlas."
        raise InvalidInput(message)
    return examples, request_for(
        examples,
        model=choice.name,
        revision=st.session_state.get(REVISION + choice.name, "").strip() or None,
        kind=choice.kind,
        device=choice.device,
        dtype=choice.dtype,
        quality=st.session_state[MEASURE + data.quality],
        weights=st.session_state.get(WEIGHTS, "").strip(),
        max_new_tokens=most_tokens(data),
        batch_size=st.session_state[BATCH],
        stored_layers=stored_layers(),
        **asked(data),
    )


def count(data: DataSet) -> int:
    """How many examples are asked."""
    return min(st.session_state[LIMIT] or _most(data), _most(data))


def most_tokens(data: DataSet) -> int:
    """The most tokens that the model may generate."""
    return int(st.session_state[TOKENS + str(data.max_new_tokens)])


def stored_layers() -> StoredLayers:
    """Whose attention is kept token by token."""
    chosen: StoredLayers = st.session_state[LAYERS]
    return chosen


def about_measure(measure: Measure, data: DataSet) -> str:
    """Why it is the usual measure, if it is, where it comes from, and how many examples lack what it needs."""
    lacking = {
        need: sum(not has(example) for example in data.examples) for need, has in _HAS.items() if need in measure.needs
    }
    missing = [f"{number:,} of {len(data.examples):,} have no {need}" for need, number in lacking.items() if number]
    undefined = f" {' and '.join(missing)}: their quality stays undefined." if missing else ""
    usual = f"{data.quality_reason} " if measure.id == data.quality and data.quality_reason else ""
    return f"{usual}From: {measure.source}.{undefined}"


def _most(data: DataSet) -> int:
    return min(len(data.examples), hosting.limits().rows)


def _all_of(data: DataSet) -> str:
    there, most = len(data.examples), _most(data)
    return f"all {there:,}" if most == there else f"{most:,} of {there:,}"


def _measure(data: DataSet) -> Measure:
    """Weights are read from a folder, which nobody can name on a host."""
    names = tuple(name for name in MEASURES if not (hosting.is_hosted() and "weights" in MEASURES[name].needs))
    chosen = st.selectbox(
        "Quality of the answers",
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
        st.number_input("Most new tokens", 1, most, usual, key=key, persist_state="session")
    with right:
        most = hosting.limits().batch
        st.number_input("Batch size", 1, most, _USUAL_BATCH, key=BATCH, help=_BATCH_HELP, persist_state="session")
    st.segmented_control(
        "Layers kept token by token",
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
