"""What can be taken away from one answer: a link, the trace, numbers, a report, code, and figures to print.

Nothing is made before it is asked for: exports bring Plotly along.
"""

from collections.abc import Callable

import streamlit as st

from pages.ui import links
from pages.ui.camera import is_dark
from pages.ui.errors import printable
from pages.ui.links import LONGEST
from pages.ui.reference import reference
from pages.ui.state import Shown
from rauq.score import Score
from rauq.trace import Trace

_FILE = "answer.safetensors"
_WEIGHTS = "application/octet-stream"


def take_away(shown: Shown, trace: Trace, score: Score) -> None:
    """Downloads and links of an answer; `trace` carries the marks of the user."""
    _folded("How unusual is this score? Its rank in a run of the same model", lambda: reference(trace, score))
    st.page_link(
        "pages/compare.py",
        label="Compare it with another answer",
        icon=":material/compare_arrows:",
        query_params=links.comparing(shown.name, trace.wrong),
    )
    _folded("Copy link", lambda: _link(trace))
    _folded("Download: trace, report, numbers", lambda: _downloads(trace, score))
    _folded("Python that gives this score", lambda: _python(trace, score))
    _folded("Figures to print: SVG, PNG", lambda: _figures(trace, score))


def _folded(label: str, draw: Callable[[], None]) -> None:
    place = st.expander(label, key=f"folded_{label.partition(' ')[0]}", on_change="rerun")
    if place.open:
        with place:
            draw()


def _link(trace: Trace) -> None:
    base = (st.context.url or "").rstrip("/")
    address = base if base.endswith("/inspect") else f"{base}/inspect"
    if (found := links.link(address, st.query_params.to_dict(), trace)) is None:
        st.text(f"This prompt is too long for a link of {LONGEST} characters. Download the trace, and send that.")
    else:
        holds = "" if links.EXAMPLE in st.query_params else " It holds the prompt."
        st.caption(f"It opens on this view.{holds} Nothing is loaded or run before its reader asks.")
        st.code(printable(found), language=None, wrap_lines=True)


def _downloads(trace: Trace, score: Score) -> None:
    with st.container(horizontal=True):
        _download("Trace", trace.to_bytes, _FILE, _WEIGHTS, "All of it in one file: open it here again, or in Python.")
        _download("Report", lambda: _report(trace, score), "report.html", "text/html", "A page that opens offline.")
        _download("Token numbers", lambda: _numbers(trace, score), "tokens.csv", "text/csv", "One row a token.")
        _download("Picked heads", lambda: _heads(score), "heads.csv", "text/csv", "One row a layer of the window.")


def _download(label: str, make: Callable[[], str | bytes], name: str, mime: str, explanation: str) -> None:
    st.download_button(label, make, name, mime, key=f"download_{name}", on_click="ignore", help=explanation)


def _numbers(trace: Trace, score: Score) -> str:
    from analysis.exports.numbers import numbers_csv

    return numbers_csv(trace, score)


def _heads(score: Score) -> str:
    from analysis.exports.numbers import picked_heads_csv

    return picked_heads_csv(score)


def _report(trace: Trace, score: Score) -> str:
    from analysis.exports.html_report import html_report

    return html_report(trace, score, dark=is_dark())


def _python(trace: Trace, score: Score) -> None:
    from analysis.exports.python_code import python_code

    st.caption("It gives the same score. Put it beside the trace, saved under the name below.")
    st.code(python_code(trace, score, trace_file=_FILE), language=None)


def _figures(trace: Trace, score: Score) -> None:
    from pages.ui.figures import show_figures

    show_figures(trace, score)
