"""Areas under the ROC curve within groups are scikit-learn's, weighted, and beside the best of many heads by chance."""

import time

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from analysis.answer_sets.separation import (
    TOP,
    areas,
    areas_with_interval,
    best_of_layers,
    by_length,
    centred_ranks,
    held_out,
    labelled,
    separation,
    top_heads,
)
from analysis.answer_sets.sides import sides
from analysis.quality.judgement import Thresholds
from analysis.stats import ranks
from tests.analysis.answer_sets.made_up import HEADS, INFORMATIVE, LAYERS, made_up

GROUPS = np.array(["a", "b", "c"])


def sides_of(quality):
    return sides(np.asarray(quality, dtype=float), Thresholds())


def found(means, quality, groups=None, **options):
    return separation(means, sides_of(quality), ["one"] * len(quality) if groups is None else groups, **options)


def grouped(num_answers=90):
    """Made-up answers in groups of different sizes, "a" the largest."""
    means, quality = made_up(num_answers, effect=0.02)
    rng = np.random.default_rng(3)
    return (
        means,
        quality[rng.permutation(num_answers)],
        GROUPS[rng.integers(3, size=num_answers) // (1 + rng.integers(2))],
    )


@pytest.mark.parametrize("places", [1, 12])
def test_areas_in_one_group_are_scikit_learns(places):
    means, quality = made_up()
    means = means.round(places)  # to one place: with many ties
    result = found(means, quality)
    for row, head in np.ndindex(LAYERS, HEADS):
        assert result.auc[row, head] == pytest.approx(roc_auc_score(quality, means[:, row, head]))
    counted = result.labelled
    assert (counted.correct.sum(), len(counted.correct), counted.excluded) == (40, 60, 0)


@pytest.mark.parametrize("places", [1, 12])
def test_areas_of_several_groups_are_a_weighted_mean_of_scikit_learns(places):
    means, quality, groups = grouped()
    means = means.round(places)
    own, weights = [], []
    for group in GROUPS:
        rows = groups == group
        correct, size = quality[rows].sum(), rows.sum()
        weights.append(correct * (size - correct) / (size + 1))
        own.append([roc_auc_score(quality[rows], column) for column in means[rows].reshape(rows.sum(), -1).T])
    expected = np.average(own, axis=0, weights=weights).reshape(LAYERS, HEADS)
    np.testing.assert_allclose(found(means, quality, groups).auc, expected)


def test_ranks_of_all_columns_at_once_are_those_of_each():
    values = np.random.default_rng(0).integers(5, size=(30, 7)).astype(float)
    each = np.array([ranks(column) for column in values.T]).T
    np.testing.assert_allclose(centred_ranks(values, np.zeros(30, dtype=int)), (each - 15.5) / 31)


def test_a_difference_between_groups_is_none_within_them():
    rng = np.random.default_rng(0)
    groups = np.repeat(["easy", "hard"], 100)
    quality = np.concatenate([np.arange(100) % 10 > 0, np.arange(100) % 10 == 0])
    means = rng.uniform(size=(200, 3, 4)) + (groups == "easy")[:, None, None]
    assert found(means, quality).auc.min() > 0.8
    within = found(means, quality, groups)
    assert not within.beyond_chance
    assert abs(within.auc - 0.5).max() < 0.25


def test_the_planted_head_is_found_whichever_way_it_goes():
    means, quality = made_up()
    for effect, counts in ((means, (1, 0)), (1 - means, (0, 1))):
        result = found(effect, quality)
        assert result.best == INFORMATIVE
        assert result.strength == pytest.approx(0.5)
        assert result.beyond_chance
        assert (result.num_higher, result.num_lower) == counts


def test_the_order_of_answers_does_not_matter():
    means, quality, groups = grouped()
    order = np.random.default_rng(0).permutation(len(quality))
    np.testing.assert_allclose(
        found(means[order], quality[order], groups[order]).auc, found(means, quality, groups).auc
    )


def test_by_chance_the_best_of_all_heads_is_beyond_chance_in_one_case_of_twenty():
    rng = np.random.default_rng(0)
    groups = np.repeat(["a", "b"], 20)
    results = [
        found(rng.uniform(size=(40, 3, 4)), np.arange(40) % 2, groups, permutations=100, seed=i) for i in range(200)
    ]
    assert 0.01 <= np.mean([result.beyond_chance for result in results]) <= 0.1
    assert np.mean([result.strength > 0.13 for result in results]) > 0.5  # a single head seldom is so strong


def test_labels_are_shuffled_within_groups():
    """An easy and a hard group have the limit of one group with as many correct answers of ten; mixed, a wider one."""
    means = np.random.default_rng(1).uniform(size=(200, 4, 4))
    number = np.arange(200)
    apart = found(means, np.where(number < 100, number % 10 > 0, number % 10 == 0), np.repeat(["easy", "hard"], 100))
    assert apart.chance == pytest.approx(found(means, number % 10 == 0).chance, rel=0.1)


def test_chance_grows_with_the_number_of_heads():
    means = np.random.default_rng(1).uniform(size=(60, 8, 8))
    assert found(means[:, :1, :1], np.arange(60) % 2).chance < found(means, np.arange(60) % 2).chance


def test_a_difference_that_length_explains_is_none_among_answers_of_one_length():
    rng = np.random.default_rng(0)
    lengths = rng.integers(3, 7, size=400)
    quality = rng.uniform(size=400) < (lengths - 2) / 5
    means = 0.1 * rng.uniform(size=(400, 2, 3)) + lengths[:, None, None]
    groups = ["a", "b"] * 200
    assert found(means, quality, groups).auc.min() > 0.7
    same = found(means, quality, by_length(groups, lengths))
    assert not same.beyond_chance
    assert len(same.labelled.names) == 8


def test_groups_without_both_sides_are_left_out_and_named():
    means, quality, groups = grouped()
    quality[groups == "b"] = 1.0
    result = found(means, quality, groups)
    assert result.labelled.names == ("a", "c")
    assert result.labelled.left_out == ("b",)
    rest = groups != "b"
    np.testing.assert_allclose(result.auc, found(means[rest], quality[rest], groups[rest]).auc)
    np.testing.assert_array_equal(result.labelled.rows, np.flatnonzero(rest))


def test_only_answers_on_a_side_with_attention_count():
    means, quality = made_up(30)
    means[0] = np.nan
    quality[1] = 0.5
    result = found(means, quality)
    assert (len(result.labelled.rows), result.labelled.excluded) == (28, 1)
    np.testing.assert_allclose(result.auc, found(means[2:], quality[2:]).auc)


@pytest.mark.parametrize(
    ("quality", "groups", "reason"),
    [
        (np.ones(6), ["a"] * 6, "no incorrect answer has attention"),
        (np.zeros(6), ["a"] * 6, "no correct answer has attention"),
        (np.full(6, np.nan), ["a"] * 6, "no correct and no incorrect answer has attention"),
        (np.arange(6) < 3, ["a"] * 3 + ["b"] * 3, "none of 2 groups has both correct and incorrect answers"),
    ],
)
def test_what_cannot_be_separated_is_undefined_with_a_reason(quality, groups, reason):
    means, _ = made_up(6)
    result = found(means, quality, groups)
    assert result.labelled.reason == reason
    assert np.isnan(result.auc).all()
    assert np.isnan([result.strength, result.chance]).all()
    assert (result.best, result.beyond_chance, result.num_higher) == (None, False, 0)
    assert np.isnan(areas(means.reshape(6, -1), result.labelled)).all()
    half = held_out(means, result.labelled)
    assert (half.heads, half.reason != "") == ((), True)


def test_a_column_with_an_undefined_value_has_no_area():
    means, quality, groups = grouped()
    counted = labelled(means, sides_of(quality), groups)
    values = means[:, 0].copy()
    values[counted.rows[3], 1] = np.nan
    assert np.isnan(areas(values, counted)).tolist() == [False, True, False, False, False]


def test_intervals_hold_the_value_and_narrow_with_more_answers():
    widths = []
    for times in (1, 9):
        means, quality, groups = (np.concatenate([one] * times) for one in grouped())
        counted = labelled(means, sides_of(quality), groups)
        own = areas_with_interval(means[:, 0], counted)
        assert (own.low <= own.value).all()
        assert (own.value <= own.high).all()
        widths.append((own.high - own.low).mean())
    assert widths[1] == pytest.approx(widths[0] / 3, rel=0.2)


def test_few_answers_of_a_side_have_no_interval():
    means, _ = made_up(60)
    for num_correct, known in ((9, False), (10, True)):
        counted = labelled(means, sides_of(np.arange(60) < num_correct), ["one"] * 60)
        own = areas_with_interval(means[:, 0], counted)
        assert np.isfinite(own.value).all()
        assert np.isfinite([own.low, own.high]).all() == known


def test_the_best_head_of_each_layer_is_the_one_with_more_attention_in_correct_answers():
    means, quality = made_up()
    result = found(means, quality)
    best = best_of_layers(result, (3, 5, 7, 9), (5, 9))
    assert best == ((5, INFORMATIVE[1]), (9, int(result.auc[3].argmax())))
    assert best_of_layers(found(means, np.ones(60)), (3, 5, 7, 9), (5, 9)) == ()


def test_held_out_heads_are_judged_on_answers_that_did_not_choose_them():
    means, quality = made_up(200, effect=0.1)
    half = held_out(means, labelled(means, sides_of(quality), ["one"] * 200), most=3)
    assert half.heads[0] == INFORMATIVE
    assert half.auc.value[0] > 0.9
    rng = np.random.default_rng(0)
    noise = rng.uniform(size=(80, 10, 10))
    chance = held_out(noise, labelled(noise, sides_of(np.arange(80) % 2), ["one"] * 80))
    assert np.abs(chance.chosen - 0.5).min() > 0.1  # the strongest of a hundred, on the half that chose
    assert np.abs(chance.auc.value - 0.5).mean() < 0.1


def test_halves_share_no_answer_and_both_sides_of_each_group():
    means, quality, groups = grouped()
    counted = labelled(means, sides_of(quality), groups)
    first = np.arange(len(counted.rows)) % 2 == 0
    one, other = counted.among(first), counted.among(~first)
    assert not set(one.rows) & set(other.rows)
    assert one.names == other.names == counted.names
    np.testing.assert_array_equal(one.correct, quality[one.rows] == 1)
    assert [counted.names[group] for group in one.group] == groups[one.rows].tolist()


def test_top_heads_hold_the_strongest_even_where_the_half_did_not_choose_it():
    means, quality, groups = grouped()
    result = found(means, quality, groups)
    row = result.best[0]
    half = held_out(means, result.labelled, most=4)
    without = held_out(np.delete(means, row, axis=1), result.labelled, most=4)
    expected = np.full(means.shape, np.nan)
    shares = np.arange(means[0].size, dtype=float).reshape(LAYERS, HEADS)
    top = top_heads(
        means, result, without, same_length=result.labelled, expected=expected, residual=expected, shares=shares
    )
    assert top.heads[0] == result.best
    assert np.isnan([top.held_out.value[0], top.same_length.value[0]]).all()  # chosen by the answers themselves
    assert np.isnan(top.words.value).all()
    assert np.isnan(top.residual.value).all()
    full = top_heads(
        means, result, half, same_length=result.labelled, expected=means, residual=0 * means, shares=shares
    )
    assert full.heads.count(result.best) == 1
    np.testing.assert_allclose(full.words.value, full.held_out.value)
    np.testing.assert_allclose(full.same_length.value, full.held_out.value)
    np.testing.assert_allclose(full.residual.value[np.isfinite(full.held_out.value)], 0.5)
    assert full.shares.tolist() == [shares[place] for place in full.heads]


def test_no_head_outside_the_table_is_stronger_than_the_tenth_over_all_answers():
    """Those that the half did not choose have no held-out value, and the others have one."""
    values = np.random.default_rng(2).uniform(size=(80, 4, 9))
    result = found(values, np.arange(80) % 2, ["one"] * 80)
    half = held_out(values, result.labelled, most=3)
    about = {"expected": values, "residual": values, "shares": np.zeros((4, 9))}
    top = top_heads(values, result, half, same_length=result.labelled, **about)
    strength = np.abs(result.auc - 0.5)
    assert set(top.heads) == set(half.heads) | {divmod(int(at), 9) for at in np.argsort(-strength, axis=None)[:TOP]}
    assert [head for head, value in zip(top.heads, top.held_out.value, strict=True) if np.isfinite(value)] == sorted(
        half.heads, key=lambda head: -strength[head]
    )
    assert (np.diff(np.abs(top.auc - 0.5)) <= 0).all()


def test_a_thousand_heads_and_two_thousand_answers_take_seconds():
    means = np.random.default_rng(0).uniform(size=(2000, 32, 32)).astype(np.float32)
    groups = (np.arange(2000) % 11).astype(str)
    started = time.process_time()
    result = found(means, np.arange(2000) % 4 == 0, groups)
    assert time.process_time() - started < 10
    assert not np.isnan(result.chance)
