"""Methods that a run was not asked for: named, grey, each with what to do; and those that only the run has."""

import pandas as pd
import streamlit as st

import rauq
from analysis.runs.create import about_unknown_methods, options_for
from analysis.runs.opened import Run
from rauq.methods.method import Method

_GREY = "color: #8b95a1"


def lacking_methods(run: Run) -> None:
    """A folded list of them, and what the run has that this version has not; nothing where there is neither."""
    if unknown := about_unknown_methods(run.manifest.request):
        st.text(unknown)
    absent = [row for row in rauq.METHODS.values() if row.id not in run.methods and row.family != "ablation"]
    if not absent:
        return
    label = f"{len(absent)} methods that this run was not asked for"
    folded = st.expander(label, key="methods_lacking", on_change="rerun")
    if folded.open:
        with folded:
            rows = {"method": [method.name for method in absent], "what to do": list(map(_what_to_do, absent))}
            st.dataframe(
                pd.DataFrame(rows).style.map(lambda _: _GREY, subset=["method"]),
                hide_index=True,
                height="content",
                alt="Methods not run",
            )


def _what_to_do(method: Method) -> str:
    if "facts" in method.needs:
        return "Facts are known of the embedded model's held-out prompts alone: score --data atlas."
    return f"Score again with --methods {method.id} {options_for(method.id)}".rstrip()
