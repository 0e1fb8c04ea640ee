"""Each measurement returns a record of its own name, here from a few small rounds; its times do not matter."""

import math
from functools import partial

import pytest
import torch

from analysis.detectors.supervised.training import SUPERVISED
from analysis.paper import PAPER_ROWS
from benchmarks import ablations, fitting, page, real_speed, runs, sampling, scoring, shared_prefix, throughput
from benchmarks.support.random_model import Shape, build, wrapped
from benchmarks.support.random_trace import random_trace

SMALL = {"ANSWERS": 30, "HEADS": 4, "TOKENS": 6, "ROUNDS": 2}
TINY = Shape(hidden=16, inner=16, layers=3, heads=4, key_heads=2)


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
    """The random model, but small; its tokenizer keeps its 32,000 words."""
    for module in (sampling, throughput):
        monkeypatch.setattr(module, "build", lambda: build(TINY))


def is_whole(record, name, *, bounds):
    assert (record.id, record.command) == (name, f"python -m benchmarks {name} --record")
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
    honest = scoring._at_once
    monkeypatch.setattr(scoring, "_at_once", lambda answers, alphas: honest(answers, alphas) + 1e-9)
    assert not scoring.measure().bounds[-1].met


def test_ablations(small):
    small(scoring, **SMALL)
    small(ablations, ROUNDS=2, SAMPLE=5, ALPHAS=[0.2])
    record = ablations.measure()
    is_whole(record, "ablations", bounds=3)
    assert record.title.startswith("240 ")
    assert record.bounds[-1].met


def test_runs(small, monkeypatch):
    small(runs, **SMALL)
    monkeypatch.setattr(runs, "random_trace", partial(random_trace, num_heads=runs.HEADS))
    monkeypatch.setattr(runs, "apart", lambda run, folder: run(folder))
    is_whole(runs.measure(), "runs", bounds=5)


@pytest.mark.usefixtures("tiny")
def test_sampling(small):
    small(sampling, LENGTHS=(8, 16), SAMPLES=2, NEW_TOKENS=2, PAIRS=1)
    record = sampling.measure()
    is_whole(record, "sampling", bounds=2)
    assert [row[1] for row in record.rows] == [8, 16, 8, 16]


@pytest.fixture
def shared(small, monkeypatch, tiny):
    """The measurement of shared beginnings, on random models and prompts."""
    small(shared_prefix, PAIRS=1, NEW_TOKENS=2)
    monkeypatch.setattr(shared_prefix, "capitals", shared_prefix.random_prompts)
    monkeypatch.setattr(shared_prefix, "build", throughput.build)
    monkeypatch.setattr(shared_prefix.rauq, "load_model", lambda _name: wrapped(throughput.build()))
    return tiny


@pytest.mark.usefixtures("shared")
def test_prompts_that_share_a_beginning(monkeypatch, tmp_path):
    monkeypatch.setattr(shared_prefix, "ENVIRONMENT", tmp_path / "none")
    record = shared_prefix.measure()
    is_whole(record, "shared_prefix", bounds=2)
    assert [row[2] for row in record.rows] == ["256 of 272 to 272"] * 4
    assert all(map(math.isnan, record.column("lm-polygraph, CPU s")))
    assert "lm-polygraph" not in record.finding


@pytest.mark.usefixtures("shared")
def test_lm_polygraph_is_asked_for_the_same_prompts_in_the_same_batches(monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(shared_prefix, "ENVIRONMENT", tmp_path)
    monkeypatch.setattr(shared_prefix, "with_versions", lambda record, _packages: record)
    monkeypatch.setattr(shared_prefix, "ask", lambda request: asked.append(request) or [(5.0, 6.0)])
    record = shared_prefix.measure()
    assert record.column("lm-polygraph, CPU s")[::2] == (5.0, 5.0)
    assert math.isnan(record.column("lm-polygraph, CPU s")[1])
    ratios = " and ".join(f"{5.0 / row[4]:.1f}" for row in record.rows[::2])
    assert f"lm-polygraph takes {ratios} times that of this project" in record.finding
    assert {(len(request.prompts), request.batch_size, request.what) for request in asked} == {(16, 8, "batches")}
    assert asked[0].prompts[0].count(" ") == 271


@pytest.mark.usefixtures("tiny")
def test_throughput(small):
    small(throughput, NEW_TOKENS=2, PROMPT_TOKENS=4, PAIRS=1)
    is_whole(throughput._record(throughput._on_shape(), throughput._on_shape()), "throughput", bounds=3)


def test_the_speed_of_a_real_model_has_bounds_for_ways_that_give_the_same_answers_only():
    def found(batch, *answers):
        speeds = real_speed.Speeds(load=3.0, first=0.1, single=20.0, batch=batch, samples=40.0)
        return real_speed.Found(speeds, answers, (-2.0, -1.5))

    used, other = ((1, 2), (3,)), ((1, 2), (4,))
    ways = {
        ("float32", 2): [found(50.0, *used)] * 3,
        ("float32", 1): [found(70.0, *used)] * 3,
        ("bfloat16", 1): [found(90.0, *other)] * 3,
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(real_speed, "QUESTIONS", ("a", "b"))
        record = real_speed._record(ways, ("float32", 2))
    is_whole(record, "real_speed", bounds=1)
    assert not record.met  # one thread is faster, and gives the same
    assert record.column("same answers") == (2, 2, 1)
    assert "bfloat16, 1 thread: 1 of 2 answers are the same; their uncertainties differ by up to 0.000." in record.notes


def test_fitting(small):
    small(fitting, ANSWERS=20, TOKENS=3, LAYERS=2, HEADS=2, WIDTH=8, MOST_MINUTES={"lookback_lens": 0, "mind": 60})
    record = fitting.measure()
    is_whole(record, "fitting", bounds=2)
    assert [bound.met for bound in record.bounds] == [False, True]
    assert record.column("method") == ("LookBackLens", "MIND")


def test_the_seven_methods_of_the_paper_are_fitted_and_the_answers_suit_them():
    assert set(fitting.MOST_MINUTES) == set(SUPERVISED) & set(PAPER_ROWS)
    for method in fitting.MOST_MINUTES:
        row = SUPERVISED[method]
        low, high = (row.features(fitting.answer(0, row.extras, shift=shift)) for shift in (0.0, 0.5))
        assert low.shape == high.shape
        assert (low != high).any()
        assert all(map(math.isfinite, low.ravel()[:: low.size // 99].tolist()))


def test_page():
    rows = [page.Row("empty page", [0.5], math.nan), page.Row("token strip, after it", [1.2, 1.4], 1.0)]
    record = page._record(rows)
    is_whole(record, "page", bounds=1)
    assert not record.met
    assert "1.3 s" in record.finding
