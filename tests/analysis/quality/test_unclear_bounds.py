"""Figures with all unclear answers taken as correct, and as incorrect, against a direct computation."""

import numpy as np
import pytest

from analysis.quality.unclear import about_unclear, bounds_sentence, unclear_bounds

QUALITY = np.array([1.0, np.nan, 0.0, np.nan, 1.0, np.nan])
UNCLEAR = np.array([False, True, False, True, False, False])  # the last one has no quality for another reason


def test_both_bounds_are_those_of_a_direct_computation():
    found = unclear_bounds(np.nanmean, QUALITY, UNCLEAR)
    assert (found.count, found.correct, found.incorrect) == (2, 4 / 5, 2 / 5)


def test_the_given_quality_stays_as_it_is_and_other_undefined_ones_stay_undefined():
    before = QUALITY.copy()
    found = unclear_bounds(lambda quality: quality, QUALITY, UNCLEAR)
    assert np.array_equal(QUALITY, before, equal_nan=True)
    assert np.array_equal(found.correct, [1, 1, 0, 1, 1, np.nan], equal_nan=True)
    assert np.array_equal(found.incorrect, [1, 0, 0, 0, 1, np.nan], equal_nan=True)


def test_without_unclear_answers_there_is_nothing_to_say():
    assert unclear_bounds(np.nanmean, QUALITY, np.zeros(6, bool)) is None
    assert bounds_sentence("PRR", None) == about_unclear(0) == ""


@pytest.mark.parametrize(
    ("unclear", "count", "which", "values"),
    [
        (UNCLEAR, "2 unclear answers are", "all 2 unclear answers", ("0.80", "0.40")),
        (np.arange(6) == 1, "1 unclear answer is", "the unclear answer", ("0.75", "0.50")),
    ],
)
def test_bounds_are_said_with_their_number(unclear, count, which, values):
    found = unclear_bounds(np.nanmean, QUALITY, unclear)
    correct, incorrect = values
    assert about_unclear(found.count) == f"{count} not counted."
    assert bounds_sentence("Mean", found.of(lambda value: f"{value:.2f}")) == (
        f"Mean with {which} taken as correct: {correct}; taken as incorrect: {incorrect}."
    )
