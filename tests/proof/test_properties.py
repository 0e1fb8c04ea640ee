"""The laws hold, on fewer examples than `make proof` draws; and a law that does not is found out."""

import pytest
from hypothesis import given
from hypothesis.strategies import integers

from tests.proof.properties import LAWS, Law, prove


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.test.__name__)
def test_the_law_holds(law):
    assert prove(law, count=20) == ""


@given(integers())
def always_small(number):
    assert number < 5


def test_a_law_that_does_not_hold_is_broken_by_an_example():
    broken = prove(Law("every number is small", always_small), count=200)
    assert broken.startswith("AssertionError")
    assert "number=5," in broken  # the smallest that breaks it
