"""The sidebar's choice of a model: embedded, or any other by hub id or folder, looked at before it is loaded."""

import streamlit as st

import rauq
from pages.ui import cache, state
from pages.ui.cache import ModelChoice
from pages.ui.errors import printable, show_error
from pages.ui.state import ATLAS, OTHER
from pages.ui.words import model_facts
from rauq.presets import PRESETS

DEVICES = ("auto", "cpu", "cuda", "mps")
DTYPES = ("auto", "float32", "bfloat16", "float16")
KINDS = ("auto", "base", "instruct")
DEVICE, DTYPE, KIND = "device", "dtype", "kind"
_AT_HAND = "_at_hand"
_KIND_HELP = "How the prompt is put, and which setting is the paper's. auto: by the paper's list, name and template."
_HELP = "atlas is embedded: small, and ready without a network. Another: a hub id, or a local folder."


def model_form() -> None:
    """Draw the choice; `chosen_model` reads it."""
    st.segmented_control("Model", (ATLAS, OTHER), key=state.MODEL, required=True, help=_HELP, persist_state="session")
    if st.session_state[state.MODEL] != OTHER:
        return
    st.session_state[state.OTHER_MODEL] = st.session_state.get(state.OTHER_MODEL, "")  # kept while it is not drawn
    placeholder = "organisation/model, or a folder"
    typed = st.text_input("Hub id or folder", key=state.OTHER_MODEL, placeholder=placeholder, persist_state="session")
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
    if values.get(state.MODEL) != OTHER:
        return ModelChoice()
    kind = values.get(KIND, "auto")
    return ModelChoice(
        name=(values.get(state.OTHER_MODEL) or "").strip(),
        device=values.get(DEVICE, "auto"),
        dtype=values.get(DTYPE, "auto"),
        kind=None if kind == "auto" else kind,
    )


def _at_hand(typed: str) -> list[str]:
    """Models of the folder that is typed, those that the hub's client has stored here, and the paper's."""
    inside = map(str, rauq.local_models(typed)) if typed.strip() else ()
    return list(dict.fromkeys([*inside, *rauq.cached_models(), *(preset.hub_id for preset in PRESETS)]))


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
    heads = f"{candidate.num_layers} layers of {candidate.num_heads} heads; {candidate.kind}: {candidate.why_kind}"
    st.text(printable(f"{model_facts(candidate)}. {heads}."))
    if candidate.fits is False:
        st.text("It does not fit: choose a smaller model, or bfloat16.")


def _one_of(label: str, options: tuple[str, ...], key: str, *, explanation: str | None = None) -> None:
    st.segmented_control(
        label, options, default="auto", key=key, required=True, help=explanation, persist_state="session"
    )
