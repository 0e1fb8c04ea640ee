"""The only cache of the app: one loaded model, shared by all sessions."""

from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import streamlit as st

import rauq

if TYPE_CHECKING:
    from rauq.language_model import LanguageModel


@st.cache_resource(max_entries=1, show_spinner=False)
def model(name: str) -> "LanguageModel":
    """Load a model, or return the one that is loaded. Torch is imported by this, long after the first widgets.

    Raises:
        RauqError: no such model, or its attention cannot be captured exactly.
    """
    lm = rauq.load_model(name)
    _in_memory()[name] = lm
    return lm


def if_loaded(name: str) -> "LanguageModel | None":
    """The model if it is in memory; nothing is loaded."""
    return _in_memory().get(name)


@st.cache_resource(max_entries=1, show_spinner=False)
def _in_memory() -> "WeakValueDictionary[str, LanguageModel]":
    return WeakValueDictionary()
