"""The paper's figures 2 and 3: attention to the previous token in good and in bad answers."""

import numpy as np
import streamlit as st

from analysis.answer_sets.best_and_worst import best_and_worst
from analysis.answer_sets.captions import TOKENS, best_and_worst_caption, bins_caption, sides_sentence
from analysis.answer_sets.figures import best_and_worst_map, quality_bins_chart
from analysis.answer_sets.gap_figures import difference_words, gap_distributions, gap_grid, gap_lines
from analysis.answer_sets.gaps import Gaps, head_gaps
from analysis.answer_sets.quality_bins import correlations, quality_bins
from analysis.runs.shard import OFFSETS
from pages.ui.answer_sets import sentences
from pages.ui.answer_sets.chosen import Chosen
from pages.ui.camera import is_dark
from pages.ui.of_run.drawing import chart, clickable, sentence

_CLICK = "Click a point: the answer opens in Inspect."


def best(chosen: Chosen) -> None:
    """Answers x heads, the best above the worst (figure 2)."""
    shown = best_and_worst(
        chosen.means()[:, chosen.column], chosen.quality, chosen.picks()[:, chosen.column], k=chosen.asked.k
    )
    sentence(sentences.about_best_and_worst(shown, chosen.layer), chosen)
    texts = chosen.column_of("answer")[shown.rows].tolist()
    figure = best_and_worst_map(shown, texts, dark=is_dark())
    clickable(figure, "best_and_worst", "Heat map: the best and the worst answers by the heads of a layer", chosen)
    st.caption(
        f"{best_and_worst_caption(shown, chosen.layer, tokens=chosen.asked.tokens)} Click a row: the answer opens in "
        "Inspect. These are the extremes of the run; the view Answers lists all of them."
    )


def gap(chosen: Chosen) -> None:
    """Correct against incorrect, in one layer and in all (figure 3a)."""
    found = head_gaps(chosen.means(), chosen.picks(), chosen.sides)
    sentence(
        sentences.about_gap(found, chosen.column, chosen.layer), chosen, sentences.paper_effect(found, chosen.column)
    )
    left, right = st.columns(2, gap="medium")
    with left:
        figure = gap_distributions(found, chosen.column, dark=is_dark())
        clickable(figure, "correct_against_incorrect", "Attention of correct and of incorrect answers", chosen)
        st.caption(
            f"Mean attention over {TOKENS[chosen.asked.tokens]}. Boxes hold the middle half; the dashed line is the "
            f"mean. {sides_sentence(found.picked, chosen.column, chosen.thresholds)} {_CLICK}"
        )
    with right:
        figure = gap_lines(found, chosen.layers, name="layer", dark=is_dark())
        chart(figure, "difference_by_layer", "Difference between correct and incorrect answers in each layer")
        st.caption(
            "Correct minus incorrect in every layer, with 95 % intervals. They are as many looks at the same answers: "
            "about 1 in 20 leaves out zero by chance."
        )
    figure = gap_grid(found.picked, chosen.layers, dark=is_dark())
    chart(figure, "attention_by_layer", "Attention of correct and of incorrect answers in each layer")
    st.caption(
        "The picked head in every layer, each on its own scale: boxes hold the middle half, whiskers nine of ten. "
        "Bold: the interval leaves out zero. Where boxes overlap, the difference says little of a single answer."
    )


def bins(chosen: Chosen) -> None:
    """Quality by attention of the picked head (figure 3b)."""
    attention = chosen.picked_attention()
    found, correlated = quality_bins(attention, chosen.quality), correlations(attention, chosen.quality)
    sentence(sentences.about_bins(correlated.spearman, chosen.layer), chosen)
    title = f"mean attention of the picked head, layer {chosen.layer}"
    figure = quality_bins_chart(found, title=title, dark=is_dark())
    clickable(figure, "quality_by_attention", "Quality of each answer over its attention, and means of bins", chosen)
    st.caption(
        f"{bins_caption(found, correlated)} Kinds of prompt differ in both, so a correlation over all groups may be "
        f"one between groups: choose one group to see. {_CLICK}"
    )


def further(chosen: Chosen) -> None:
    """Correct against incorrect by how far back the head looks (figure 3c)."""
    means = np.stack([chosen.means(offset=offset)[:, chosen.column] for offset in OFFSETS], axis=1)  # (n, 6, H)
    picks = np.repeat(chosen.picks()[:, [chosen.column]], len(OFFSETS), axis=1)
    found = head_gaps(means, picks, chosen.sides)
    sentence(sentences.about_further_back(found, OFFSETS, chosen.layer), chosen)
    figure = gap_lines(found, OFFSETS, name="preceding token", dark=is_dark())
    chart(figure, "difference_by_offset", "Difference between correct and incorrect answers by preceding token")
    st.caption(
        f"Correct minus incorrect. {sides_sentence(found.picked, 0, chosen.thresholds)} The head is the one picked by "
        "attention to the token right before. In the paper answers differ at the first two preceding tokens, and "
        "hardly further back. Short answers have no token so far back: they count only where they do."
    )
    st.dataframe(
        _by_offset(found.picked),
        hide_index=True,
        column_config=dict.fromkeys(("mean, correct", "mean, incorrect"), st.column_config.NumberColumn(format="%.3f")),
        alt="Attention of the picked head by preceding token",
    )


def _by_offset(gaps: Gaps) -> dict[str, list[object]]:
    """One row a preceding token: answers of either side, their means, and the difference with its interval."""
    return {
        "k": list(OFFSETS),
        "correct": gaps.correct.count.tolist(),
        "incorrect": gaps.incorrect.count.tolist(),
        "mean, correct": gaps.correct.mean.tolist(),
        "mean, incorrect": gaps.incorrect.mean.tolist(),
        "difference": [difference_words(gaps.absolute, row) for row in range(len(OFFSETS))],
        "in percent": [difference_words(gaps.percent, row, places=0, unit=" %") for row in range(len(OFFSETS))],
    }
