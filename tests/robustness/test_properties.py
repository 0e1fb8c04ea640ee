"""The laws hold, on fewer examples than `make robustness` draws; and a law that does not is found out."""

import pytest

from tests.robustness.properties import LAWS, Law, prove
from tests.robustness.properties_drawn import given_answers, scored_answers


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.test.__name__)
def test_the_law_holds(law):
    assert prove(law, count=20) == ""


@given_answers(scored_answers())
def always_defined(_trace, scored):
    assert scored.uncertainty == scored.uncertainty


def test_a_law_that_does_not_hold_is_broken_by_an_example():
    broken = prove(Law("every score is a number", always_defined), count=200)
    assert broken.startswith("AssertionError")
    assert "Score(uncertainty=nan" in broken
