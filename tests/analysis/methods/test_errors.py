"""The paper's error analysis: the ends of a ranking, how many of them are erroneous, and of what kind."""

import numpy as np
import pytest

from analysis.methods.errors import error_analysis
from analysis.quality.judgement import Thresholds
from rauq.errors import InvalidInput

UNCERTAINTY = np.array([6.0, 5, 4, 3, 2, 1, np.nan, 9])
QUALITY = np.array([0.0, 0.5, 1, 0.2, 1, 1, 0, np.nan])
LABELS = ["factual", "reasoning", "factual", "", "", "", "factual", "factual"]


def analysed(uncertainty=UNCERTAINTY, quality=QUALITY, labels=LABELS, **options):
    return error_analysis(uncertainty, quality, labels, thresholds=Thresholds(roc=0.5), **options)


def test_the_erroneous_of_both_ends_are_counted_with_their_kinds():
    found = analysed(most=3)
    assert found.highest.rows.tolist() == [0, 1, 2]
    assert found.lowest.rows.tolist() == [5, 4, 3]
    assert (found.highest.n, found.highest.erroneous, found.highest.share) == (3, 2, pytest.approx(2 / 3))
    assert found.highest.labels == (("factual", 1), ("reasoning", 1))  # a label of a correct answer is none of an error
    assert (found.lowest.erroneous, found.lowest.labels) == (1, (("", 1),))
    assert (found.all.n, found.all.erroneous, found.excluded) == (6, 3, 2)
    assert (found.drawn, found.reason) == (False, "")


def test_the_ends_never_share_an_answer():
    found = analysed(most=20)
    assert found.highest.n == found.lowest.n == 3
    assert "6 answers with" in found.reason


def test_a_seeded_draw_chooses_among_equal_uncertainties():
    level = np.array([2.0, 1, 1, 1, 1, 1, 1, 0])
    quality, labels = np.arange(8.0), [""] * 8
    first, again, other = (analysed(level, quality, labels, most=3, seed=seed) for seed in (0, 0, 1))
    assert first.drawn
    np.testing.assert_array_equal(first.highest.rows, again.highest.rows)
    assert first.highest.rows.tolist() != other.highest.rows.tolist()
    assert not analysed(level, quality, labels, most=1).drawn


def test_without_answers_there_is_no_share():
    found = analysed(np.full(3, np.nan), np.ones(3), [""] * 3)
    assert np.isnan([found.highest.share, found.lowest.share, found.all.share]).all()
    assert found.reason.startswith("0 answers")


def test_zero_answers_are_refused():
    with pytest.raises(InvalidInput, match="most is 0"):
        analysed(most=0)
