"""The disk space of a run is predicted before it starts, and is about the size of its files."""

import pytest

from analysis.runs.files.shards import bytes_per_answer
from analysis.runs.manifest import traces_path
from rauq.trace.extras import EXTRAS
from tests.analysis.report.made_run import HEADS, LAYERS, made_run

COUNT = 20


@pytest.mark.parametrize(("length", "facts"), [(2, True), (40, True), (40, False)])
def test_the_arrays_have_the_predicted_size(length, facts, tmp_path):
    run = made_run(tmp_path / "run", quality=[1.0] * COUNT, lengths=[length] * COUNT, facts=facts)
    told = COUNT * bytes_per_answer(length, num_layers=LAYERS, num_heads=HEADS, stored_layers="middle")
    table = 160 * length * COUNT
    absent = 0 if facts else COUNT * 2 * 6 * LAYERS * HEADS * 2  # means over the tokens that state a fact
    assert traces_path(run.folder, 0).stat().st_size == pytest.approx(told - table - absent, abs=2000)  # the header


def test_the_shape_of_a_large_model():
    size = {"num_layers": 32, "num_heads": 32}
    middle = bytes_per_answer(60, **size, stored_layers="middle")
    assert middle == 2 * 13 * 32 * 61 * 2 + 2 * 2 * 6 * 32 * 32 * 2 + 2 * 32 * 2 + 60 * 168
    every = bytes_per_answer(60, **size, stored_layers="all")
    assert every - middle == 2 * (32 - 13) * 32 * 61 * 2
    ten = bytes_per_answer(60, **size, stored_layers="middle", offsets=10)
    assert ten - middle == (10 - 2) * 13 * 32 * 61 * 2


@pytest.mark.parametrize("extra", EXTRAS)
def test_every_extra_that_can_be_kept_takes_room(extra):
    sizes = {"num_layers": 32, "num_heads": 32, "stored_layers": "middle", "hidden_size": 4096, "prompt_tokens": 100}
    kept = bytes_per_answer(60, **sizes, keep=(extra,)) - bytes_per_answer(60, **sizes)
    assert kept > 0
    if extra == "hidden_layers":
        assert kept == 33 * 60 * 4096 * 2
