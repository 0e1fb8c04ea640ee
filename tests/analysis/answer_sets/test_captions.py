"""Captions state the numbers of their figures, the number of answers, and why something is missing."""

import numpy as np
import pytest

from analysis.answer_sets import sentences
from analysis.answer_sets.best_and_worst import best_and_worst
from analysis.answer_sets.gaps import head_gaps
from analysis.answer_sets.heads import agreement, of_selected, pick, selected_heads
from analysis.answer_sets.quality_curves import correlations, quality_bins
from analysis.answer_sets.separation import separation
from analysis.answer_sets.sides import sides
from analysis.calibration import calibrate
from analysis.quality.judgement import Thresholds
from rauq.labels import number
from tests.analysis.answer_sets.made_up import HEADS, INFORMATIVE, LAYERS, made_up

ROW, HEAD = INFORMATIVE


def all_captions(means, quality):
    picks, outcome = pick(means), sides(quality, Thresholds())
    values = of_selected(means, picks)[:, ROW]
    correct = np.where(np.isnan(quality), np.nan, quality > 0.5)
    gaps, separated = (
        head_gaps(means, picks, outcome),
        separation(means, outcome, ["one"] * len(quality), permutations=9),
    )
    best, bins = best_and_worst(means[:, ROW], quality, picks[:, ROW]), quality_bins(values, quality)
    curve = calibrate(values, correct)
    found = agreement(picks, ["a", "b"] * (len(quality) // 2), range(LAYERS), HEADS)
    return [
        sentences.joined(sentences.best_and_worst_caption(best), sentences.best_and_worst_about(best, ROW)),
        f"{sentences.about_gap(gaps, ROW, ROW)}. {sentences.gap_about(gaps, ROW, Thresholds())}",
        sentences.joined(sentences.bins_caption(bins), sentences.bins_about(bins, correlations(values, quality))),
        sentences.separation_caption(separated),
        sentences.groups_caption(separated.labelled),
        sentences.joined(sentences.calibration_caption(curve), sentences.calibration_about(curve, 0.5)),
        sentences.selected_heads_caption(selected_heads(picks, range(LAYERS), HEADS)),
        sentences.agreement_caption(found),
    ]


def test_captions_state_ties_and_excluded_answers():
    means, quality = made_up()
    quality[0] = np.nan
    caption = all_captions(means, quality)[0]
    assert "layer 1 to the previous token, in the 10 answers of highest quality" in caption
    assert f"Framed: head {HEAD}" in caption
    assert "Ties in quality are broken by a seeded draw." in caption
    assert "1 answer is left out: no quality or no such token after the first." in caption


def test_a_gap_has_its_difference_an_interval_and_its_n():
    means, quality = made_up()
    quality[:2] = 0.5
    gaps = head_gaps(means, pick(means), sides(quality, Thresholds()))
    caption = f"{sentences.gap_caption(tokens='fact')} {sentences.gap_about(gaps, ROW, Thresholds())}"
    absolute, said = gaps.picked.absolute, sentences.about_gap(gaps, ROW, ROW)
    assert "over the tokens that carry the fact" in caption
    assert "Boxes: quartiles; dashed: mean." in caption
    assert f"difference +{number(absolute.value[ROW])} [" in said
    assert f"[+{number(absolute.low[ROW])}, +{number(absolute.high[ROW])}]" in said
    assert "39 correct answers (quality above 0.9), 19 incorrect (below 0.1), 2 neither" in caption


def test_groups_that_agree_are_counted_by_layers():
    picks = np.array([[0, 1], [0, 2], [0, 1], [0, 2]])
    caption = sentences.agreement_caption(agreement(picks, list("abab"), (3, 4), 3))
    assert caption == "In 1 of 2 layers all 2 groups have the same most frequent head."
    assert sentences.agreement_caption(agreement(picks, list("aaaa"), (3, 4), 3)).startswith("There is only one group")


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0, np.nan])
def test_where_nothing_is_defined_captions_say_why(value):
    means, _ = made_up(30)
    for caption in all_captions(means, np.full(30, value)):
        assert "nan" not in caption
        assert caption.endswith(".")
    best, gap, bins, separated, meaning, *_ = all_captions(means, np.full(30, value))
    assert best.startswith("No answers to show: ")
    assert "answer has attention here" in gap
    assert bins.startswith("Nothing to show: ") or "undefined (all 30 answers have the same quality)" in bins
    assert separated.startswith("Nothing to compare: ")
    assert meaning.startswith("Undefined: ")
