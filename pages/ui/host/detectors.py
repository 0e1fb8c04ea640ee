"""The detectors RAUQ + heads that a session uses: the latest of each model."""

from collections.abc import Mapping

import streamlit as st

from rauq.detectors.added_heads import AddedHeads

_REMEMBERED = "_added_heads"


def remembered() -> Mapping[str, AddedHeads]:
    """Return the detectors of this session by the model they were fitted on, the latest last."""
    found: Mapping[str, AddedHeads] = st.session_state.get(_REMEMBERED, {})
    return found


def remember(detector: AddedHeads) -> None:
    """Use a detector for answers of its model, in place of an earlier one."""
    others = {name: own for name, own in remembered().items() if name != detector.model}
    st.session_state[_REMEMBERED] = {**others, detector.model: detector}


def forget(name: str) -> None:
    """Use no detector any more for answers of that model."""
    st.session_state[_REMEMBERED] = {own: found for own, found in remembered().items() if own != name}
