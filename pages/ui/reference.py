"""How unusual a score is: its place among the answers of a run of the same model, scored in the same way.

What it needs is imported late: Inspect's first picture does not wait for it.
"""

import math
from typing import TYPE_CHECKING

import streamlit as st

from pages.ui import cache, runs_at_hand, settings_link
from pages.ui.camera import is_dark
from pages.ui.links import RUN
from rauq.errors import InvalidInput, RauqError
from rauq.labels import lines, number
from rauq.score import Score
from rauq.settings import window
from rauq.trace import Trace

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
        for listed in runs_at_hand.at_hand()
        if listed.manifest is not None
        and (model := listed.manifest.answerer) is not None
        and (model.name, model.revision, model.kind) == wanted
    ]


def _compare(name: str, trace: Trace, score: Score) -> None:
    import numpy as np

    from analysis.answer_sets.calibration import percentile_of
    from analysis.answer_sets.figures import calibration_chart
    from analysis.quality.measures import measure

    folder = runs_at_hand.folder(name)
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
    written = settings_link.written_settings(score.settings, trace.kind)
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
