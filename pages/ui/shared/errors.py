"""Errors in plain language. Their details may quote what a user typed, so they are drawn as text."""

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
    TraceFileError,
    UnsupportedModel,
)
from rauq.labels import lines

_TITLES: Mapping[type[RauqError], str] = {
    InvalidInput: "This input cannot be used",
    ModelNotFound: "No model was loaded",
    UnsupportedModel: "This model cannot be looked into exactly",
    NonFiniteLogits: "The model broke down",
    NotCaptured: "This was not captured",
    TraceFileError: "This trace cannot be opened",
    RunError: "This run cannot be used",
    OutOfMemory: "There is not enough memory",
    DataSetNotFound: "This data set is not here",
    MissingPackage: "A package is missing",
}


def show_error(error: RauqError) -> None:
    """Say what happened, and in the error's own words what to do."""
    title = _TITLES.get(type(error), "That did not work")
    with st.container(border=True):
        st.error(title, icon="⚠️")
        st.text(lines(str(error)))


def printable(text: str) -> str:
    """Text that can be sent to a browser: a lone surrogate has no encoding."""
    return text.encode("utf-8", "replace").decode()
