"""Errors in plain language. Their details may quote user input, so they are drawn as text."""

from collections.abc import Mapping
from itertools import islice

import streamlit as st

from pages.ui.host.hosting import Busy, without_folders
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
    Busy: "This host is busy",
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
        st.text(message_text(error))


def message_text(what: object) -> str:
    """Return what an error or a job says, as text to draw; on a host without the folders of its machine."""
    return lines(without_folders(str(what)))


def printable(text: str) -> str:
    """Text that can be sent to a browser: a lone surrogate has no encoding."""
    return text.encode("utf-8", "replace").decode()


_FITS = 90  # characters of a cell that are read without opening it
_MOST_TEXTS = 200
_TEXTS_HEIGHT = 240  # pixels


def in_full(label: str, texts: Mapping[int, str]) -> None:
    """Draw texts of a table by their row's number, wrapped and folded; nothing if all fit into its cells."""
    if max(map(len, texts.values()), default=0) <= _FITS:
        return
    folded = st.expander(label, key=label.lower().replace(" ", "_"), on_change="rerun")
    if folded.open:
        with folded, st.container(height=_TEXTS_HEIGHT, border=False):
            for row, text in islice(texts.items(), _MOST_TEXTS):
                st.text(f"{row}: {lines(text)}")
            if len(texts) > _MOST_TEXTS:
                st.caption(f"The first {_MOST_TEXTS} are shown.")
