"""Points in an answer, and what a score says there, against counts by hand and independent sources."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import kendalltau
from sklearn.metrics import roc_auc_score

from analysis.online.curves import Curves
from analysis.online.early import HALFWAY, POINTS, Point, early, reordered


def curves(values, lengths, correct):
    return Curves(
        values={"rauq": np.array(values, dtype=float)},
        lengths=np.array(lengths),
        correct=np.array(correct, dtype=float),
        clusters=np.arange(len(lengths)),
        groups=tuple("ab"[place % 2] for place in range(len(lengths))),
    )


def random_curves(size=80, longest=12):
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, longest + 1, size)
    values = np.cumsum(rng.standard_normal((size, longest)), axis=1)
    values[np.arange(longest) >= lengths[:, None]] = np.nan
    return curves(values, lengths, rng.integers(0, 2, size))


def test_a_point_is_a_share_of_the_tokens_rounded_up_or_a_number_of_them():
    lengths = np.array([1, 2, 3, 8])
    assert HALFWAY.tokens(lengths).tolist() == [1, 1, 2, 4]
    assert Point(count=5).tokens(lengths).tolist() == [5] * 4
    assert [str(point) for point in POINTS] == [
        "25 % of the tokens",
        "50 % of the tokens",
        "75 % of the tokens",
        "5 tokens",
    ]


def test_what_a_score_says_halfway_counted_by_hand():
    nan = np.nan
    of = curves([[4, nan, nan], [1, 3, nan], [2, 2, nan], [9, 0, 1]], [1, 2, 2, 3], [0, 0, 1, 1])
    found = early(of, "rauq", HALFWAY)
    assert found.n == 3  # the answer of one token has no token after its half
    away = np.array([2, 0, 1]) / np.std([3, 2, 1])
    assert found.median == pytest.approx(np.median(away))
    assert found.high == pytest.approx(np.quantile(away, 0.95))
    assert found.reordered == pytest.approx(1 / 3)  # now 1, 2, 0, in the end 3, 2, 1: the first and second
    assert found.area.value == 0.5
    assert found.final_area.value == 1.0


@pytest.mark.parametrize("point", POINTS, ids=str)
def test_areas_are_those_of_the_answers_that_go_on(point):
    of = random_curves()
    tokens = point.tokens(of.lengths)
    rows = np.flatnonzero(tokens < of.lengths)
    now, end = of.values["rauq"][rows, tokens[rows] - 1], of.values["rauq"][rows, of.lengths[rows] - 1]
    found = early(of, "rauq", point)
    assert found.n == len(rows)
    assert found.area.value == pytest.approx(roc_auc_score(of.correct[rows] == 0, now))
    assert found.final_area.value == pytest.approx(roc_auc_score(of.correct[rows] == 0, end))
    assert found.within.low[0] < found.within.value[0] < found.within.high[0]


def test_within_a_single_family_the_area_is_that_of_all_answers():
    of = random_curves()
    found = early(replace(of, groups=("a",) * len(of.groups)), "rauq", HALFWAY)
    assert found.within.value[0] == pytest.approx(found.area.value)


def test_pairs_reordered_are_those_of_kendall_and_a_tie_is_half():
    first, second = np.random.default_rng(0).standard_normal((2, 30))
    assert reordered(first, second) == pytest.approx((1 - kendalltau(first, second).statistic) / 2)
    assert reordered(first, first) == 0
    assert reordered(first, -first) == 1
    assert reordered(np.zeros(30), first) == 0.5
    assert np.isnan(reordered(first[:1], second[:1]))


def test_a_score_that_does_not_change_is_its_final_one():
    of = random_curves()
    constant = np.where(np.isnan(of.values["rauq"]), np.nan, of.values["rauq"][:, :1])
    found = early(curves(constant, of.lengths, of.correct), "rauq", HALFWAY)
    assert (found.median, found.high, found.reordered) == (0, 0, 0)
    assert found.area == found.final_area


def test_where_no_answer_goes_on_nothing_is_known():
    found = early(curves([[1.0], [2.0]], [1, 1], [0, 1]), "rauq", HALFWAY)
    assert found.n == 0
    assert np.isnan([found.median, found.high, found.reordered, found.area.value, found.within.value[0]]).all()
