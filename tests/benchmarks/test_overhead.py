"""What a method is charged with, one prompt at a time: its capture, its samples and its computation, and no more."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.datasets.example import DataSet, Example
from analysis.runs.answering import Evaluation
from analysis.runs.create import request_for
from analysis.runs.library import bundled_folder
from analysis.runs.opened import open_run
from analysis.runs.timings import add_timings, read_timings
from benchmarks import overhead
from benchmarks.support import paired
from rauq.methods.pair_scorers.judges import Judges
from tests.architectures import named, tiny_language_model

METHODS = ("rauq", "msp", "attention_score", "lexical_similarity", "eigen_score")
SECONDS = {
    **{("answer", None): 2.0, ("answer", ()): 2.5, ("answer", ("diagonal",)): 3.0},
    **{("samples", None): 8.0, ("samples", ("hidden",)): 9.0},
}
OWN = 0.5


@pytest.fixture(scope="module")
def evaluation():
    examples = tuple(Example(id=str(place), prompt="abcdefg"[place:]) for place in range(3))
    data = DataSet(name="letters", examples=examples, max_new_tokens=8, stop=())
    request = request_for(data, model="tiny", methods=METHODS, samples=3)
    return Evaluation(lm=tiny_language_model(named("llama")), request=request, judges=Judges())


def bench(evaluation):
    return overhead.Bench(evaluation=evaluation, example=Example(id="0", prompt="abcdefg"))


@pytest.fixture
def clock(monkeypatch):
    """Every way takes the time that is listed above, and the computation of each method half a second."""
    ran = []

    def seconds(run):
        assert run() is not None
        ran.append(run.args[0])
        return paired.Spent(SECONDS.get(run.args[0], OWN) if run.func.__name__ == "run" else OWN, 0.0)

    monkeypatch.setattr(paired, "spent", seconds)
    return ran


def test_plain_generation_gives_the_same_tokens_and_captures_nothing(evaluation):
    one = bench(evaluation)
    for what in ("answer", "samples"):
        plain, captured = one.run((what, None)), one.run((what, ()))
        assert [trace.answer_ids.tolist() for trace in plain] == [trace.answer_ids.tolist() for trace in captured]
        for without, there in zip(plain, captured, strict=True):
            np.testing.assert_allclose(without.logprobs, there.logprobs, atol=1e-5)
            assert not np.nan_to_num(without.attention).any()
            assert np.nan_to_num(there.attention).any()


@pytest.mark.parametrize("turn", [0, 1])
def test_each_method_is_charged_with_what_it_needs_as_if_it_were_alone(evaluation, clock, turn):
    found = bench(evaluation).seconds(turn)
    assert found == {
        "": 2.0,
        "rauq": 2.5 + OWN,
        "msp": 2.0 + OWN,
        "attention_score": 3.0 + OWN,
        "lexical_similarity": 2.0 + 8.0 + OWN,
        "eigen_score": 2.0 + 9.0 + OWN,
    }
    ways = [way for way in clock if isinstance(way, tuple) and way in SECONDS]
    assert ways == (list(SECONDS)[::-1] if turn else list(SECONDS))


@pytest.mark.usefixtures("clock")
def test_the_record_says_what_is_charged_and_the_run_keeps_it(evaluation, tmp_path):
    examples = [Example(id=str(place), prompt="abcdefg"[place:]) for place in range(3)]
    taken = overhead._in_turn(evaluation, examples)
    run = open_run(bundled_folder())
    here = replace(run, manifest=replace(run.manifest, request=evaluation.request))
    record = overhead._record(here, taken)
    rows = {row[0]: row[1:] for row in record.rows}
    assert rows["RAUQ"][:5] == ("the answer with attention captured, its own computation", 50.0, 50.0, 50.0, 3)
    assert rows["MSP"][:2] == ("its own computation", 25.0)
    assert rows["EigenScore"][0] == "3 samples with hidden captured, its own computation"
    assert "RAUQ adds 50.0 % to the time of an answer" in record.finding
    assert "425 %" not in record.finding
    assert all(bound.met for bound in record.bounds)
    assert not any("shared with other programs" in note for note in record.notes)
    add_timings(tmp_path, None, overhead._timings(taken))
    kept = {timing.method: timing for timing in read_timings(tmp_path)}
    assert {timing.stage for timing in kept.values()} == {"alone"}
    assert (kept["rauq"].examples, kept["rauq"].seconds, kept["rauq"].ratios) == (3, 9.0, (1.5, 1.5, 1.5))
    assert (kept[""].seconds, kept[""].ratios) == (6.0, ())


def test_a_wide_interval_says_that_the_machine_was_shared():
    notes = overhead._notes({"rauq": overhead.Ratio(1.03, 1.0, 1.2, 15), "luq": overhead.Ratio(3, 1, 9, 15)})
    assert notes[-1].startswith("The machine was shared with other programs: the widest interval")
    assert "20 % of plain generation" in notes[-1]
