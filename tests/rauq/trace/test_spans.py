import numpy as np
import pytest

from rauq.trace.parts import tokens_in

TOKENS = ("In", " Os", "", "lo", ".")  # characters 0-2, 2-5, none, 5-7, 7-8


@pytest.mark.parametrize(
    ("spans", "inside"),
    [
        ([], []),
        ([(3, 7)], [1, 2, 3]),
        ([(0, 2)], [0]),
        ([(2, 3), (7, 8)], [1, 4]),
        ([(0, 8)], [0, 1, 2, 3, 4]),
        ([(5, 5)], []),
        ([(8, 20)], []),
    ],
)
def test_a_token_is_in_a_span_that_it_shares_a_character_with(spans, inside):
    assert np.flatnonzero(tokens_in(TOKENS, spans)).tolist() == inside


def test_no_token_is_in_no_span():
    assert tokens_in((), [(0, 3)]).shape == (0,)
