"""What a link to the page Evidence asks for: which view, and in it which record, table of the paper, and run."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, get_args

import streamlit as st

from analysis.evidence.record import SUBJECTS
from pages.ui.host import runs
from pages.ui.methods.query import read_ref
from pages.ui.shared import run_filters, url_state
from pages.ui.shared.url_state import PUBLISHED, RUN, TABLE, VIEW

PAGE = "evidence"

View = Literal["models", "check", "reference", "speed", "robustness", "paper", "limits"]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is to be shown; None stands for the usual: the first record or table, and no run."""

    view: View = "models"
    table: str | None = None
    published: str | None = None
    run: str | None = None


def read_asked() -> Asked:
    """What the URL asks for; what cannot be used is taken out of it, and the reader is told."""
    usable, wrong = url_state.read(st.query_params.to_dict(), _PARSERS)
    run_filters.mend(wrong)
    return Asked(**usable)


def _run(text: str) -> str | None:
    return text if text in runs.names() else None


_PARSERS: Mapping[str, Callable[[str], Any]] = MappingProxyType(
    {
        VIEW: url_state.one_of(get_args(View)),
        TABLE: url_state.one_of(subject.id for subject in SUBJECTS),
        PUBLISHED: read_ref,
        RUN: _run,
    }
)
