"""What capture costs: the parts of an answer add up, growth is linear or quadratic, tables fit their columns."""

import math

import numpy as np
import pytest
import torch

from benchmarks import capture, gpu, growth, memory, parts
from benchmarks.support import random_model
from benchmarks.support.paired import Ratio
from rauq.errors import InvalidInput
from tests.architectures import named, seeded_prompts, tiny_language_model

SURE, MISSED = Ratio(1.01, 1.0, 1.02, 15), Ratio(1.05, 1.04, 1.06, 15)
TINY = random_model.Shape(hidden=64, inner=64, layers=2, heads=8, key_heads=8, vocabulary=64)


@pytest.fixture(scope="module")
def llama():
    return tiny_language_model(named("llama"))


def test_the_timed_parts_generate_the_same_answer(llama, monkeypatch):
    [prompt], scored = seeded_prompts(30), []
    monkeypatch.setattr(parts, "score", scored.append)
    found = parts.parts(llama, prompt, new_tokens=5)
    trace = llama.generate(prompt, max_new_tokens=5, stop=())
    assert scored[0].answer_tokens == trace.answer_tokens
    np.testing.assert_array_equal(scored[0].attention, trace.attention)
    np.testing.assert_array_equal(scored[0].logprobs, trace.logprobs)
    assert all(seconds > 0 for seconds in found)
    assert found.added == pytest.approx(sum(found) - found.steps)


@pytest.mark.parametrize("power", [1, 2])
def test_the_exponent_of_a_cost_is_found_and_a_square_is_no_line(power):
    lengths, random = [512, 1024, 2048, 4096, 8192], np.random.default_rng(0)
    seconds = np.array(lengths)[:, None] ** power * random.uniform(0.9, 1.1, size=(5, 7))
    found = growth._exponent(lengths, seconds)
    assert found.low <= power + 0.01
    assert found.high >= power - 0.01
    assert found.median == pytest.approx(power, abs=0.05)
    parts_ = np.ones((7, 5, 4))
    parts_[:, :, 2] = seconds.T / seconds.max()
    record = growth._record(lengths, parts_)
    assert [bound.met for bound in record.bounds] == [power == 1, True]


@pytest.mark.parametrize(
    ("cpu", "recorder", "met"),
    [(SURE, SURE, [True, True]), (MISSED, SURE, [False, True]), (SURE, MISSED, [True, False])],
)
def test_every_length_has_its_bounds(cpu, recorder, met):
    record = capture._record([capture.Cost(512, 1.5, cpu, SURE, recorder)])
    assert [bound.met for bound in record.bounds] == met
    assert f"{cpu.median:.3f} times" in record.finding


@pytest.mark.parametrize(("extra", "met"), [(48.0, True), (48.5, False)])
def test_memory_is_held_to_its_bound_at_every_length(extra, met):
    plain = (90.0, 100.0, 300.0)
    record = memory._record(
        [memory.Peaks(32, plain, (101.0, 95.0, 99.0)), memory.Peaks(512, plain, (50.0, 100.0 + extra, 900.0))]
    )
    assert [bound.met for bound in record.bounds] == [True, met]
    assert dict(zip(record.columns, record.rows[1], strict=True))["extra MiB"] == extra


def test_a_process_reports_its_peak():
    assert 0 <= memory._peak(random_model.ours, 8) < 100


def test_capture_is_measured_in_pairs_at_every_length(llama, monkeypatch):
    for name, size in {"LENGTHS": (8, 16), "SECONDS": 0, "STEP_PAIRS": 2}.items():
        monkeypatch.setattr(capture, name, size)
    monkeypatch.setattr(capture, "wrapped", lambda _model: llama)
    monkeypatch.setattr(capture, "prompt_of", lambda length: seeded_prompts(length)[0])
    monkeypatch.setattr(capture, "build", lambda: None)
    record = capture.measure()
    columns = dict(zip(record.columns, zip(*record.rows, strict=True), strict=True))
    assert columns["prompt tokens"] == (8, 16)
    assert columns["pairs"] == (capture.LEAST_PAIRS,) * 2
    assert min(*columns["plain CPU s"], *columns["CPU ratio"], *columns["wall ratio"]) > 0


def test_the_gpu_benchmark_runs_on_a_cpu_but_for_its_memory(monkeypatch):
    for name, size in {"NEW_TOKENS": 4, "ROUNDS": 2, "STEP_PAIRS": 3}.items():
        monkeypatch.setattr(gpu, name, size)
    lm = random_model.wrapped(random_model.build(TINY, dtype=torch.bfloat16))
    found = gpu._share(lm, "tiny", 16)
    assert lm.dtype == "bfloat16"
    assert found.added.median > 0
    assert math.isnan(found.ours_mib)
    assert gpu._record([found], "none").bounds == ()


def test_percent_adds_recorder_and_parts():
    found = gpu._percent(Ratio(1.001, 1.0, 1.002, 9), [parts.Parts(10.0, 0.01, 0.005, 0.005)])
    assert found == Ratio(pytest.approx(0.3), pytest.approx(0.2), pytest.approx(0.4), 1)


def test_without_a_gpu_it_says_so(monkeypatch):
    monkeypatch.setattr(gpu.torch.cuda, "is_available", lambda: False)
    with pytest.raises(InvalidInput, match="no GPU"):
        gpu.measure()
