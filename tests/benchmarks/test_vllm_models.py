"""The records of agreement with vLLM add up what each comparison found, and random models attend unevenly."""

from dataclasses import replace

import pytest

from benchmarks.vllm.agreement import COLUMNS, bounds_of, compared, of_all
from benchmarks.vllm.models import RANDOM, random_model, record_of
from rauq import load_model

ROWS = [("a", 1e-5, 1e-4, 2e-4, 3e-6, 10, 11), ("b", 2e-5, 0, 0, 0, 11, 11)]


def test_the_largest_difference_of_each_kind_and_all_heads_are_kept():
    found = of_all(ROWS)
    assert found == (2e-5, 1e-4, 2e-4, 3e-6, 21, 22)
    assert [bound.met for bound in bounds_of(found)] == [True, True, True, True, False]
    assert "21 of 22 selected heads" in record_of([("m", "window", "9 to 10", 2, 48, *row[1:]) for row in ROWS]).finding
    assert COLUMNS[-6:] == ("attention", "log-probability", "entropy", "RAUQ", "heads equal", "of")


@pytest.fixture(scope="module")
def atlas():
    return load_model("atlas", device="cpu")


@pytest.mark.parametrize("one", RANDOM, ids=lambda one: one.model_type)
def test_a_random_model_attends_unevenly(atlas, one):
    lm = random_model(one, atlas)
    trace = lm.generate([5, 9, 3, 8], max_new_tokens=8, stop=())
    assert trace.attention[:, :, :-1, 0].std() > 0.05  # of weights that would all be about a tenth


def test_scores_are_compared_under_the_same_settings(atlas):
    trace = atlas.generate([5, 9, 3, 8], max_new_tokens=8, stop=())
    assert compared(atlas, [replace(trace, kind="instruct")]).score < 1e-5  # of this kind, entropy is the default
