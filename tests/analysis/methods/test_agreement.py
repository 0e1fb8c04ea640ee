"""Whether methods put answers in the same order: scipy's correlation of what both have, and nothing made up."""

import numpy as np
from scipy.stats import spearmanr

from analysis.methods.agreement import method_agreement


def test_correlations_are_those_of_scipy_over_the_answers_that_both_have():
    rng = np.random.default_rng(0)
    first, second = np.round(rng.normal(size=(2, 40)), 1)
    lacking = np.where(np.arange(40) < 9, np.nan, first + second)
    found = method_agreement({"rauq": first, "msp": second, "sar": lacking})
    assert found.methods == ("rauq", "msp", "sar")
    np.testing.assert_array_equal(found.counts, [[40, 40, 31], [40, 40, 31], [31, 31, 31]])
    np.testing.assert_array_equal(found.correlations, found.correlations.T)
    np.testing.assert_allclose(np.diag(found.correlations), 1)
    np.testing.assert_allclose(found.correlations[0, 1], spearmanr(first, second).statistic)
    np.testing.assert_allclose(found.correlations[0, 2], spearmanr(first[9:], lacking[9:]).statistic)


def test_a_constant_or_absent_uncertainty_correlates_with_nothing():
    found = method_agreement({"rauq": np.arange(5.0), "msp": np.ones(5), "sar": np.full(5, np.nan)})
    np.testing.assert_array_equal(np.isnan(found.correlations), ~np.eye(3, dtype=bool) | (np.arange(3) > 0))
    assert found.counts[0, 2] == 0
