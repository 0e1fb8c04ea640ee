"""A gap is a difference of two means, with the interval that an independent bootstrap gives, and its n."""

import numpy as np
import pytest
from scipy import stats

from analysis.answer_sets.gaps import QUANTILES, gaps, head_gaps
from analysis.answer_sets.heads import of_selected, pick
from analysis.answer_sets.sides import Sides, sides
from analysis.quality.judgement import Thresholds
from rauq.errors import InvalidInput
from tests.analysis.answer_sets.made_up import INFORMATIVE, made_up

FEW = "too few questions for an interval: 10 with a correct answer and 10 with an incorrect one are needed"


def parted(*quality):
    return sides(np.array(quality, dtype=float), Thresholds())


def test_by_hand():
    found = gaps(np.array([[0.6], [0.4], [0.2], [0.3], [9.0]]), parted(1, 1, 0, 0, 0.5))
    assert found.correct.mean[0] == pytest.approx(0.5)
    assert found.incorrect.mean[0] == pytest.approx(0.25)
    assert found.absolute.value[0] == pytest.approx(0.25)
    assert found.percent.value[0] == pytest.approx(100)  # of the incorrect mean
    assert (found.correct.count[0], found.incorrect.count[0]) == (2, 2)
    np.testing.assert_allclose(found.correct.quantiles[:, 0], 0.4 + 0.2 * np.array(QUANTILES))
    assert found.reasons == (FEW,)


def test_intervals_are_those_of_welch_and_of_scipys_bootstrap():
    means, quality = made_up(600, effect=0.02)
    found = gaps(of_selected(means, pick(means)), sides(quality, Thresholds()))
    column = INFORMATIVE[0]
    one, other = (found.values[mask, column] for mask in (quality == 1, quality == 0))
    welch = stats.ttest_ind(one, other, equal_var=False).confidence_interval()
    scipys = stats.bootstrap(
        (one, other),
        lambda a, b, axis: 100 * (a.mean(axis) / b.mean(axis) - 1),
        n_resamples=4000,
        method="percentile",
        rng=np.random.default_rng(5),
    ).confidence_interval
    for own, expected in ((found.absolute, welch), (found.percent, scipys)):
        width = expected.high - expected.low
        assert own.low[column] == pytest.approx(expected.low, abs=0.05 * width)
        assert own.high[column] == pytest.approx(expected.high, abs=0.05 * width)


def test_copies_of_an_answer_tell_nothing_new():
    """With each answer three times, the interval by question is that of the answers once, but for a small factor."""
    means, quality = made_up(90)
    once = gaps(means[:, :, 0], sides(quality, Thresholds()))
    copied = np.tile(np.arange(90), 3)
    thrice = gaps(means[copied, :, 0], sides(quality[copied], Thresholds()), clusters=copied)
    for own, other in ((thrice.absolute, once.absolute), (thrice.percent, once.percent)):
        np.testing.assert_allclose(own.high - own.low, other.high - other.low, rtol=0.03)


def test_the_planted_head_shows_and_the_mean_over_heads_dilutes_it():
    means, quality = made_up()
    found = head_gaps(means, pick(means), sides(quality, Thresholds()))
    row = INFORMATIVE[0]
    assert found.picked.absolute.low[row] > 0.25
    assert found.mean.absolute.value[row] == pytest.approx(0.06, abs=0.02)
    quiet = np.delete(np.arange(len(found.mean.reasons)), row)
    assert (found.picked.absolute.low[quiet] < 0).all()
    assert (found.picked.absolute.high[quiet] > 0).all()


def test_the_order_of_answers_does_not_matter():
    means, quality = made_up()
    order = np.random.default_rng(3).permutation(len(quality))
    first = gaps(means[:, :, 0], sides(quality, Thresholds()))
    mixed = gaps(means[order, :, 0], sides(quality[order], Thresholds()))
    for own, other in ((first.absolute, mixed.absolute), (first.percent, mixed.percent)):
        np.testing.assert_allclose(own.low, other.low)
        np.testing.assert_allclose(own.high, other.high)


def test_an_answer_counts_only_where_it_has_tokens():
    values = np.array([[0.5, np.nan], [0.3, 0.2], [0.1, 0.1], [0.2, np.nan], [0.2, np.nan]])
    found = gaps(values, parted(1, 1, 0, 0, 0))
    assert found.correct.count.tolist() == [2, 1]
    assert found.incorrect.count.tolist() == [3, 1]
    assert found.absolute.value[1] == pytest.approx(0.1)
    assert np.isnan([found.absolute.low[1], found.absolute.high[1]]).all()
    assert found.reasons == (FEW, FEW)


def test_the_interval_of_a_column_is_that_of_the_answers_which_count_in_it():
    means, quality = made_up(90)
    values = means[:, :1, 0].copy()
    out = np.arange(90) % 2 == 0
    values[out] = np.nan
    sparse = gaps(values, sides(quality, Thresholds()))
    dense = gaps(means[~out, :1, 0], sides(quality[~out], Thresholds()))
    for own, other in ((sparse.absolute, dense.absolute), (sparse.percent, dense.percent)):
        width = other.high - other.low
        np.testing.assert_allclose(own.low, other.low, atol=0.1 * width[0])
        np.testing.assert_allclose(own.high, other.high, atol=0.1 * width[0])


@pytest.mark.parametrize(
    ("quality", "reason"),
    [
        ((1, 1, 1), "no incorrect answer has attention here"),
        ((0, 0, 0), "no correct answer has attention here"),
        ((np.nan, 0.5, np.nan), "no correct and no incorrect answer has attention here"),
    ],
)
def test_without_both_sides_nothing_is_defined_and_the_reason_says_why(quality, reason):
    found = gaps(np.full((3, 2), 0.3), parted(*quality))
    assert found.reasons == (reason,) * 2
    for own in (found.absolute, found.percent):
        assert np.isnan([own.value, own.low, own.high]).all()


def test_a_percentage_of_zero_attention_is_undefined():
    found = gaps(np.array([[0.2], [0.4], [0.0], [0.0]]), parted(1, 1, 0, 0))
    assert found.absolute.value[0] == pytest.approx(0.3)
    assert np.isnan([found.percent.value, found.percent.low]).all()
    assert "percentage" in found.reasons[0]


def test_values_of_other_answers_are_refused():
    with pytest.raises(InvalidInput, match="each of the 2 answers"):
        gaps(np.zeros((3, 1)), Sides(np.ones(2, bool), np.zeros(2, bool)))
