"""Malformed inputs are accepted or refused with an error; and the fuzzing itself detects faults."""

import json
import warnings

import pytest

from rauq.errors import InvalidInput
from tests.robustness import fuzz as fuzzing
from tests.robustness.fuzz import SURFACES, fuzz, fuzz_surface
from tests.robustness.malformed import Surface, input_of, mutated_bytes, mutated_json, mutated_text

COUNT = 50


@pytest.mark.parametrize("make", SURFACES, ids=lambda make: make.__name__)
def test_malformed_inputs_cause_no_unhandled_exception(make):
    found = fuzz(make, count=COUNT)
    assert not found.faults, "\n".join(found.faults)
    assert found.accepted > 0


def surface(target, mutate=lambda seed, rng: (seed, rng.random())):
    return Surface(name="numbers", seeds=range(3), mutate=mutate, target=target)


def test_each_outcome_is_counted():
    def target(given):
        if given[0] == 1:
            message = "no 1"
            raise InvalidInput(message)
        if given[0] == 2:
            raise KeyError(given)

    found = fuzz_surface(surface(target), count=90, seed=0)
    assert found.inputs == found.accepted + found.refused + len(found.faults) == 90
    assert min(found.accepted, found.refused, len(found.faults)) > 15
    for fault in found.faults:
        number = int(fault.removeprefix("input ").partition(":")[0])
        assert f"KeyError: {input_of(surface(target), number, seed=0)}" in fault


def test_a_warning_and_a_slow_input_are_faults(monkeypatch):
    def warn(_given):
        warnings.warn("look", UserWarning, stacklevel=1)

    assert "UserWarning: look" in fuzz_surface(surface(warn), count=1, seed=0).faults[0]
    monkeypatch.setattr(fuzzing, "SLOW", 0.0)
    assert "it took" in fuzz_surface(surface(lambda _given: sum(range(1000))), count=1, seed=0).faults[0]


@pytest.mark.parametrize(
    ("mutate", "seed"),
    [
        (mutated_bytes, b"some bytes, in a row"),
        (mutated_text, "some text"),
        (mutated_json, {"a": [1, {"b": "c"}], "d": None}),
    ],
    ids=["bytes", "text", "json"],
)
def test_malformed_inputs_differ_from_the_valid_ones_which_stay_unchanged(mutate, seed):
    before = repr(seed)
    made = [input_of(surface(None, mutate=lambda _number, rng: mutate(seed, rng)), n, seed=0) for n in range(300)]
    assert repr(seed) == before
    assert len({repr(one) for one in made}) > 100
    if isinstance(seed, dict):
        json.dumps(made)
