"""What can be taken away from one answer: links, the trace, numbers, a report, code, figures, its rank in a run."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st

from pages.ui.host import cache, runs
from pages.ui.shared import url_state
from pages.ui.shared.errors import printable
from pages.ui.shared.figure_export import is_dark
from pages.ui.shared.state import Shown
from pages.ui.shared.url_state import LONGEST, RUN
from rauq.errors import InvalidInput, RauqError
from rauq.labels import lines, number
from rauq.scoring.score import Score
from rauq.scoring.settings import window
from rauq.trace.trace import Trace

if TYPE_CHECKING:
    from analysis.answer_sets.calibration import Calibration
    from analysis.runs.opened import Run


_NONE = (
    "A percentile needs a scored data set of the same model, and no run here is of this one in this revision. Score "
    "one on the page Runs. Until then the score ranks answers of one model under one setting."
)
_RANKING = "A ranking, not a probability: among other prompts the same score has another rank and another share."


def reference(trace: Trace, score: Score) -> None:
    """The percentile of a score in a run of the same model, and the share of correct answers at it; else why not."""
    names = _of_the_same_model(trace)
    if not names:
        st.caption(_NONE)
        return
    own = st.query_params.get(RUN)
    first = names.index(own) if own in names else 0
    name = names[first]
    if len(names) > 1:
        name = st.selectbox("Among the answers of the run", names, first, key="reference_run", persist_state="session")
    try:
        _compare(name, trace, score)
    except RauqError as error:
        st.text(lines(str(error)))


def _of_the_same_model(trace: Trace) -> list[str]:
    """The runs whose answers come from the same weights, asked in the same way."""
    wanted = (trace.model, trace.revision, trace.kind)
    return [
        listed.name
        for listed in runs.at_hand()
        if listed.manifest is not None
        and (model := listed.manifest.answerer) is not None
        and (model.name, model.revision, model.kind) == wanted
    ]


def _compare(name: str, trace: Trace, score: Score) -> None:
    import numpy as np

    from analysis.answer_sets.calibration import percentile_of
    from analysis.answer_sets.figures import calibration_chart
    from analysis.quality.measures import measure

    folder = runs.folder(name)
    if folder is None:
        return
    run = cache.run(folder)
    _check_layers(run, score)
    uncertainties = cache.scores(run, score.settings)
    correct_above = measure(run.manifest.request.quality).thresholds.roc
    found = cache.calibration(run, score.settings, correct_above, np.arange(len(run.answers)))
    percentile = percentile_of(uncertainties, score.uncertainty)
    if math.isnan(percentile):
        st.text("This score, or every score of the run, is undefined: it has no rank.")
        return
    count = int(np.isfinite(uncertainties).sum())
    rank = f"Less sure than {percentile:.0f} % of {count:,} answers of the run {name}, scored in the same way."
    st.text(f"{rank} {_share(found, score.uncertainty, correct_above)} {_RANKING}")
    if not found.reason:
        figure = calibration_chart(found, score=score.uncertainty, dark=is_dark())
        st.plotly_chart(
            figure, key="reference_chart", alt="Share of correct answers over uncertainty; this score marked"
        )
    written = url_state.written_settings(score.settings, trace.kind)
    query = {RUN: name, "view": "meaning"} | {key: value for key, value in written.items() if value is not None}
    st.page_link("pages/answer_sets.py", label="All answers of this run", query_params=query)


def _check_layers(run: "Run", score: Score) -> None:
    kept = window(score.settings, captured=run.stored_layers, num_layers=run.answerer.num_layers)
    if kept != score.layers:
        message = (
            "The run keeps fewer layers token by token than this score looks at: choose the middle ones to compare."
        )
        raise InvalidInput(message)


def _share(found: "Calibration", uncertainty: float, correct_above: float) -> str:
    from analysis.answer_sets.calibration import share_at

    if found.reason:
        return f"The share of correct answers is not known, because {found.reason}."
    share, low, high = (number(100 * part, places=0) for part in share_at(found, uncertainty))
    return (
        f"At this score {share} % [{low}, {high}] of them are correct (quality above {correct_above:g}, 95 % interval)."
    )


_FILE = "answer.safetensors"
_WEIGHTS = "application/octet-stream"


def take_away(shown: Shown, trace: Trace, score: Score) -> None:
    """Downloads and links of an answer; `trace` carries the marks of the user."""
    _folded("How unusual is this score? Its rank in a run of the same model", lambda: reference(trace, score))
    st.page_link(
        "pages/compare.py",
        label="Compare it with another answer",
        icon=":material/compare_arrows:",
        query_params=url_state.comparing(shown.name, trace.wrong),
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
    if (found := url_state.link(address, st.query_params.to_dict(), trace)) is None:
        st.text(f"This prompt is too long for a link of {LONGEST} characters. Download the trace, and send that.")
    else:
        holds = "" if url_state.EXAMPLE in st.query_params else " It holds the prompt."
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
    from pages.ui.inspect.figures import show_figures

    show_figures(trace, score)
