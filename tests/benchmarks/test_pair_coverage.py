"""The simulation of written pairs: what it takes for the truth, and that the shown interval covers it."""

import numpy as np
import pytest

from analysis.stats import roc_auc
from benchmarks.coverage.pairs import Case, drawn, hits_of


@pytest.mark.parametrize("correlation", [0.0, 0.6])
def test_the_truth_is_the_share_of_right_answers_near_a_score(correlation):
    case = Case(questions=200_000, distance=1.0, correlation=correlation)
    scores = drawn(case, np.random.default_rng(0))
    for place in (-1.0, 0.0, 1.5):
        right, wrong = (np.abs(scores - place) < 0.05).sum(axis=0)
        assert right / (right + wrong) == pytest.approx(1 / (1 + np.exp(place)), abs=0.02)
    assert np.corrcoef(scores.T)[0, 1] == pytest.approx(correlation, abs=0.01)
    area = roc_auc(scores[:2_000].ravel(), np.tile([1.0, 0.0], 2_000))
    assert area == pytest.approx(0.76, abs=0.02)  # Phi(1 / sqrt(2))


def test_the_interval_covers_the_truth_at_the_ends_and_between():
    hits, shown = hits_of(Case(questions=200, distance=1.0, correlation=0.6), simulations=60, seed=1)
    assert shown == 60
    assert hits.min() >= 0.85 * shown  # 0.9 in the measurement, which has more simulations
