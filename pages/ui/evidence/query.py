"""What a link to the page Evidence asks for: which view, and in it which record, table of the paper, and run."""

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

import streamlit as st

from analysis.evidence.record import SUBJECTS
from analysis.paper import published_ref
from pages.ui.host import runs
from pages.ui.shared import url_state
from pages.ui.shared.run_views import filters as run_filters
from pages.ui.shared.url_state import Codec, one_of

PAGE = "evidence"

View = Literal["claims", "results", "models", "check", "reference", "speed", "robustness", "paper", "limits"]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is to be shown; None stands for the usual: the first record or table, and no run."""

    view: Annotated[View, one_of(get_args(View))] = "claims"
    table: Annotated[str | None, one_of(subject.id for subject in SUBJECTS)] = None
    published: Annotated[str | None, Codec(published_ref)] = None
    run: Annotated[str | None, Codec(lambda text: text if text in runs.names() else None)] = None


def read_asked() -> Asked:
    """What the URL asks for; what cannot be used is taken out of it, and the reader is told."""
    found, wrong = url_state.read(st.query_params.to_dict(), Asked())
    run_filters.mend(wrong)
    return found
