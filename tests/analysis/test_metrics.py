"""PRR against the reference's numbers, ROC-AUC and correlation against libraries, and laws that rankings must keep."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata, spearmanr
from sklearn.metrics import roc_auc_score

from analysis.stats import prr, ranks, roc_auc, spearman
from rauq.errors import InvalidInput

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "golden.json").read_text(encoding="utf-8"))["prr_cases"]
UNTIED = [case for case in GOLDEN if not case["ties_in_u"]]
TIED = [case for case in GOLDEN if case["ties_in_u"]]
CASES = pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["name"])
values = st.lists(st.integers(-50, 50), min_size=4, max_size=30)


def expected(case, share):
    """The reference's areas, with the random one in closed form: a mean of 1000 shuffles has no exact value."""
    quality = np.array(case["q"])
    if case[f"oracle_{share}"] == case[f"raw_{share}"] == case[f"random_{share}"]:
        return math.nan
    random = ((quality - quality.min()) / np.ptp(quality)).mean()
    return (case[f"raw_{share}"] - random) / (case[f"oracle_{share}"] - random)


@pytest.mark.parametrize("share", [0.5, 1.0])
@pytest.mark.parametrize("case", UNTIED, ids=lambda case: case["name"])
def test_prr_has_the_areas_of_the_reference(case, share):
    got = prr(np.array(case["u"], dtype=float), np.array(case["q"], dtype=float), max_rejection=share)
    assert got == pytest.approx(expected(case, share), rel=1e-9, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("share", [0.5, 1.0])
@CASES
def test_the_random_area_is_that_of_the_seeded_shuffles_of_the_reference_within_their_noise(case, share):
    quality = np.array(case["q"], dtype=float)
    if len(quality) == 1 or np.ptp(quality) == 0:
        assert math.isnan(prr(np.array(case["u"], dtype=float), quality, max_rejection=share))
        return
    scaled = (quality - quality.min()) / np.ptp(quality)
    rng, kept = np.random.default_rng(0), len(scaled) - np.arange(int(share * len(scaled)))
    areas = [(np.cumsum(rng.permutation(scaled))[kept - 1] / kept).mean() for _ in range(400)]
    noise = np.std(areas) / math.sqrt(1000)  # the reference draws a thousand
    assert abs(case[f"random_{share}"] - scaled.mean()) <= 4 * noise + 1e-12


@pytest.mark.parametrize("case", TIED, ids=lambda case: case["name"])
def test_ties_are_the_mean_over_the_orders_that_the_reference_might_sort_them_in(case):
    uncertainty, quality = np.array(case["u"], dtype=float), np.array(case["q"], dtype=float)
    rng = np.random.default_rng(0)
    orders = [prr(uncertainty + 1e-6 * rng.random(len(quality)), quality) for _ in range(2000)]
    assert prr(uncertainty, quality) == pytest.approx(np.mean(orders), abs=4 * np.std(orders) / math.sqrt(2000))
    assert min(orders) <= case["normalized_0.5"] + 0.1  # one order of many, with the noise of the random area
    assert case["normalized_0.5"] - 0.1 <= max(orders)


@pytest.mark.parametrize("case", UNTIED, ids=lambda case: case["name"])
def test_roc_auc_is_that_of_the_reference(case):
    correct = np.array(case["q"], dtype=float) > 0.5
    wanted = case["roc_auc_error_q<=0.5"]
    assert roc_auc(np.array(case["u"]), correct) == pytest.approx(math.nan if wanted is None else wanted, nan_ok=True)


def test_the_golden_cases_are_there():
    assert len(UNTIED) >= 5
    assert len(TIED) >= 2


@given(values)
def test_the_oracle_scores_one_and_constant_quality_is_undefined(quality):
    quality = np.array(quality, dtype=float)
    if np.ptp(quality) == 0:
        assert math.isnan(prr(-quality, quality))
    else:
        assert prr(-quality, quality) == pytest.approx(1)


def test_equal_uncertainty_scores_zero_whatever_the_order():
    assert prr(np.zeros(6), np.array([1, 0, 0, 1, 1, 0])) == pytest.approx(0)


def test_ties_are_the_mean_over_their_orders():
    quality = np.array([1.0, 0.0, 1.0, 0.0])
    tied = prr(np.array([0, 1, 1, 2]), quality)
    assert tied == pytest.approx(np.mean([prr(np.array(order), quality) for order in ([0, 1, 2, 3], [0, 2, 1, 3])]))


@given(values, st.integers(0, 10**6))
def test_only_the_order_of_uncertainty_counts(quality, seed):
    quality = np.array(quality, dtype=float)
    uncertainty = np.random.default_rng(seed).normal(size=len(quality))
    wrong = quality < np.median(quality)
    assert prr(uncertainty, quality) == pytest.approx(prr(np.exp(uncertainty), quality), nan_ok=True)
    assert roc_auc(uncertainty, ~wrong) == pytest.approx(roc_auc(np.exp(uncertainty), ~wrong), nan_ok=True)


def test_roc_auc_is_the_probability_that_the_incorrect_answer_is_more_uncertain():
    uncertainty, correct = np.array([0.0, 1.0, 1.0, np.inf]), np.array([1, 1, 0, 0])
    assert roc_auc(uncertainty, correct) == pytest.approx(3.5 / 4)
    assert math.isnan(roc_auc(uncertainty, np.ones(4)))


@given(st.lists(st.tuples(st.integers(-5, 5), st.booleans(), st.integers(0, 9)), min_size=3, max_size=40))
def test_roc_auc_and_correlation_are_those_of_the_libraries(rows):
    uncertainty, correct, quality = np.array(rows, dtype=float).T
    if len(set(correct)) == 2:
        assert roc_auc(uncertainty, correct) == pytest.approx(roc_auc_score(1 - correct, uncertainty))
    if len(set(uncertainty)) > 1 < len(set(quality)):
        assert spearman(uncertainty, quality) == pytest.approx(spearmanr(uncertainty, quality).statistic)
    else:
        assert math.isnan(spearman(uncertainty, quality))


@given(st.lists(st.integers(-3, 3) | st.just(math.inf), min_size=1, max_size=20))
def test_ranks_are_scipys(values):
    np.testing.assert_array_equal(ranks(np.array(values, dtype=np.float32)), rankdata(values))


def test_a_quality_between_0_and_1_is_neither_correct_nor_incorrect():
    with pytest.raises(InvalidInput, match=r"got 0\.25\. Apply a threshold"):
        roc_auc(np.arange(3), np.array([0, 1, 0.25]))


def test_nan_is_left_out_and_never_ranked():
    uncertainty, quality = np.array([0.0, np.nan, 1.0, 2.0, 3.0]), np.array([1.0, 0.0, 1.0, 0.0, np.nan])
    assert prr(uncertainty, quality, max_rejection=1) == prr(
        uncertainty[[0, 2, 3]], quality[[0, 2, 3]], max_rejection=1
    )
    assert math.isnan(prr(np.array([1.0, np.nan]), np.array([0.0, 1.0])))
    infinite = np.array([1.0, 0.0, 1.0, np.inf, 0.0])
    assert prr(np.arange(5), infinite) == prr(np.arange(5)[infinite < 2], infinite[infinite < 2])
    assert spearman(uncertainty, quality) == spearman(uncertainty[[0, 2, 3]], quality[[0, 2, 3]])
