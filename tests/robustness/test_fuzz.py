"""What comes from a stranger is taken or refused; and the fuzzing itself finds what there is to find."""

import json
import warnings

import pytest

from rauq.errors import InvalidInput
from tests.robustness import fuzz_engine
from tests.robustness.fuzz import SURFACES, fuzz
from tests.robustness.fuzz_engine import Surface, fuzz_surface, input_of
from tests.robustness.fuzz_mutators import spoilt_bytes, spoilt_json, spoilt_text

COUNT = 200


@pytest.mark.parametrize("make", SURFACES, ids=lambda make: make.__name__)
def test_nothing_but_our_own_errors_comes_out(make):
    found = fuzz(make, count=COUNT)
    assert not found.faults, "\n".join(f"input {fault.number}:\n{fault.said}" for fault in found.faults)
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
    assert found.inputs == 90
    assert min(found.accepted, found.refused, len(found.faults)) > 15
    assert all("KeyError" in fault.said for fault in found.faults)
    again = input_of(surface(target), found.faults[0].number, seed=0)
    assert str(again) in found.faults[0].said


def test_a_warning_and_a_slow_input_are_faults(monkeypatch):
    def warn(_given):
        warnings.warn("look", UserWarning, stacklevel=1)

    assert "UserWarning: look" in fuzz_surface(surface(warn), count=1, seed=0).faults[0].said
    monkeypatch.setattr(fuzz_engine, "SLOW", 0.0)
    assert "it took" in fuzz_surface(surface(lambda _given: sum(range(1000))), count=1, seed=0).faults[0].said


@pytest.mark.parametrize(
    ("mutate", "seed"),
    [
        (spoilt_bytes, b"some bytes, in a row"),
        (spoilt_text, "some text"),
        (spoilt_json, {"a": [1, {"b": "c"}], "d": None}),
    ],
    ids=["bytes", "text", "json"],
)
def test_what_is_spoilt_differs_and_leaves_the_seed_as_it_was(mutate, seed):
    before = repr(seed)
    made = [input_of(surface(None, mutate=lambda _number, rng: mutate(seed, rng)), n, seed=0) for n in range(300)]
    assert repr(seed) == before
    assert len({repr(one) for one in made}) > 100
    if isinstance(seed, dict):
        json.dumps(made)
