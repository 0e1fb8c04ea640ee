"""An answer against a reference: the rank of its score, the verdicts nearby, and what its weakest token is worth."""

import math

import numpy as np
import pytest

from analysis.one_answer.standing import (
    BINS,
    LEAST,
    WeakToken,
    against_verdict,
    rank_in_words,
    standing,
    weak_point_share,
    weak_token,
    worth_in_words,
)
from analysis.stats import percentile_of
from benchmarks.coverage.shares import weak_point_claims
from rauq.recorded.scores import WeakPointShare, WeakPointWorth


def reference(count, *, seed=0):
    rng = np.random.default_rng(seed)
    uncertainties = rng.normal(size=count)
    return uncertainties, rng.random(count) < 1 / (1 + np.exp(2 * uncertainties))


@pytest.mark.parametrize("count", [1, 7, 499, 500, 2000])
@pytest.mark.parametrize("score", [-9.0, -0.3, 0.0, 1.2, 9.0])
def test_it_is_counted_among_all(count, score):
    uncertainties, correct = reference(count)
    found = standing(score, uncertainties, correct)
    assert found.percentile == percentile_of(uncertainties, score)
    assert sum(found.correct) == correct.sum()
    assert sum(found.correct) + sum(found.incorrect) == found.count == count
    assert len(found.edges) == BINS + 1
    assert list(found.edges) == sorted(found.edges)


def test_an_undefined_score_and_an_empty_reference_have_no_rank():
    uncertainties, correct = reference(30)
    assert standing(math.nan, uncertainties, correct) is None
    assert standing(0.0, uncertainties[:0], correct[:0]) is None


@pytest.mark.parametrize(
    ("score", "words"),
    [
        (-9, "More confident than all 1,000 answers"),
        (109, "More uncertain than all 1,000 answers"),
        (99.6, "More uncertain than over 99 % of 1,000 answers"),
        (90, "More uncertain than 90 % of 1,000 answers"),
        (10, "More confident than 90 % of 1,000 answers"),
    ],
)
def test_the_rank_is_said_by_the_larger_side(score, words):
    uncertainties = np.linspace(0, 100, 1000)
    assert rank_in_words(standing(score, uncertainties, uncertainties < 50)) == words


@pytest.mark.parametrize(
    ("score", "is_correct", "says"),
    [
        (10, True, ""),
        (10, False, "does not show"),
        (40, False, ""),
        (60, True, ""),
        (90, True, "suggests an error"),
        (90, False, ""),
    ],
)
def test_a_score_on_the_other_side_than_the_verdict_says_so(score, is_correct, says):
    uncertainties = np.arange(100.0)
    said = against_verdict(standing(score, uncertainties, uncertainties < 50), is_correct=is_correct)
    assert says in said
    assert bool(said) == bool(says)
    words = rank_in_words(standing(score, uncertainties, uncertainties < 50))
    assert ("confident" in words) == (score < 50)


def test_the_weakest_token_is_the_largest_collapse_that_shows_text():
    collapse = np.array([0.1, 9.0, 2.0, 1.0, math.nan])
    shown = np.array([True, False, True, True, True])
    assert weak_token(collapse, shown, np.array([False, True, True, False, True])) == WeakToken(True, 1 / 3)
    assert weak_token(collapse, shown, np.array([True, False, False, True, False])) == WeakToken(False, 2 / 3)


@pytest.mark.parametrize("carries", [(False, False), (True, True)])
def test_an_answer_without_a_choice_does_not_count(carries):
    assert weak_token(np.array([1.0, 2.0]), np.array([True, True]), np.array(carries)) is None
    assert weak_point_share([None] * 50) is None


def test_a_share_needs_enough_answers():
    assert weak_point_share([WeakToken(True, 0.5)] * (LEAST - 1)) is None
    found = weak_point_share([None, *[WeakToken(True, 0.5)] * LEAST])
    assert (found.count, found.share, found.chance) == (LEAST, 1, 0.5)


def test_random_draws_exceed_the_limit_in_one_of_forty_cases():
    rng = np.random.default_rng(0)
    chances = rng.uniform(0.05, 0.6, 300)
    limit = weak_point_share([WeakToken(False, chance) for chance in chances]).limit
    drawn = (rng.random((4000, 300)) < chances).mean(axis=1)
    assert 0.015 < (drawn > limit).mean() < 0.035


@pytest.mark.parametrize(("questions", "copies"), [(20, 1), (100, 1), (100, 3)])
def test_without_an_effect_a_weak_point_is_rarely_said_to_be_above_chance_or_to_differ(questions, copies):
    for lift in (0.0, 0.5):
        assert weak_point_claims(lift, questions=questions, copies=copies, simulations=200, seed=0) <= 16


def side(share, limit=0.25):
    return WeakPointShare(count=1200, share=share, chance=0.2, limit=limit, error=0.014)


def test_it_is_said_in_words_and_chance_is_not_hidden():
    worth = WeakPointWorth(incorrect=side(0.43), correct=side(0.42), marked=False)
    assert worth_in_words(worth) == (
        "In the reference, the weakest point falls on a name or number that is not in the question in 43 % of 1,200 "
        "incorrect answers (chance: 20 %) and 42 % of 1,200 correct answers (chance: 20 %). The two shares do not "
        "differ significantly."
    )
    for correct, differ in ((0.395, False), (0.385, True)):  # the limit of two shares of 1,200 answers each: 0.039
        worth = WeakPointWorth(incorrect=side(0.43), correct=side(correct), marked=False)
        assert ("do not differ" in worth_in_words(worth)) is not differ
    by_chance = WeakPointWorth(incorrect=side(0.25), correct=side(0.1), marked=True)
    assert "a token marked as the fact in 25 % of" in worth_in_words(by_chance)
    assert worth_in_words(by_chance).endswith(" Neither is above chance.")
    half = WeakPointWorth(incorrect=side(0.43), correct=side(0.1), marked=True)
    assert worth_in_words(half).endswith(" In correct answers this is not above chance.")
    one_sided = WeakPointWorth(incorrect=None, correct=side(0.42), marked=True)
    assert "incorrect" not in worth_in_words(one_sided)
    assert worth_in_words(WeakPointWorth(incorrect=None, correct=None, marked=True)) == ""


def test_the_longest_sentence_fits_a_caption():
    for correct in (0.1, 0.42):
        both = WeakPointWorth(incorrect=side(0.1), correct=side(correct), marked=False)
        assert len(worth_in_words(both).replace(" %", "%").split()) <= 45
