"""What a trace says of attributions: checked, kept in its file, and put into words."""

import dataclasses
import math

import numpy as np
import pytest

from rauq.errors import InvalidInput, TraceFileError
from rauq.trace.attribution import Attribution, about_attribution
from rauq.trace.parts import part_of
from rauq.trace.trace import Trace
from tests.rauq.trace.test_trace_file import rewritten
from tests.traces import as_lig, make_trace

HOW = Attribution(steps=2, side="input", positive=True, median_error=0.01, max_error=0.2)


def lig_trace(**changes):
    return dataclasses.replace(as_lig(make_trace()), **({"attribution": HOW} | changes))


@pytest.mark.parametrize("how", [HOW, Attribution(steps=1)])
def test_the_file_keeps_it(tmp_path, how):
    lig_trace(attribution=how).save(tmp_path / "one")
    again = Trace.load(tmp_path / "one").attribution
    assert again.method == how.method
    np.testing.assert_equal(again.errors, how.errors)


def test_a_file_without_it_has_attention(tmp_path):
    make_trace().save(tmp_path / "old")
    rewritten(tmp_path / "old", without=("attribution",))
    assert Trace.load(tmp_path / "old").attribution is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"steps": 0},
        {"steps": 10**9},
        {"steps": True},
        {"side": "left"},
        {"positive": 1},
        {"max_error": -1.0},
        {"max_error": 0.001},
        {"median_error": math.nan},
        {"max_error": "0"},
        {"more": 1},
    ],
)
def test_a_damaged_one_is_refused(tmp_path, wrong):
    lig_trace().save(tmp_path / "bad")
    rewritten(tmp_path / "bad", attribution=vars(HOW) | wrong)
    with pytest.raises(TraceFileError, match="is damaged"):
        Trace.load(tmp_path / "bad")


@pytest.mark.parametrize("wrong", [[], "lig", 2])
def test_another_type_is_refused(tmp_path, wrong):
    lig_trace().save(tmp_path / "bad")
    rewritten(tmp_path / "bad", attribution=wrong)
    with pytest.raises(TraceFileError, match="is damaged"):
        Trace.load(tmp_path / "bad")
    with pytest.raises(InvalidInput, match="attribution is"):
        lig_trace(attribution=wrong or (1,))


def test_a_part_of_an_answer_keeps_it():
    assert part_of(lig_trace(thinking=(0, 1)), "answer").attribution == HOW


def test_it_is_said_with_its_errors_and_what_to_do():
    assert about_attribution(None, "float32") == ""
    assert about_attribution(Attribution(steps=1), "") == (
        "The weights are LIG attributions, not attention (1 step, output of the output projection)."
    )
    assert about_attribution(HOW, "float32") == (
        "The weights are LIG attributions, not attention (2 steps, input of the output projection, positive part). "
        "Completeness error: median 0.0100, largest 0.2000 nats, above 0.05: attribute the answer again with more "
        "steps."
    )
    fine = about_attribution(dataclasses.replace(HOW, max_error=0.05), "bfloat16")
    assert fine.endswith("largest 0.0500 nats.")
    assert about_attribution(HOW, "bfloat16").endswith(
        "above 0.05: rounding in bfloat16 alone leaves about 0.1, so attribute the answer again in float32."
    )
