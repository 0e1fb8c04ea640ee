"""What a score means among these answers, and the answers themselves."""

import numpy as np
import pandas as pd
import streamlit as st

from analysis.answer_sets.figures import calibration_chart, quality_bins_chart
from analysis.answer_sets.quality_bins import quality_bins
from analysis.figures import UNCERTAINTY
from analysis.stats import estimate, prr, roc_auc
from pages.ui import cache
from pages.ui.answer_sets import sentences
from pages.ui.answer_sets.chosen import Chosen
from pages.ui.camera import is_dark
from pages.ui.of_run.drawing import chart, clickable, openable, sentence
from rauq.settings import is_paper_setting, resolve

_SHOWN = (
    *("number", "group", "stratum", "error_label", "quality", "by hand", "uncertainty", "num_tokens", "answer"),
    *("references", "prompt"),
)
_HEIGHT = 560  # pixels


def meaning(chosen: Chosen) -> None:
    """Share of correct answers against the score, and the quality of each answer."""
    correct_above = chosen.thresholds.roc
    uncertainty = cache.scores(chosen.run, chosen.settings)[chosen.rows]
    found = cache.calibration(chosen.run, chosen.settings, correct_above, chosen.rows)
    quality = chosen.quality
    correct = np.where(np.isnan(quality), np.nan, quality > correct_above)
    ranking = sentences.about_ranking(estimate(prr, uncertainty, quality), estimate(roc_auc, uncertainty, correct))
    sentence(sentences.about_meaning(found, uncertainty), chosen, ranking)
    left, right = st.columns(2, gap="medium")
    with left:
        chart(
            calibration_chart(found, dark=is_dark()), "what_a_score_means", "Share of correct answers over uncertainty"
        )
        st.caption(
            f"Share of correct answers (quality above {correct_above:g}) at each score, by isotonic regression, with "
            f"95 % bootstrap intervals, n = {found.n:,}. {_setting(chosen)} It is a ranking, not a probability: other "
            "questions have other shares."
        )
    with right:
        bins = quality_bins(uncertainty, quality)
        figure = quality_bins_chart(bins, title="uncertainty", colour=UNCERTAINTY, dark=is_dark())
        clickable(figure, "quality_by_score", "Quality of each answer over its uncertainty, and means of bins", chosen)
        st.caption("Each answer, and the mean quality in tenths of the scores. Click a point: it opens in Inspect.")


def answers(chosen: Chosen) -> None:
    """The answers in a table, the least sure first."""
    table = _table(chosen)
    sentence(f"{len(table):,} answers, the least sure first", chosen)
    note = f"{_setting(chosen)} Higher is less sure; an undefined one stands last."
    openable(table, "answers", chosen, note, height=_HEIGHT)


def _table(chosen: Chosen) -> pd.DataFrame:
    """One row an answer, its index the position among those chosen; columns that say nothing are left out."""
    table = chosen.run.answers.iloc[chosen.rows].reset_index(drop=True)
    table["uncertainty"] = cache.scores(chosen.run, chosen.settings)[chosen.rows]
    verdicts = np.where(table["quality"] == 1, "correct", "incorrect")
    table["by hand"] = np.where(table["corrected"], verdicts, "")
    table["references"] = table["references"].map(" | ".join)
    said = [name for name in _SHOWN if table[name].dtype.kind in "if" or (table[name] != "").any()]
    return table[said].rename(columns={"num_tokens": "tokens"}).sort_values("uncertainty", ascending=False)


def _setting(chosen: Chosen) -> str:
    settings = resolve(chosen.settings, chosen.run.answerer.kind)
    papers = (
        "the paper's setting" if is_paper_setting(settings, chosen.run.answerer.kind) else "not the paper's setting"
    )
    return f"Scored by {settings.signal}, alpha {settings.alpha:g}, {settings.alignment}: {papers}."
