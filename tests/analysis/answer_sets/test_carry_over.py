"""Heads carry over where both sets of answers have the same strong ones, beyond what shuffled labels give."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import hypergeom

from analysis.answer_sets.carry_over import (
    HeadSet,
    at_least,
    carry_over,
    carry_over_caption,
    carry_over_sentence,
    strongest,
)
from analysis.answer_sets.separation import areas_by_chance, separation
from analysis.answer_sets.sides import Sides
from rauq.labels import number

LAYERS, HEADS, NUM = 10, 6, 200


def made(effects, *, seed, groups=2):
    """Answers whose heads (L * H,) have more attention in correct ones by these effects."""
    rng = np.random.default_rng(seed)
    correct = rng.uniform(size=NUM) < 0.5
    means = rng.normal(size=(NUM, LAYERS * HEADS)) + np.outer(correct, effects)
    means = means.reshape(NUM, LAYERS, HEADS)
    names = [f"group {place % groups}" for place in range(NUM)]
    return HeadSet(means, separation(means, Sides(correct, ~correct), names, permutations=50))


def effects(seed):
    return np.random.default_rng(seed).normal(size=LAYERS * HEADS) * 0.6


SAME = (made(effects(0), seed=1), made(effects(0), seed=2))


def test_the_same_effects_carry_over():
    found = carry_over(*SAME)
    assert found.correlation > 0.7
    assert -0.6 < found.low < 0 < found.high < 0.6
    assert len(found.shared) >= 5
    assert found.probability < 0.01
    assert carry_over_sentence(found).startswith("The maps agree beyond chance: rank correlation of 60 heads 0.")
    assert "of the top 10 in both, 1.7 expected by chance" in carry_over_sentence(found)


def test_other_effects_do_not_and_opposite_ones_are_reversed():
    found = carry_over(SAME[0], made(effects(5), seed=3))
    assert found.low < found.correlation < found.high
    assert carry_over_sentence(found).startswith("No significant agreement")
    found = carry_over(SAME[0], made(-effects(0), seed=3))
    assert found.correlation < found.low
    assert not found.shared
    assert carry_over_sentence(found).startswith("The maps are opposite beyond chance")


def test_it_does_not_matter_which_set_comes_first_and_a_set_agrees_with_itself():
    one, other = carry_over(*SAME), carry_over(*SAME[::-1])
    assert one.correlation == pytest.approx(other.correlation)
    assert (one.shared, one.probability) == (other.shared, other.probability)
    own = carry_over(SAME[0], SAME[0])
    assert own.correlation == pytest.approx(1)
    assert set(own.shared) == set(strongest(SAME[0].found))


def test_the_strongest_have_the_most_attention_in_correct_answers():
    areas = [SAME[0].found.auc[head] for head in strongest(SAME[0].found)]
    assert areas == sorted(SAME[0].found.auc.ravel(), reverse=True)[:10]


@pytest.mark.parametrize(("top", "count"), [(10, 270), (10, 60), (4, 4)])
def test_overlap_by_chance_is_hypergeometric(top, count):
    for shared in range(top + 1):
        expected = hypergeom.sf(shared - 1, count, top, top)
        assert at_least(shared, top, count) == pytest.approx(expected, abs=1e-12)


def test_the_interval_by_chance_holds_what_shuffled_labels_give():
    first, second = SAME
    flat = second.means.reshape(NUM, -1)
    drawn = areas_by_chance(flat, second.found.labelled, permutations=300, seed=7)
    assert drawn.shape == (300, LAYERS * HEADS)
    np.testing.assert_allclose(drawn.mean(axis=0), 0.5, atol=0.02)
    found, area = carry_over(first, second), first.found.auc.ravel()
    inside = [found.low <= np.corrcoef(area, one)[0, 1] <= found.high for one in drawn]
    assert 0.88 < np.mean(inside) < 1


def test_the_interval_of_the_correlation_holds_what_other_answers_give():
    found = carry_over(*SAME)
    others = [made(effects(0), seed=seed) for seed in range(10, 30)]
    drawn = [carry_over(*pair).correlation for pair in zip(others[::2], others[1::2], strict=True)]
    low, high = found.interval
    assert low < found.correlation < high < low + 0.5
    assert np.mean([low <= one <= high for one in drawn]) > 0.7
    assert f"{found.correlation:.2f} [{low:.2f}, {high:.2f}] (by chance" in carry_over_sentence(found)


def test_with_one_correct_answer_there_is_no_interval():
    means = SAME[0].means
    correct = np.arange(NUM) == 3
    few = HeadSet(means, separation(means, Sides(correct, ~correct), ["one"] * NUM, permutations=50))
    found = carry_over(SAME[0], few)
    assert np.isnan(found.interval).all()
    assert f"heads {number(found.correlation, places=2)} (by chance" in carry_over_sentence(found)


def test_heads_that_go_together_agree_more_by_chance():
    """The labels of the second set are shuffled: where its heads are nearly one, so are their areas."""
    rng = np.random.default_rng(3)
    means = SAME[1].means * 0.1 + rng.normal(size=(NUM, LAYERS, 1))
    correct = rng.uniform(size=NUM) < 0.5
    alike = HeadSet(means, separation(means, Sides(correct, ~correct), ["one"] * NUM, permutations=50))
    wide, narrow = carry_over(SAME[0], alike), carry_over(alike, SAME[0])
    assert wide.high - wide.low > 1.2 * (narrow.high - narrow.low)


@pytest.mark.parametrize(
    ("correlation", "verdict"),
    [(0.31, "The maps agree"), (0.29, "No significant"), (-0.29, "No significant"), (-0.31, "The maps are opposite")],
)
def test_the_verdict_follows_the_limits_of_chance(correlation, verdict):
    found = replace(carry_over(*SAME), correlation=correlation, low=-0.3, high=0.3)
    assert carry_over_sentence(found).startswith(verdict)


def test_a_set_without_one_side_says_so():
    means = SAME[0].means
    nothing = HeadSet(means, separation(means, Sides(np.ones(NUM, bool), np.zeros(NUM, bool)), ["one"] * NUM))
    found = carry_over(SAME[0], nothing)
    assert carry_over_sentence(found) == "Nothing to compare: on the right, no incorrect answer has attention."
    assert np.isnan(found.correlation)
    assert len(carry_over_caption(carry_over(*SAME)).split()) <= 45
