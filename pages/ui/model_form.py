"""The choice of a model: embedded, or any other by hub id or folder, looked at before it is loaded."""

from typing import TYPE_CHECKING

import streamlit as st

import rauq
from pages.ui import cache, hosting, state
from pages.ui.cache import ModelChoice
from pages.ui.errors import show_error
from pages.ui.state import ATLAS, AUTO, DEVICE, DTYPE, KIND, OTHER
from pages.ui.words import model_facts
from rauq.labels import lines
from rauq.presets import PRESETS

if TYPE_CHECKING:
    from rauq.candidate import Candidate

DEVICES = (AUTO, "cpu", "cuda", "mps")
DTYPES = (AUTO, "float32", "bfloat16", "float16")
KINDS = (AUTO, "base", "instruct")
_AT_HAND, _TYPED, _CHECKED = "_at_hand", "_typed", "_checked"
_KIND_HELP = "How the prompt is put, and which setting is the paper's. auto: by the paper's list, name and template."
_HELP = "atlas is embedded: small, and ready without a network. Another: a hub id, or a local folder."


def model_form() -> None:
    """Draw the choice; `chosen_model` reads it."""
    if hosting.is_hosted():
        st.selectbox("Model", hosting.models(), key=state.MODEL, persist_state="session")
        st.caption(hosting.in_words())
        return
    st.segmented_control("Model", (ATLAS, OTHER), key=state.MODEL, required=True, help=_HELP, persist_state="session")
    if st.session_state[state.MODEL] != OTHER:
        return
    st.session_state[state.OTHER_MODEL] = st.session_state.get(state.OTHER_MODEL, "")  # kept while it is not drawn
    placeholder = "organisation/model, or a folder"
    typed = st.text_input(
        "Hub id or folder",
        key=state.OTHER_MODEL,
        on_change=_type,
        placeholder=placeholder,
        persist_state="session",
    )
    st.selectbox(
        "Models at hand",
        _at_hand(typed),
        index=None,
        key=_AT_HAND,
        on_change=_take,
        placeholder="Or choose one",
        label_visibility="collapsed",
    )
    with st.expander("Device, precision, kind"):
        _one_of("Device", DEVICES, DEVICE)
        _one_of("Precision", DTYPES, DTYPE)
        _one_of("Kind", KINDS, KIND, explanation=_KIND_HELP)
    if st.button("Check it first", key="check", disabled=not typed, help="Reads its description, not its weights."):
        _check(chosen_model())


def chosen_model() -> ModelChoice:
    """The model that the session's widgets name; an empty name where none is given yet."""
    values = st.session_state
    if hosting.is_hosted():
        return ModelChoice(name=values.get(state.MODEL, hosting.models()[0]))
    if values.get(state.MODEL) != OTHER:
        return ModelChoice()
    kind = values.get(KIND, AUTO)
    return ModelChoice(
        name=(values.get(state.OTHER_MODEL) or "").strip(),
        device=values.get(DEVICE, AUTO),
        dtype=values.get(DTYPE, AUTO),
        kind=None if kind == AUTO else kind,
    )


def checked(choice: ModelChoice) -> "Candidate | None":
    """What is known of a model, where the user has checked it; nothing is looked up."""
    found: tuple[ModelChoice, Candidate] | None = st.session_state.get(_CHECKED)
    return found[1] if found is not None and found[0] == choice else None


def _at_hand(typed: str) -> list[str]:
    """Models of the folder that is typed, those that the hub's client has stored here, and the paper's.

    A folder that a link names is not looked into.
    """
    inside = map(str, rauq.local_models(typed)) if typed == st.session_state.get(_TYPED) else ()
    return list(dict.fromkeys([*inside, *rauq.cached_models(), *(preset.hub_id for preset in PRESETS)]))


def _type() -> None:
    st.session_state[_TYPED] = st.session_state[state.OTHER_MODEL]


def _take() -> None:
    if (chosen := st.session_state[_AT_HAND]) is not None:
        st.session_state[state.OTHER_MODEL] = chosen
        st.session_state[_AT_HAND] = None


def _check(choice: ModelChoice) -> None:
    try:
        with st.spinner("Reading its description"):
            candidate = cache.examine(choice)
    except rauq.RauqError as error:
        show_error(error)
        return
    st.session_state[_CHECKED] = (choice, candidate)
    heads = f"{candidate.num_layers} layers of {candidate.num_heads} heads; {candidate.kind}: {candidate.why_kind}"
    st.text(lines(f"{model_facts(candidate)}. {heads}."))
    if candidate.fits is False:
        beside = " beside the model that is loaded" if cache.in_memory() else ""
        st.text(f"It does not fit{beside}: choose a smaller model, or bfloat16.")


def _one_of(label: str, options: tuple[str, ...], key: str, *, explanation: str | None = None) -> None:
    st.segmented_control(
        label, options, default=AUTO, key=key, required=True, help=explanation, persist_state="session"
    )
