"""Errors in plain language. Their details may quote user input, so they are drawn as text."""

from collections.abc import Mapping

import streamlit as st

from rauq.errors import (
    DataSetNotFound,
    InvalidInput,
    MissingPackage,
    ModelNotFound,
    NonFiniteLogits,
    NotCaptured,
    OutOfMemory,
    RauqError,
    RunError,
    Stopped,
    TraceFileError,
    UnsupportedModel,
)
from rauq.labels import lines

_TITLES: Mapping[type[RauqError], str] = {
    InvalidInput: "This input cannot be used",
    ModelNotFound: "No model was loaded",
    UnsupportedModel: "This model is not supported",
    NonFiniteLogits: "The model produced NaN or infinite logits",
    NotCaptured: "This was not captured",
    TraceFileError: "This trace cannot be opened",
    RunError: "This run cannot be used",
    OutOfMemory: "Not enough memory",
    DataSetNotFound: "Data set not found",
    MissingPackage: "A package is missing",
    Stopped: "Stopped",
}


def show_error(error: RauqError) -> None:
    """Show what happened, then the error's message, which says what to do."""
    title = _TITLES.get(type(error), "Something went wrong")
    with st.container(border=True):
        st.error(title, icon="⚠️")
        st.text(lines(str(error)))


def printable(text: str) -> str:
    """Text that can be sent to a browser: a lone surrogate has no encoding."""
    return text.encode("utf-8", "replace").decode()
