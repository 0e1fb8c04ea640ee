"""The colour of a token: by RAUQ the share of confidence that is lost; the legend has the colours of its values."""

import numpy as np
import pytest

from analysis.one_answer.colours import COLOURINGS


@pytest.mark.parametrize(("collapse", "expected"), [(np.nan, 0), (-1.0, 0), (0.0, 0), (np.log(2), 0.5), (np.inf, 1)])
def test_level_is_the_share_of_confidence_that_is_lost(collapse, expected):
    assert COLOURINGS["rauq"].level(collapse) == pytest.approx(expected)


def test_the_same_colours_stand_for_three_times_as_many_nats_of_surprisal():
    collapse, surprisal = COLOURINGS["rauq"], COLOURINGS["surprisal"]
    assert [level for _, level in surprisal.swatches] == pytest.approx([level for _, level in collapse.swatches])
    assert [value for value, _ in surprisal.swatches] == [0, 0.75, 2.25, 4.5, 9]
    assert all(level == surprisal.level(value) for value, level in surprisal.swatches)
