"""The drawers Reference and Export of one answer: its rank in a run; link, trace, numbers, report, code, figures."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st

from pages.ui.host import cache, runs
from pages.ui.shared import url_state
from pages.ui.shared.errors import printable
from pages.ui.shared.figure_export import is_dark
from pages.ui.shared.url_state import LONGEST, RUN
from rauq.errors import InvalidInput, RauqError
from rauq.labels import lines, number, running, size
from rauq.recorded.scores import scores_of
from rauq.scoring.score import Score
from rauq.scoring.settings import is_paper_setting, window
from rauq.trace.trace import Trace

if TYPE_CHECKING:
    import numpy as np

    from analysis.answer_sets.calibration import Calibration
    from analysis.runs.opened import Run


_NONE = (
    "A percentile needs a run of the same model and revision, and there is none here. Score a data set on the "
    "page Runs to get one. Until then, compare the score only with scores of this model under the same settings."
)
_RANKING = "For ranking, not a probability: with other prompts the same score has another rank and another share."


def reference(trace: Trace, score: Score) -> None:
    """Show a score's percentile among answers of the same model and the share of correct answers at it, or why not."""
    names = _of_the_same_model(trace)
    if not names:
        _among_kept(trace, score)
        return
    own = st.query_params.get(RUN)
    first = names.index(own) if own in names else 0
    name = names[first]
    if len(names) > 1:
        name = st.selectbox("Reference run", names, first, key="reference_run", persist_state="session")
    try:
        _among_run(name, trace, score)
    except RauqError as error:
        st.text(lines(str(error)))


def _of_the_same_model(trace: Trace) -> list[str]:
    """Return the runs with the same weights and the same kind of prompt."""
    wanted = (trace.model, trace.revision, trace.kind)
    return [
        listed.name
        for listed in runs.at_hand()
        if listed.manifest is not None
        and (model := listed.manifest.answerer) is not None
        and (model.name, model.revision, model.kind) == wanted
    ]


def _among_kept(trace: Trace, score: Score) -> None:
    """Compare with the scores that came with the app, of a model that has no run here."""
    import numpy as np

    from analysis.answer_sets.calibration import calibrate

    kept = scores_of(trace)
    if kept is None:
        st.caption(_NONE)
    elif not is_paper_setting(score.settings, trace.kind):
        st.caption(f"The scores of {running(kept.model)} that came with the app use the paper's setting. Reset to it.")
    else:
        uncertainties = np.array(kept.uncertainties)
        found = calibrate(uncertainties, np.array(kept.correct, dtype=float))
        among = f"of {running(kept.model)} to the data set {kept.data}, scored with the same settings"
        _rank(found, uncertainties, score.uncertainty, among=among)


def _among_run(name: str, trace: Trace, score: Score) -> None:
    import numpy as np

    from analysis.quality.measures import measure

    folder = runs.folder(name)
    if folder is None:
        return
    run = cache.run(folder)
    _check_layers(run, score)
    uncertainties = cache.scores(run, score.settings)
    correct_above = measure(run.manifest.request.quality).thresholds.roc
    found = cache.calibration(run, score.settings, correct_above, np.arange(len(run.answers)))
    among, note = f"of the run {name}, scored with the same settings", f"quality above {correct_above:g}, "
    if _rank(found, uncertainties, score.uncertainty, among=among, note=note):
        written = url_state.written_settings(score.settings, trace.kind)
        query = {RUN: name, "view": "meaning"} | {key: value for key, value in written.items() if value is not None}
        st.page_link("pages/answer_sets.py", label="All answers of this run", query_params=query)


def _rank(found: "Calibration", uncertainties: "np.ndarray", uncertainty: float, *, among: str, note: str = "") -> bool:
    """Say where a score ranks among others, and the share of correct answers at it; False where it has no rank."""
    import numpy as np

    from analysis.answer_sets.figures import calibration_chart
    from analysis.stats import percentile_of

    percentile = percentile_of(uncertainties, uncertainty)
    if math.isnan(percentile):
        st.text("No rank: this score, or every score that it would be compared with, is undefined.")
        return False
    rank = rank_in_words(percentile, int(np.isfinite(uncertainties).sum()))
    st.text(f"{rank} {among}. {_share(found, uncertainty, note)} {_RANKING}")
    if not found.reason:
        figure = calibration_chart(found, score=uncertainty, dark=is_dark())
        st.plotly_chart(figure, key="reference_chart", alt="Share of correct answers by uncertainty, this score marked")
    return True


def rank_in_words(percentile: float, count: int) -> str:
    """Say where a score ranks among `count` answers, `percentile` (0 to 100) percent of which are more confident."""
    if percentile in {0, 100}:
        return f"{'Less' if percentile else 'More'} confident than all {count:,} answers"
    share = "under 1" if percentile < 1 else "over 99" if percentile > 99 else f"{percentile:.0f}"
    return f"Less confident than {share} % of {count:,} answers"


def _check_layers(run: "Run", score: Score) -> None:
    kept = window(score.settings, captured=run.stored_layers, num_layers=run.answerer.num_layers)
    if kept != score.layers:
        message = "The run stores fewer layers per token than this score uses. Choose the middle layers to compare."
        raise InvalidInput(message)


def _share(found: "Calibration", uncertainty: float, note: str) -> str:
    from analysis.answer_sets.calibration import share_at

    if found.reason:
        return f"The share of correct answers is unknown: {found.reason}."
    share, low, high = (number(100 * part, places=0) for part in share_at(found, uncertainty))
    return f"At this score {share} % [{low}, {high}] of them are correct ({note}95 % interval)."


_FILE = "answer.safetensors"
_WEIGHTS = "application/octet-stream"


def reference_drawer(trace: Trace, score: Score) -> None:
    """Draw the rank among the answers of the same model, in a drawer."""
    _drawer("Reference", lambda: reference(trace, score))


def compare_link(name: str, trace: Trace) -> None:
    """Draw the way to Compare, with this answer as A."""
    query = url_state.comparing(name, trace.wrong)
    st.page_link("pages/compare.py", label="Compare", query_params=query, width="content")


def export_drawer(trace: Trace, score: Score) -> None:
    """Draw downloads and links of an answer in a drawer; `trace` includes the user's marks."""

    def draw() -> None:
        st.markdown("**Copy link**")
        _link(trace)
        st.markdown("**Download**")
        _downloads(trace, score)
        st.markdown("**Python code that reproduces this score**")
        _python(trace, score)

    _drawer("Export", draw)


def print_figures(trace: Trace, score: Score) -> None:
    """Draw the figures for print, folded."""
    place = st.expander("Figures for print: SVG, PNG", key="folded_Figures", on_change="rerun")
    if place.open:
        with place:
            _figures(trace, score)


def _drawer(label: str, draw: Callable[[], None]) -> None:
    place = st.popover(label, key=f"drawer_{label.lower()}", on_change="rerun")
    if place.open:
        with place:
            draw()


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
        f"need the room ({size(cache.MOST_ANSWERS_BYTES)} for all). "
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
        _download("Selected heads", lambda: _heads(score), "heads.csv", "text/csv", "One row per layer used by RAUQ.")


def _download(label: str, make: Callable[[], str | bytes], name: str, mime: str, explanation: str) -> None:
    st.download_button(label, make, name, mime, key=f"download_{name}", on_click="ignore", help=explanation)


def _numbers(trace: Trace, score: Score) -> str:
    from analysis.exports.numbers import numbers_csv

    return numbers_csv(trace, score)


def _heads(score: Score) -> str:
    from analysis.exports.numbers import selected_heads_csv

    return selected_heads_csv(score)


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
