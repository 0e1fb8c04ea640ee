"""Fields for sampling, folded in the form, and for the end token of a pasted answer."""

import streamlit as st

from pages.ui.shared import url_state
from rauq.arguments import Sampling
from rauq.trace.trace import Kind

SAMPLE, TEMPERATURE, TOP_P, SEED, END = "sample", "temperature", "top_p", "seed", "end"
AUTO, APPEND, NONE = "auto", "append", "none"
_LABELS = {None: AUTO, True: APPEND, False: NONE}
_ENDS = {label: end for end, label in _LABELS.items()}
_DEFAULT = Sampling(seed=0)
_END_HELP = (
    "The model's end token after the answer. Generated answers end with one, and it is scored. auto: appended for an "
    "instruct model, left out for a base model."
)


def sampling_fields() -> None:
    """Draw temperature, top-p and seed; with sampling off, decoding is greedy."""
    _set_missing()
    sampling = sampling_of_form()
    shown = "off" if sampling is None else f"temperature {sampling.temperature:g}, seed {sampling.seed}"
    with st.expander(f"Sampling: {shown}", key="sampling_fields"):
        st.toggle("Sample tokens at random", key=SAMPLE, persist_state="session")
        disabled = not st.session_state[SAMPLE]
        lowest, highest = url_state.TEMPERATURES
        st.slider(
            "Temperature", lowest, highest, step=0.05, key=TEMPERATURE, disabled=disabled, persist_state="session"
        )
        st.slider("Top-p", url_state.LEAST_TOP_P, 1.0, step=0.05, key=TOP_P, disabled=disabled, persist_state="session")
        st.number_input("Seed", 0, url_state.LARGEST_SEED, key=SEED, disabled=disabled, persist_state="session")
        st.caption(f"Tokens are sampled from the {_DEFAULT.top_k} most probable. The same seed gives the same answer.")


def sampling_of_form() -> Sampling | None:
    """Return the sampling chosen in the form; None for greedy."""
    values = st.session_state
    if not values.get(SAMPLE):
        return None
    return Sampling(
        temperature=values.get(TEMPERATURE, _DEFAULT.temperature),
        top_p=values.get(TOP_P, _DEFAULT.top_p),
        seed=values.get(SEED, _DEFAULT.seed),
    )


def end_field(kind: Kind | None) -> None:
    """Choose whether a pasted answer gets the end token; say what auto means for this kind of model, if known."""
    st.session_state.setdefault(END, AUTO)
    st.segmented_control("End token", tuple(_ENDS), key=END, required=True, help=_END_HELP, persist_state="session")
    if end_of_form() is None and kind is not None:
        st.caption(f"auto: {'appended' if kind == 'instruct' else 'left out'}, since the model is {kind}.")


def end_of_form() -> bool | None:
    """Return whether to append the end token; None: only for an instruct model."""
    return _ENDS[st.session_state.get(END, AUTO)]


def filled(sampling: Sampling | None, *, end: bool | None) -> dict[str, object]:
    """Return the field values that reproduce an answer made with these options."""
    shown = sampling or _DEFAULT
    return {
        SAMPLE: sampling is not None,
        TEMPERATURE: shown.temperature,
        TOP_P: shown.top_p,
        SEED: shown.seed or 0,
        END: _LABELS[end],
    }


def _set_missing() -> None:
    for key, value in filled(None, end=None).items():
        st.session_state.setdefault(key, value)
