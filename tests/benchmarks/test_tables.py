"""Each benchmark ends in a record of its own name, here from a few small rounds; what it times is not the point."""

import argparse
import math
from importlib import import_module

import pytest
import torch
from transformers import AutoModelForCausalLM, LlamaConfig

from benchmarks import ablations, page, runs, sampling, scoring, shared_prefix, throughput

SMALL = {"ANSWERS": 30, "HEADS": 4, "TOKENS": 6, "ROUNDS": 2}


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def small(monkeypatch):
    def make(module, **sizes):
        for name in sizes.keys() & vars(module).keys():
            monkeypatch.setattr(module, name, sizes[name])

    return make


@pytest.fixture
def tiny(monkeypatch):
    """The benchmark shape, but small; its tokenizer keeps its 32,000 words."""
    heads = {"num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2}
    config = LlamaConfig(hidden_size=16, intermediate_size=16, vocab_size=32_000, eos_token_id=None, **heads)
    monkeypatch.setattr(throughput, "build", lambda: AutoModelForCausalLM.from_config(config).eval())


def is_whole(record, name, *, bounds):
    assert (record.id, record.command) == (name, f"python -m benchmarks.{name} --record")
    assert f"    python -m benchmarks.{name}" in import_module(f"benchmarks.{name}").__doc__
    assert record.rows
    assert record.finding
    assert len(record.bounds) == bounds
    assert all(cell > 0 for row in record.rows for cell in row if not isinstance(cell, str) and not math.isnan(cell))


def test_scoring(small):
    small(scoring, **SMALL)
    record = scoring.measure()
    is_whole(record, "scoring", bounds=5)
    assert record.bounds[-1].met


def test_other_numbers_are_found_by_scoring(small, monkeypatch):
    small(scoring, **SMALL)
    honest = scoring.at_once
    monkeypatch.setattr(scoring, "at_once", lambda answers, alphas: honest(answers, alphas) + 1e-9)
    assert not scoring.measure().bounds[-1].met


def test_ablations(small):
    small(scoring, **SMALL)
    small(ablations, ROUNDS=2, SAMPLE=5, ALPHAS=[0.2])
    record = ablations.measure()
    is_whole(record, "ablations", bounds=3)
    assert record.title.startswith("240 ")
    assert record.bounds[-1].met


def test_runs(small):
    small(runs, **SMALL)
    is_whole(runs.table(runs.look()), "runs", bounds=5)


@pytest.mark.usefixtures("tiny")
def test_sampling():
    options = argparse.Namespace(lengths=[8, 16], samples=2, new_tokens=2, pairs=1)
    record = sampling.measure(throughput.random_model(), options)
    is_whole(record, "sampling", bounds=2)
    assert [row[1] for row in record.rows] == [8, 16, 8, 16]


@pytest.mark.usefixtures("tiny")
def test_prompts_that_share_a_beginning(small, monkeypatch):
    small(shared_prefix, PAIRS=1, NEW_TOKENS=2)
    monkeypatch.setattr(shared_prefix, "capitals", shared_prefix.random_prompts)
    monkeypatch.setattr(shared_prefix, "build", throughput.build)
    monkeypatch.setattr(shared_prefix.rauq, "load_model", lambda _path: throughput.random_model())
    record = shared_prefix.measure()
    is_whole(record, "shared_prefix", bounds=2)
    assert [row[2] for row in record.rows] == ["256 of 272 to 272"] * 4


@pytest.mark.usefixtures("tiny")
def test_throughput(small):
    small(throughput, NEW_TOKENS=2, PROMPT_TOKENS=4)
    is_whole(throughput.table(throughput.on_shape(1), throughput.on_shape(1)), "throughput", bounds=3)


def test_page():
    rows = [page.Row("empty page", [0.5], math.nan), page.Row("token strip, after it", [1.2, 1.4], 1.0)]
    record = page.table(rows)
    is_whole(record, "page", bounds=1)
    assert not record.met
    assert "1.3 s" in record.finding
