"""Answers to one question stay together, and what is claimed of heads holds when it is simulated without an effect."""

import numpy as np
import pytest
from scipy import stats

from analysis.answer_sets.carry_over import HeadSet, carry_over
from analysis.answer_sets.clusters import exchangeable, folds, shuffled
from analysis.answer_sets.gaps import gaps
from analysis.answer_sets.separation import areas_with_interval, by_length, held_out, labelled, separation
from analysis.answer_sets.sides import Sides
from analysis.stats import student

SIMULATIONS, MOST = 60, 8  # a test of 5 % passes in 99 of 100 cases
GROUP = np.array([0, 0, 0, 0, 1, 1, 0, 1, 0])
CLUSTER = np.array([0, 0, 1, 1, 2, 3, 4, 4, 5])


def test_clusters_are_exchangeable_where_they_have_as_many_answers_in_each_group():
    found = [rows.tolist() for rows in exchangeable(GROUP, CLUSTER)]
    assert found == [[[8]], [[0, 1], [2, 3]], [[6, 7]], [[4], [5]]]


def test_labels_of_a_cluster_move_together_and_one_like_no_other_keeps_its_own():
    labels = np.array([1, 0, 0, 0, 1, 0, 1, 0, 1], dtype=bool)
    found = shuffled(labels, GROUP, CLUSTER, count=200, rng=np.random.default_rng(0))
    assert {tuple(row[:4].tolist()) for row in found} == {(True, False, False, False), (False, False, True, False)}
    assert (found[:, [6, 7, 8]] == labels[[6, 7, 8]]).all()
    assert 0.3 < found[:, 4].mean() < 0.7
    assert (found[:, 4] != found[:, 5]).all()


@pytest.mark.parametrize("count", [2, 10])
def test_folds_keep_a_cluster_together_and_groups_and_sides_even(count):
    rng = np.random.default_rng(1)
    cluster = np.repeat(rng.permutation(150), 2)
    correct, groups = rng.uniform(size=150)[cluster] < 0.4, np.array(["a", "b"])[cluster % 2]
    found = folds(groups, Sides(correct, ~correct), clusters=cluster, count=count)
    assert all(len(set(found[cluster == own])) == 1 for own in range(150))
    for own in range(count):
        assert abs(correct[found == own].mean() - correct.mean()) < 0.1


def test_quantiles_are_those_of_student():
    freedom = np.arange(9, 500)
    np.testing.assert_allclose(student(freedom), stats.t.ppf(0.975, freedom), rtol=0.005)


def test_areas_of_copies_have_the_interval_of_the_answers_once():
    rng = np.random.default_rng(2)
    correct, values, copied = rng.uniform(size=100) < 0.4, rng.normal(size=(100, 3)), np.tile(np.arange(100), 3)
    once = areas_with_interval(values, labelled(values, Sides(correct, ~correct), ["one"] * 100))
    sides = Sides(correct[copied], ~correct[copied])
    thrice = areas_with_interval(values[copied], labelled(values[copied], sides, ["one"] * 300, clusters=copied))
    np.testing.assert_allclose(thrice.high - thrice.low, once.high - once.low, rtol=0.05)


def without_effect(seed):
    """Means (A, L, H), sides, groups, clusters and lengths of answers, each question twice, with random labels."""
    rng = np.random.default_rng(seed)
    question = np.repeat(np.arange(60), 2)
    correct = rng.uniform(size=60)[question] < 0.5
    means = rng.normal(size=(60, 4, 6))[question] + 0.1 * rng.normal(size=(120, 4, 6))
    groups = [f"group {place % 2}" for place in question]
    return means, Sides(correct, ~correct), groups, question, 3 + question % 3


def claims(seed):
    """What would be claimed: of the map, at one length, on the other half, in one head, and of its gap."""
    means, sides, groups, clusters, lengths = without_effect(seed)
    options = {"clusters": clusters, "permutations": 200}
    found = separation(means, sides, groups, **options)
    own = areas_with_interval(means[:, 0, :1], found.labelled)
    gap = gaps(np.exp(means[:, 0, :1]), sides, clusters=clusters).absolute
    return (
        found.beyond_chance,
        separation(means, sides, by_length(groups, lengths), **options).beyond_chance,
        held_out(means, found.labelled, permutations=200).num_beyond > 0,
        own.low[0] > 0.5 or own.high[0] < 0.5,
        gap.low[0] > 0 or gap.high[0] < 0,
    )


def test_repeated_questions_without_an_effect_are_seldom_a_claim():
    counts = np.sum([claims(seed) for seed in range(SIMULATIONS)], axis=0)
    assert (counts <= MOST).all(), counts


def test_heads_of_repeated_questions_do_not_carry_over_by_chance():
    def head_set(seed):
        means, sides, groups, clusters, _ = without_effect(seed)
        means += means[:, :, :1]  # heads of a layer go together
        return HeadSet(means, separation(means, sides, groups, clusters=clusters, permutations=10))

    found = [carry_over(head_set(seed), head_set(seed + 1000), permutations=100) for seed in range(SIMULATIONS)]
    assert sum(not one.low <= one.correlation <= one.high for one in found) <= MOST
    assert sum(one.probability < 0.05 for one in found) <= MOST


@pytest.mark.parametrize("seed", range(5))
def test_nothing_is_claimed_where_no_labels_can_move(seed):
    """One question of each size: its labels stay, so that chance is what is observed."""
    rng = np.random.default_rng(seed)
    clusters = np.repeat(np.arange(1, 9), np.arange(1, 9))
    correct, means = rng.uniform(size=36) < 0.5, rng.normal(size=(36, 4, 6)).round(1)
    found = separation(means, Sides(correct, ~correct), ["one"] * 36, clusters=clusters, permutations=20)
    assert found.chance == pytest.approx(found.strength, abs=1e-5)
    assert (found.beyond_chance, found.num_beyond) == (False, 0)
    both = carry_over(HeadSet(means, found), HeadSet(means, found), permutations=20)
    assert both.low <= both.correlation <= both.high
