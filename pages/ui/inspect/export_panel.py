"""The drawers of one answer: its reference, and exports as link, trace, numbers, report, code and figures."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from pages.ui.host.store import MOST_ANSWERS_BYTES
from pages.ui.inspect.added_heads import added_heads_field
from pages.ui.inspect.reference_panel import reference_panel
from pages.ui.shared import url_state
from pages.ui.shared.errors import printable
from pages.ui.shared.figure_export import is_dark
from pages.ui.shared.url_state import LONGEST
from rauq.labels import size
from rauq.scoring.score import Score
from rauq.trace.attribution import weight_name
from rauq.trace.trace import Trace

OPEN = "drawer"  # key of the name of the drawer that is open
REFERENCE, EXPORT = "reference", "export"
_FILE = "answer.safetensors"
_WEIGHTS = "application/octet-stream"


def drawer_links(name: str, trace: Trace) -> None:
    """Draw what opens the drawers, and the way to Compare with this answer as A.

    Not popovers: one that runs the page when it closes brings it back to this page after a click on another one.
    """
    _drawer_button(REFERENCE, "Reference")
    query = url_state.comparing(name, trace.wrong)
    st.page_link("pages/compare.py", label="Compare", query_params=query, width="content")
    _drawer_button(EXPORT, "Export")


def open_drawer(trace: Trace, score: Score) -> None:
    """Draw the drawer that is open, if one is; `trace` includes the user's marks."""
    name = st.session_state.get(OPEN)
    if name not in {REFERENCE, EXPORT}:
        return
    with st.container(key="open_drawer"):
        if name == REFERENCE:
            reference_panel(trace, score)
            added_heads_field()
        else:
            _exports(trace, score)
        st.button("Close", key="close_drawer", type="tertiary", on_click=_toggle, args=(name,))


def _exports(trace: Trace, score: Score) -> None:
    st.markdown("**Copy link**")
    _link(trace)
    st.markdown("**Download**")
    _downloads(trace, score)
    st.markdown("**Python code that reproduces this score**")
    _python(trace, score)


def print_figures(trace: Trace, score: Score) -> None:
    """Draw the figures for print, folded."""
    place = st.expander("Figures for print: SVG, PNG", key="folded_Figures", on_change="rerun")
    if place.open:
        with place:
            _figures(trace, score)


def _toggle(name: str) -> None:
    st.session_state[OPEN] = None if st.session_state.get(OPEN) == name else name


def _drawer_button(name: str, label: str) -> None:
    is_open = st.session_state.get(OPEN) == name
    icon = f":material/expand_{'less' if is_open else 'more'}:"
    options: dict[str, Any] = {"icon": icon, "icon_position": "right", "on_click": _toggle, "args": (name,)}
    st.button(label, key=f"drawer_{name}", **options)


def _link(trace: Trace) -> None:
    base = (st.context.url or "").rstrip("/")
    address = base if base.endswith("/inspect") else f"{base}/inspect"
    if (found := url_state.link(address, st.query_params.to_dict(), trace)) is None:
        st.text(f"The link would exceed {LONGEST} characters. Download the trace and send that instead.")
    else:
        st.caption(_about_link(found))
        st.code(printable(found), language=None, wrap_lines=True)


def _about_link(found: str) -> str:
    """Say what a link opens and for how long."""
    if f"{url_state.KEPT}=" not in found:
        return "The link opens this view. Nothing is loaded or run."
    lasts = (
        "The link opens this answer while it is in the memory of this app: until the app restarts, or newer answers "
        f"need the room ({size(MOST_ANSWERS_BYTES)} for all). "
    )
    if f"{url_state.PROMPT}=" in found:
        return lasts + "After that it shows the prompt, which it contains, and offers to generate the answer again."
    return lasts + "The prompt is too long for a link, so download the trace to keep the answer."


def _downloads(trace: Trace, score: Score) -> None:
    with st.container(horizontal=True):
        _download("Trace", trace.to_bytes, _FILE, _WEIGHTS, "Everything in one file, to open here or in Python.")
        _download(
            "Report", lambda: _report(trace, score), "report.html", "text/html", "An HTML page that opens offline."
        )
        _download("Token numbers", lambda: _numbers(trace, score), "tokens.csv", "text/csv", "One row per token.")
        _download(
            "Selected heads", lambda: _heads(trace, score), "heads.csv", "text/csv", "One row per layer used by RAUQ."
        )


def _download(label: str, make: Callable[[], str | bytes], name: str, mime: str, explanation: str) -> None:
    st.download_button(label, make, name, mime, key=f"download_{name}", on_click="ignore", help=explanation)


def _numbers(trace: Trace, score: Score) -> str:
    from analysis.exports.numbers import numbers_csv

    return numbers_csv(trace, score)


def _heads(trace: Trace, score: Score) -> str:
    from analysis.exports.numbers import selected_heads_csv

    return selected_heads_csv(score, weight=weight_name(trace.attribution))


def _report(trace: Trace, score: Score) -> str:
    from analysis.exports.html_report import html_report

    return html_report(trace, score, dark=is_dark())


def _python(trace: Trace, score: Score) -> None:
    from analysis.exports.python_code import python_code

    st.caption("This code gives the same score. Save the trace in the same folder, under the name below.")
    st.code(python_code(trace, score, trace_file=_FILE), language=None)


def _figures(trace: Trace, score: Score) -> None:
    from pages.ui.inspect.figures import show_figures

    show_figures(trace, score)
