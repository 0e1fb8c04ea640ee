from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from benchmarks import engine_shapes, engine_speed, engines
from benchmarks.engines import Read, compared
from benchmarks.support.random_model import Shape
from rauq.model.loading import load_model


def read(seed, *, moved=0.0):
    rng = np.random.default_rng(seed)
    return Read(rng.normal(size=(20, 3)) + moved, rng.integers(0, 4, (20, 5)), rng.uniform(size=(6, 4)))


def test_a_reading_beside_itself_is_equal_and_another_is_not():
    assert compared(read(0), read(0))[:4] == (1.0, 1.0, 1.0, 0.0)
    assert compared(read(0), read(0))[5:] == (100, 100, 0.0)
    assert compared(read(0, moved=0.5), read(0))[3] == pytest.approx(0.5)
    rows = [("made-up", 20, "llama.cpp", *compared(read(0), read(1)))]
    assert rows[0][3] < 0.6
    assert "selected heads equal (n = 20)" in engines.record_of(rows).finding


def test_each_way_is_compared_with_llama_cpp_alone():
    ways = {way: place for place, way in enumerate(engine_speed._WAYS)}
    rates = {way: 30.0 if way == engine_speed.ALONE else 20.0 + place for way, place in ways.items()}
    found = {(way, 1): [engine_speed.Speed(rate, 0.1, 200.0)] * 3 for way, rate in rates.items()}
    made = engine_speed._record(found)
    assert [bound.met for bound in made.bounds] == [False, False, True, True]
    assert "smollm2 answers by llama.cpp at 20 tokens/s on 1 thread" in made.finding


def test_a_file_of_random_weights_is_answered(tmp_path, store_with_smollm2, monkeypatch):
    monkeypatch.setenv("RAUQ_CACHE", str(store_with_smollm2))
    file = tmp_path / "small.gguf"
    engine_shapes.write(file, Shape(hidden=64, inner=128, layers=2, heads=4, key_heads=2, vocabulary=49_200))
    lm = load_model(file, engine="llama.cpp", kind="instruct")
    assert (lm.vocab_size, lm.quantisation) == (49_200, "Q4_0")
    found = engine_shapes.answered(str(file), engine_shapes.loaded(str(file)), engine_shapes.loaded_alone(str(file)))
    assert min(found) > 0
    in_this_process = lambda number, mp_context: ThreadPoolExecutor(number)  # noqa: E731
    monkeypatch.setattr(engine_shapes, "ProcessPoolExecutor", in_this_process)
    of_alone = engine_shapes.compared(str(file), rounds=2)
    assert 0 < of_alone.low <= of_alone.high
    shape = engine_shapes.Measured(name="small", gigabytes=0.1, found=found, share=0.5, of_alone=of_alone)
    record = engine_shapes.record_of([shape])
    assert len(record.rows[0]) == len(record.columns)
    assert record.bounds[0].met in ((True,) if of_alone.median >= 0.95 else (False, None))
