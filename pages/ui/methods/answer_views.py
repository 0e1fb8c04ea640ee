"""The answers behind a method: its scores and their quality, where it disagrees with another, and where it errs."""

import numpy as np
import streamlit as st

from analysis.answer_sets.figures import quality_bins_chart
from analysis.answer_sets.quality_bins import quality_bins
from analysis.figures import UNCERTAINTY
from analysis.methods import sentences, tables
from analysis.methods.agreement import disagreement, method_agreement
from analysis.methods.comparison import RAUQ, name_of
from analysis.methods.errors import error_analysis
from analysis.methods.figures import agreement_map
from analysis.report.tables import Table
from analysis.stats import estimate, prr, roc_auc
from pages.ui.answer_sets.sentences import about_ranking
from pages.ui.camera import is_dark
from pages.ui.methods.chosen import Chosen
from pages.ui.methods.tables import show_frame, take_along
from pages.ui.of_run.drawing import chart, clickable, openable, sentence

_AGREEMENT = "Spearman's rank correlation of the uncertainties of two methods: 1 where they order the answers alike."
_ERRORS = (
    "The paper's error analysis (appendix G) judged 20 answers at either end by hand. Here an answer is erroneous if "
    "its quality is not above the threshold."
)


def scores(chosen: Chosen) -> None:
    """One point an answer: a click opens it."""
    uncertainty, quality = chosen.uncertainties([chosen.method])[chosen.method], chosen.quality
    correct = np.where(np.isnan(quality), np.nan, quality > chosen.thresholds.roc)
    ranking = about_ranking(estimate(prr, uncertainty, quality), estimate(roc_auc, uncertainty, correct))
    sentence(ranking.replace("It", name_of(chosen.method), 1), chosen)
    figure = quality_bins_chart(
        quality_bins(uncertainty, quality), title="uncertainty", colour=UNCERTAINTY, dark=is_dark()
    )
    clickable(figure, "score_and_quality", "Quality of each answer over its uncertainty, and means of bins", chosen)
    st.caption(
        f"Each answer by its uncertainty under {name_of(chosen.method)}, higher is less sure, and the mean quality in "
        "tenths of them. Click a point: the answer opens in Inspect."
    )


def agreement(chosen: Chosen) -> None:
    """The answers on which RAUQ and another method disagree most, and how far all methods agree."""
    found = method_agreement(chosen.uncertainties(chosen.methods))
    first, second = RAUQ, chosen.other
    apart = disagreement(*chosen.uncertainties((first, second)).values())
    sentence(
        sentences.agreement_sentence(found),
        chosen,
        sentences.disagreement_sentence(apart, chosen.quality, first, second),
    )
    openable(
        tables.disagreement_table(apart, chosen.answers, first, second),
        "disagreement",
        chosen,
        "Percentile: the share of answers that are at most as uncertain, 100 for the least sure.",
        height=320,
    )
    chart(agreement_map(found, dark=is_dark()), "agreement", "Rank correlation between the methods")
    st.caption(_AGREEMENT)
    take_along(Table("agreement_of_methods", "Agreement of methods", _AGREEMENT, tables.agreement_table(found)))


def errors(chosen: Chosen) -> None:
    """The share of erroneous answers at both ends of a ranking (paper, error analysis)."""
    uncertainty = chosen.uncertainties([chosen.method])[chosen.method]
    labels = chosen.column_of("error_label").tolist()
    found = error_analysis(uncertainty, chosen.quality, labels, thresholds=chosen.thresholds)
    sentence(sentences.errors_sentence(found, chosen.method), chosen, sentences.errors_note(found))
    frame = tables.errors_table(found, chosen.method)
    show_frame(frame, alt="Share of erroneous answers at both ends of the ranking")
    st.caption(f"{_ERRORS} {sentences.published_shares()}")
    take_along(Table("errors", "Error analysis", _ERRORS, frame))
