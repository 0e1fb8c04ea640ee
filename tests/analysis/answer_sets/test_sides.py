"""An answer is correct, incorrect or neither, and never both."""

import numpy as np
import pytest

from analysis.answer_sets.sides import sides
from analysis.quality.judgement import Thresholds
from rauq.errors import InvalidInput


def test_thresholds_are_strict_and_nan_is_on_neither_side():
    found = sides(np.array([0.0, 0.1, 0.5, 0.9, 1.0, np.nan]), Thresholds(correct=0.9, incorrect=0.1))
    assert found.correct.tolist() == [False, False, False, False, True, False]
    assert found.incorrect.tolist() == [True, False, False, False, False, False]


def test_one_threshold_may_part_all_but_two_may_not_overlap():
    found = sides(np.array([0.2, 0.5, 0.8]), Thresholds(correct=0.5, incorrect=0.5))
    assert (found.correct | found.incorrect).tolist() == [True, False, True]
    with pytest.raises(InvalidInput, match="some would be both"):
        sides(np.zeros(2), Thresholds(correct=0.2, incorrect=0.3))
