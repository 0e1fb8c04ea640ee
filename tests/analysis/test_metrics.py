"""PRR and ROC-AUC against the reference's numbers, and laws that any ranking metric must keep."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.metrics import bootstrap, interval, prr, resamples, roc_auc

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "golden.json").read_text(encoding="utf-8"))["prr_cases"]
UNTIED = [case for case in GOLDEN if not case["ties_in_u"]]
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


def test_the_golden_cases_are_there():
    assert len(UNTIED) >= 5


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


def test_roc_auc_is_the_chance_that_the_wrong_answer_is_less_sure():
    uncertainty, correct = np.array([0.0, 1.0, 1.0, np.inf]), np.array([1, 1, 0, 0])
    assert roc_auc(uncertainty, correct) == pytest.approx(3.5 / 4)
    assert math.isnan(roc_auc(uncertainty, np.ones(4)))


def test_nan_is_left_out_and_never_ranked():
    uncertainty, quality = np.array([0.0, np.nan, 1.0, 2.0, 3.0]), np.array([1.0, 0.0, 1.0, 0.0, np.nan])
    assert prr(uncertainty, quality, max_rejection=1) == prr(
        uncertainty[[0, 2, 3]], quality[[0, 2, 3]], max_rejection=1
    )
    assert math.isnan(prr(np.array([1.0, np.nan]), np.array([0.0, 1.0])))


def test_the_bootstrap_is_seeded_and_its_interval_holds_the_value():
    rng = np.random.default_rng(1)
    uncertainty = rng.normal(size=200)
    quality = (uncertainty + rng.normal(size=200) < 0).astype(float)
    drawn = resamples(200, count=200, seed=3)
    np.testing.assert_array_equal(drawn, resamples(200, count=200, seed=3))
    low, high = interval(bootstrap(prr, uncertainty, quality, drawn))
    assert low < prr(uncertainty, quality) < high < 1
