"""The laws hold, on fewer examples than `make robustness` draws; and a false one is refuted."""

import pytest
from hypothesis import given

from tests.robustness.properties import LAWS, counterexample, scored_traces


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_the_law_holds(law):
    assert counterexample(law, count=20) == ""


@given(scored_traces())
def always_defined(drawn):
    """Every score is a number"""
    _, scored = drawn
    assert scored.uncertainty == scored.uncertainty


def test_a_false_law_is_refuted_by_an_example():
    broken = counterexample(always_defined, count=200)
    assert broken.startswith("AssertionError")
    assert "Score(uncertainty=nan" in broken
