"""Result sentences of the views: their numbers, and a difference only where its interval excludes 0."""

import numpy as np
import pytest

from analysis.answer_sets import sentences
from analysis.answer_sets.best_and_worst import best_and_worst
from analysis.answer_sets.gaps import head_gaps, with_enough
from analysis.answer_sets.heads import selected_heads
from analysis.answer_sets.separation import held_out, separation
from analysis.answer_sets.sides import Sides
from analysis.answer_sets.word_attention import WordAttention
from analysis.calibration import calibrate
from analysis.intervals import estimate
from analysis.stats import spearman

NUM = 60
CORRECT = np.arange(NUM) < NUM // 2
SIDES = Sides(CORRECT, ~CORRECT)
PICKS = np.zeros((NUM, 3), dtype=int)


def means(*gaps, spread=0.02):
    """Attention (60, 3, 2): head 0 of layer l is higher by gaps[l] in correct answers; head 1 is the same in all."""
    noise = np.random.default_rng(0).normal(0, spread, (NUM, 3, 2))
    for side in (CORRECT, ~CORRECT):
        noise[side] -= noise[side].mean(axis=0)
    found = 0.4 + noise
    found[:, :, 0] += np.where(CORRECT[:, None], gaps, 0)
    return found


def compared(values, side, groups=None):
    return separation(values, side, ["one"] * NUM if groups is None else groups)


def test_a_clear_gap_is_stated_with_its_numbers():
    found = head_gaps(means(0.3, 0.0, -0.3), PICKS, SIDES)
    said = sentences.about_gap(found, 0, 5)
    assert said.startswith(
        "Layer 5, selected head: mean attention 0.700 in correct answers, 0.400 in incorrect; difference +0.300 [+0."
    )
    assert said.endswith("n = 30 / 30")
    assert "not significant" not in said
    effect = sentences.paper_effect(found, 0)
    assert effect.startswith("The paper's effect shows in this layer, larger than in the mean over heads.")
    assert "significantly more attention in 1 of 3 layers, less in 1" in effect


def test_a_difference_within_noise_is_not_significant_and_an_opposite_one_is_named():
    found = head_gaps(means(0.3, 0.0, -0.3), PICKS, SIDES)
    assert "not significant" in sentences.about_gap(found, 1, 6)
    assert "does not show in this layer" in sentences.paper_effect(found, 1)
    assert "opposite of the paper's effect" in sentences.paper_effect(found, 2)
    assert "−0.300" in sentences.about_gap(found, 2, 7)


def test_where_a_side_is_missing_nothing_is_claimed():
    nobody = Sides(CORRECT, np.zeros(NUM, dtype=bool))
    found = head_gaps(means(0.3, 0, 0), PICKS, nobody)
    assert sentences.about_gap(found, 0, 5) == "Layer 5: nothing to compare: no incorrect answer has attention here"
    assert "cannot be tested" in sentences.paper_effect(found, 0)
    assert "nothing to compare" in sentences.about_distances(with_enough(found, (1, 2, 3)), 5)
    undefined = compared(means(0.3, 0, 0), nobody)
    assert "Nothing to compare" in sentences.about_separation(undefined, undefined, (4, 5, 6))


def test_significant_distances_are_named():
    found = head_gaps(means(0.3, 0.0, -0.3), PICKS, SIDES)
    said = sentences.about_distances(with_enough(found, (1, 2, 3)), 5)
    assert said.startswith("Layer 5, distance 1: +0.300 [")
    assert said.endswith("significant at 1 and 3")
    flat = head_gaps(means(0, 0, 0), PICKS, SIDES)
    assert sentences.about_distances(with_enough(flat, (1, 2, 3)), 5).endswith("significant at none")


def distances(*lengths):
    """Gaps at distances 1, 2, 3, where only so many correct answers are long enough."""
    values = means(0.3, 0.0, -0.3)
    for column, count in enumerate(lengths):
        values[count : NUM // 2, column] = np.nan
    return with_enough(head_gaps(values, PICKS, SIDES), (1, 2, 3))


def test_a_distance_that_fewer_than_twenty_answers_of_a_side_have_is_hidden_and_said():
    found = distances(30, 20, 19)
    assert (found.shown, found.hidden) == ((1, 2), (3,))
    assert found.gaps.picked.correct.count.tolist() == [30, 20]
    assert sentences.about_distances(found, 5).endswith("of distances 1 to 2, significant at 1")
    assert sentences.hidden_distances(found) == (
        "1 distance is hidden: it has fewer than 20 correct or incorrect answers."
    )
    assert sentences.hidden_distances(distances(30, 20, 20)) == ""
    assert sentences.hidden_distances(distances(30, 2, 1)).startswith("2 distances are hidden: each has")


def test_where_every_distance_is_hidden_it_is_said():
    found = distances(19, 10, 0)
    assert found.shown == ()
    assert sentences.hidden_distances(found).startswith("All 3 distances are hidden")
    assert "fewer than 20 correct or incorrect answers at every distance" in sentences.about_distances(found, 5)


def test_best_and_worst_are_compared_in_the_framed_head():
    attention = means(0.3, 0, 0)[:, 0]
    shown = best_and_worst(attention, np.arange(NUM)[::-1] / NUM, PICKS[:, 0], k=10)
    said = sentences.about_best_and_worst(shown, 3)
    best, worst = attention[:10, 0].mean(), attention[-10:, 0].mean()
    assert said.startswith(
        f"Layer 3, head 0: mean attention {best:.3f} in the 10 best answers, {worst:.3f} in the 10 worst"
    )
    assert sentences.about_best_and_worst(best_and_worst(attention, np.ones(NUM), PICKS[:, 0]), 3).startswith(
        "There is"
    )


@pytest.mark.parametrize(
    ("sign", "verdict"), [(1, "Quality rises"), (-1, "Quality falls"), (0, "No significant correlation")]
)
def test_correlation_is_claimed_by_its_interval(sign, verdict):
    values = np.random.default_rng(1).normal(size=NUM)
    quality = sign * values + 0.01 * np.random.default_rng(2).normal(size=NUM)
    said = sentences.about_bins(estimate(spearman, values, quality), 4)
    assert said.startswith(f"Layer 4. {verdict}")
    assert said.endswith("n = 60")


def test_an_undefined_correlation_has_its_reason():
    said = sentences.about_bins(estimate(spearman, np.arange(9.0), np.ones(9)), 4)
    assert "undefined: all 9 answers have the same quality" in said


def test_selected_heads_are_counted():
    picks = np.array([[1]] * 6 + [[0]] * 3 + [[-1]])
    found = selected_heads(picks, (7,), 2)
    assert (
        sentences.about_selected_heads(found, 7) == "Layer 7: head 1 is selected in 67 % of 9 answers, head 0 in 33 %"
    )
    assert (
        sentences.about_selected_heads(selected_heads(np.array([[-1]]), (7,), 2), 7)
        == "Layer 7: no head is selected in any answer"
    )


def test_the_headline_counts_heads_beyond_chance_and_at_equal_length():
    found = compared(means(0.3, -0.05, 0), SIDES)
    said = sentences.about_separation(found, found, (4, 5, 6))
    assert said == (
        "2 of 6 heads separate correct from incorrect answers beyond chance (2 at equal length); best: layer 4 head 0, "
        "ROC-AUC 1.00"
    )
    assert sentences.about_directions(found) == (
        "Beyond chance: 1 with more attention in correct answers, 1 with less."
    )
    few = compared(means(0.3, -0.05, 0), Sides(CORRECT & (np.arange(NUM) < 3), ~CORRECT))
    assert sentences.about_separation(few, few, (4, 5, 6)).endswith("ROC-AUC 1.00, from only 3 correct answers")
    noise = compared(np.random.default_rng(5).uniform(size=(NUM, 3, 2)), SIDES)
    assert sentences.about_separation(noise, noise, (4, 5, 6)).startswith(
        "No head separates correct from incorrect answers beyond chance; the best of 6 is layer "
    )
    assert sentences.about_directions(noise) == ""
    nobody = compared(means(0.3, 0, 0), Sides(CORRECT, np.zeros(NUM, dtype=bool)))
    assert "at equal length" not in sentences.about_separation(found, nobody, (4, 5, 6))
    assert "cannot be compared: no incorrect answer" in sentences.about_length(nobody)


def test_groups_and_their_weights_are_stated():
    groups = ["a", "b"] * 25 + ["c"] * 10
    found = compared(means(0.3, 0, 0), SIDES, groups)
    assert sentences.groups_caption(found.labelled) == (
        "30 correct and 20 incorrect answers in 2 groups, weighted by the inverse variance of their ROC-AUC by chance. "
        "Left out: 1 group without both sides."
    )
    one = sentences.groups_caption(compared(means(0.3, 0, 0), SIDES).labelled)
    assert one == "30 correct and 30 incorrect answers in one group."
    limits = f"within {0.5 - found.chance:.2f} to {0.5 + found.chance:.2f} in 95 % of cases"
    assert f"the best of 6 stays {limits}" in sentences.about_chance(found)


def test_held_out_values_are_stated_with_those_that_hold():
    values = means(0.3, 0, 0)
    said = sentences.about_held_out(held_out(values, compared(values, SIDES).labelled, most=1))
    assert said == (
        "Chosen on one half of the questions, the 1 strongest have ROC-AUC 1.00 to 1.00 on the other; 1 of 1 are "
        "beyond chance there too."
    )
    nobody = compared(values, Sides(CORRECT, np.zeros(NUM, dtype=bool))).labelled
    assert "undefined: too few questions" in sentences.about_held_out(held_out(values, nobody))


def test_fact_tokens_are_compared_apart():
    values = means(0.3, 0, 0)
    values[:5] = np.nan
    said = sentences.about_facts(compared(values, SIDES))
    assert said.startswith("Beyond chance over fact tokens alone: 1 of 6 heads (25 correct and 30 incorrect answers")
    nobody = Sides(CORRECT, np.zeros(NUM, dtype=bool))
    assert sentences.about_facts(compared(values, nobody)) == ""


def test_what_words_cannot_say_is_stated():
    words = WordAttention(
        layers=(4, 5), expected=np.zeros((3, 2, 2)), residual=np.zeros((3, 2, 2)), unseen=np.array([0.6, 0.2, np.nan])
    )
    said = sentences.top_heads_caption(words)
    assert "Words and residual: layers 4 to 5" in said
    assert "1 of 2 answers consist mostly of pairs of tokens that no other answer has." in said
    assert "known only for the whole answer" in sentences.top_heads_caption(None)


def test_the_share_of_correct_answers_is_read_from_the_calibration():
    uncertainty = np.arange(NUM, dtype=float)
    said = sentences.about_meaning(calibrate(uncertainty, CORRECT.astype(float)), uncertainty)
    assert said.startswith("Correct: 100 % [")
    assert said.split(" at ")[0].endswith(", 100]")
    assert said.split(" at the median, ")[1].startswith("0 % [0, ")
    few = calibrate(uncertainty[:5], CORRECT[:5].astype(float))
    assert "undefined: no question has incorrect answers" in sentences.about_meaning(few, uncertainty[:5])
