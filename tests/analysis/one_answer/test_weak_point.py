"""What a weak point is worth: which tokens are names and numbers, where the largest collapse falls, and chance."""

import math

import numpy as np
import pytest

from analysis.one_answer.weak_point import (
    LEAST,
    WeakToken,
    named_tokens,
    weak_point_share,
    weak_token,
    worth_in_words,
)
from rauq.recorded.scores import WeakPointShare, WeakPointWorth


@pytest.mark.parametrize(
    ("texts", "question", "named"),
    [
        (("The", " capital", " is", " Os", "lo", "."), "What is the capital of Norway?", " Oslo"),
        (("Nor", "way", "'s", " capital", " is", " Oslo"), "What is the capital of Norway?", "Norway's Oslo"),
        (("It", " was", " 19", "12", "."), "When?", " 1912"),
        (("In", " 1912", ",", " I", " think"), "What happened in 1912?", ""),
        (("Yes", ".", " The", " Hague"), "Where?", " Hague"),
        (("at", " The", " Hague"), "Where?", " The Hague"),
        (("São", " Paulo"), "Is it SAO PAULO?", ""),
        (("gold", ""), "Which metal?", ""),
    ],
)
def test_names_and_numbers_that_the_question_lacks(texts, question, named):
    found = named_tokens(texts, question)
    assert "".join(np.array(texts, dtype=object)[found]) == named


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


def side(share, limit=0.25):
    return WeakPointShare(count=1200, share=share, chance=0.2, limit=limit)


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
