"""A score's rank among reference answers, and what the verdicts on the nearest of them say."""

import math

import numpy as np
import pytest
from scipy.stats import binomtest

from analysis.one_answer.standing import BINS, NEAREST, nearest_in_words, rank_in_words, standing
from analysis.stats import percentile_of, share_interval
from rauq.recorded.scores import load_scores


def reference(count, *, seed=0):
    rng = np.random.default_rng(seed)
    uncertainties = rng.normal(size=count)
    return uncertainties, rng.random(count) < 1 / (1 + np.exp(2 * uncertainties))


@pytest.mark.parametrize("count", [1, 7, 499, 500, 2000])
@pytest.mark.parametrize("score", [-9.0, -0.3, 0.0, 1.2, 9.0])
def test_it_is_counted_among_all_and_judged_by_the_nearest(count, score):
    uncertainties, correct = reference(count)
    found = standing(score, uncertainties, correct)
    assert found.nearest == (NEAREST if count >= 5 * NEAREST else max(1, count // 5))
    distances = np.abs(uncertainties - score)
    furthest = np.sort(distances)[found.nearest - 1]
    assert found.share == correct[distances <= furthest].mean()
    assert found.low <= found.share <= found.high
    assert found.percentile == percentile_of(uncertainties, score)
    assert sum(found.correct) == correct.sum()
    assert sum(found.correct) + sum(found.incorrect) == found.count == count
    assert len(found.edges) == BINS + 1
    assert list(found.edges) == sorted(found.edges)


@pytest.mark.parametrize(("hits", "count"), [(0, 100), (1, 100), (9, 100), (50, 100), (100, 100), (1, 3)])
def test_the_interval_is_wilsons(hits, count):
    expected = binomtest(hits, count).proportion_ci(method="wilson")
    assert share_interval(hits, count) == pytest.approx((expected.low, expected.high), abs=1e-6)


def test_an_undefined_score_and_an_empty_reference_have_no_rank():
    uncertainties, correct = reference(30)
    assert standing(math.nan, uncertainties, correct) is None
    assert standing(0.0, uncertainties[:0], correct[:0]) is None
    assert all(map(math.isnan, share_interval(0, 0)))


@pytest.mark.parametrize(
    ("score", "words"),
    [
        (-9, "More confident than all 1,000 answers of this model"),
        (109, "More uncertain than all 1,000 answers of this model"),
        (99.6, "More uncertain than over 99 % of 1,000 answers of this model"),
        (90, "More uncertain than 90 % of 1,000 answers of this model"),
        (10, "More confident than 90 % of 1,000 answers of this model"),
    ],
)
def test_the_rank_is_said_by_the_larger_side(score, words):
    uncertainties = np.linspace(0, 100, 1000)
    assert rank_in_words(standing(score, uncertainties, uncertainties < 50)) == words


def test_what_is_said_of_the_nearest_has_its_interval():
    uncertainties = np.linspace(0, 1, 1000)
    found = standing(1.0, uncertainties, uncertainties < 0.91)
    assert nearest_in_words(found) == "Of the 100 nearest, 10 % were correct (95 % interval 6 to 17)."


def test_incorrect_answers_of_the_real_model_rank_as_more_uncertain_on_average():
    [scores] = [one for one in load_scores() if one.model == "smollm2"]
    uncertainties, correct = np.array(scores.uncertainties), np.array(scores.correct)
    found = {score: standing(score, uncertainties, correct) for score in np.percentile(uncertainties, (5, 95))}
    confident, uncertain = found.values()
    assert confident.share > 0.5 > uncertain.high
