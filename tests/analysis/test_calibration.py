"""The share of correct answers near a score: a curve whose interval covers smooth truths everywhere on the scale."""

import math

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from analysis.calibration import LEAST, calibrate, share_at, share_in_words
from benchmarks.coverage.shares import SMOOTH, Case, hits_of
from rauq.errors import InvalidInput
from rauq.recorded.scores import load_scores


def answers(size=400, seed=0, slope=1.0):
    rng = np.random.default_rng(seed)
    uncertainty = rng.normal(size=size)
    return uncertainty, (rng.random(size) < 1 / (1 + np.exp(slope * uncertainty))).astype(float)


@pytest.mark.parametrize("case", [Case(size=814, base=0.05), Case(size=300, base=0.5, copies=3)], ids=str)
@pytest.mark.parametrize("name", ["falling", "hump"])
def test_the_interval_covers_in_every_twentieth_of_the_scale(case, name):
    found = hits_of(SMOOTH[name], case, simulations=200, seed=1)
    assert found.shown >= 150
    assert found.hits.min() >= 0.88 * found.shown  # of 20 places, 200 times: the least of .93 is .88 by chance
    assert found.hits.mean() >= 0.92 * found.shown


def test_the_curve_is_the_logistic_regression_on_a_natural_spline():
    def basis(z):  # cubic pieces with the same knots, linear outside: truncated powers, solved for their constraints
        knots = np.array([-1.645, -0.385, 0.385, 1.645])
        powers = np.maximum(z[:, None] - knots, 0) ** 3
        free = np.linalg.svd(np.stack([np.ones(4), knots]))[2][2:]  # sums of weights, and of weights times knots, are 0
        return np.column_stack([z, powers @ free.T])

    from scipy.stats import norm

    uncertainty, correct = answers(180)
    got = calibrate(uncertainty, correct)
    ranks = (np.arange(180) + 0.5) / 180
    design = basis(norm.ppf(ranks))
    wanted = LogisticRegression(C=1e6, tol=1e-10, max_iter=10_000).fit(design, correct[np.argsort(uncertainty)])
    np.testing.assert_allclose(got.share, wanted.predict_proba(design)[:, 1], atol=0.005)


def test_a_repeated_question_counts_once():
    uncertainty, correct = answers(700)
    once = calibrate(uncertainty, correct)
    clusters = np.repeat(np.arange(700), 3)
    thrice, apart = (calibrate(np.repeat(uncertainty, 3), np.repeat(correct, 3), clusters=c) for c in (clusters, None))
    np.testing.assert_allclose(thrice.share, once.share, atol=0.02)  # the ridge weighs less among more answers
    np.testing.assert_allclose(np.median(thrice.high - thrice.low), np.median(once.high - once.low), rtol=0.05)
    assert np.median(apart.high - apart.low) < np.median(once.high - once.low) / 1.5


@pytest.mark.parametrize("size", [20, 100, 2000])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("separated", [False, True])
def test_every_number_is_finite_and_a_share(size, ties, separated):
    uncertainty, correct = answers(size, slope=0)
    if separated:
        correct = (uncertainty < np.median(uncertainty)).astype(float)
    if ties:
        uncertainty = np.where(uncertainty > 1, np.inf, np.round(uncertainty))
    got = calibrate(uncertainty, correct)
    assert (got.reason == "") == (min(correct.sum(), size - correct.sum()) >= LEAST)
    for low, share, high in zip(got.low, got.share, got.high, strict=True):
        assert 0 <= low <= share <= high <= 1


def test_one_score_for_all_has_the_share_of_all():
    got = calibrate(np.zeros(80), np.arange(80) % 4 == 0)
    assert got.share == pytest.approx(0.25, abs=1e-6)
    assert got.low < 0.25 < got.high


@pytest.mark.parametrize(
    ("num_correct", "reason"),
    [
        (0, "no question has correct answers, and at least 12 are needed"),
        (1, "only 1 question has correct answers, and at least 12 are needed"),
        (45, "only 5 questions have incorrect answers, and at least 12 are needed"),
    ],
)
def test_too_few_of_a_side_have_no_share_but_the_base_rate(num_correct, reason):
    got = calibrate(np.arange(50.0), np.arange(50) < num_correct)
    assert got.reason == reason
    assert all(map(math.isnan, share_at(got, 1.0)))
    assert share_in_words(got, 1.0) == (
        f"{2 * num_correct} % of all 50 are correct; the share near this score is unknown: {reason}."
    )


def test_answers_without_a_score_or_a_verdict_are_left_out_and_counted():
    uncertainty, correct = answers()
    plain = calibrate(uncertainty, correct)
    more = np.append(uncertainty, [np.nan, 0]), np.append(correct, [1, np.nan])
    added = calibrate(*more, clusters=np.arange(402))
    assert (plain.n, plain.excluded, added.n, added.excluded) == (400, 0, 400, 2)
    np.testing.assert_array_equal(plain.low, added.low)
    none = calibrate(np.array([np.nan]), np.array([1.0]))
    assert (none.n, share_in_words(none, 0.0)) == (0, "")


def test_a_score_is_read_between_and_beyond_those_that_occur():
    got = calibrate(np.repeat([0.0, 1.0, np.inf], 20), np.arange(60) % 20 < np.repeat([18, 10, 4], 20))
    assert [share_at(got, score) for score in (-np.inf, 1.9, np.inf)] == [share_at(got, one) for one in (0, 1, np.inf)]
    assert all(map(math.isnan, share_at(got, math.nan)))


def test_words_say_what_the_share_is_and_what_is_beyond_the_reference():
    [scores] = [one for one in load_scores() if one.model == "smollm2"]
    uncertainties = np.array(scores.uncertainties)
    got = calibrate(uncertainties, np.array(scores.correct, dtype=float), clusters=np.array(scores.clusters))
    share, low, high = (f"{100 * part:.0f}" for part in share_at(got, float(np.median(uncertainties))))
    assert share_in_words(got, float(np.median(uncertainties))) == (
        f"Near this score, {share} % are correct (95 % interval {low} to {high}), by a curve fitted to all "
        "798, of which 24 % are correct."
    )
    assert share_in_words(got, 1e3).startswith("At the nearest score of the reference, 0 % are correct")


def test_a_quality_between_is_refused():
    with pytest.raises(InvalidInput, match="Apply a threshold"):
        calibrate(np.arange(30), np.linspace(0, 1, 30))
