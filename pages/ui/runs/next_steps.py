"""What can be done next where there is one run at most: other data, and how long the model of the run takes for it."""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import streamlit as st

from analysis.runs.library import Listed
from analysis.runs.timings import generation_seconds
from pages.ui.host import hosting
from pages.ui.host.session_runs import duration
from pages.ui.runs.data import FACTS, FILE, PAPER, SOURCE
from pages.ui.runs.new_run import open_form
from rauq.labels import running


class _Step(NamedTuple):
    name: str
    about: str
    icon: str


_STEPS: Mapping[str, _Step] = MappingProxyType(
    {
        FILE: _Step("Your own file", "CSV, JSONL, Excel or Parquet, one prompt a row", "upload_file"),
        FACTS: _Step("Facts", "Questions with accepted answers, in two forms", "quiz"),
        PAPER: _Step("A data set of the paper", "One of twelve, downloaded from the hub", "article"),
    }
)
_QUESTIONS = 100
_HELP = "The time for an answer that was recorded with this run. Another machine, model or length takes another time."


def next_steps(runs: Sequence[Listed]) -> None:
    """Offer a run on other data, while there is one at most: each opens the form with its data chosen."""
    if len(runs) > 1:
        return
    st.header(f"Start {'another' if runs else 'a'} run", anchor=False)
    offered = [source for source in _STEPS if source != PAPER or not hosting.is_hosted()]  # these are downloaded
    for column, source in zip(st.columns(len(offered), gap="small"), offered, strict=True):
        step = _STEPS[source]
        with column, st.container(border=True, gap=None):
            icon = f":material/{step.icon}:"
            st.button(step.name, key=f"next_{source}", type="tertiary", icon=icon, on_click=_open, args=(source,))
            st.caption(step.about)
    for run in runs:
        _time(run)


def _open(source: str) -> None:
    open_form()
    st.session_state[SOURCE] = source


def _time(run: Listed) -> None:
    """Say how long the model of a run takes, by the time that the run took; nothing where that is unknown."""
    seconds = generation_seconds(run.folder)
    if run.manifest is not None and not math.isnan(seconds):
        model = running(run.manifest.request.model)
        took = duration(_QUESTIONS * seconds)
        st.text(f"{model}: about {took} for {_QUESTIONS} questions, as in this run.", help=_HELP)
