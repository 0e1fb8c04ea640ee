"""A run by llama.cpp is a run like any other: stopped and resumed it has the same bytes, and it keeps to its engine."""

from dataclasses import replace

import pytest

from analysis.datasets.example import DataSet, Example
from analysis.runs.create import prepare, request_for
from analysis.runs.manifest import is_of_run, read_manifest, write_manifest
from analysis.runs.opened import open_run
from analysis.runs.traces import trace
from analysis.runs.work import work
from rauq.checkpoints.gguf import engines
from rauq.errors import InvalidInput, RunError
from tests.gguf_files import MERGED, save_gguf


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("engine")
    save_gguf(folder / "tiny.gguf", entries=MERGED)
    asked = tuple(
        Example(id=f"a{place}", prompt="Where is Oslo? " * (1 + place % 3) + str(place)) for place in range(8)
    )
    data = DataSet(name="tiny set", examples=asked, max_new_tokens=4, stop=())
    how = {"engine": "llama.cpp", "batch_size": 2, "shard_size": 4, "samples": 2, "methods": ("rauq", "degmat_jaccard")}

    def make(name, **options):
        request = request_for(data, model=str(folder / "tiny.gguf"), **(how | options))
        prepare(folder / name, data, request)
        return folder / name

    return make


def contents(folder):
    return {
        path.name: path.read_bytes() for path in folder.iterdir() if is_of_run(path.name) and path.suffix != ".json"
    }


class StopsAfter:
    """Cancelled once so many answers are saved."""

    def __init__(self, count):
        self.count, self.saved = count, 0

    def told(self, status):
        self.saved = status.saved

    def is_set(self):
        return self.saved >= self.count


def test_a_stopped_run_is_resumed_with_the_same_bytes_and_by_the_same_engine_alone(prepared):
    whole, stopped = prepared("whole"), prepared("stopped")
    work(whole)
    stop = StopsAfter(4)
    assert work(stopped, on_progress=stop.told, cancel=stop).state == "stopped"
    kept = read_manifest(stopped)
    assert kept.answerer.engine.startswith("llama.cpp (xllamacpp ")

    write_manifest(stopped, replace(kept, answerer=replace(kept.answerer, engine="llama.cpp (xllamacpp 1)")))
    with pytest.raises(RunError, match="engine"):
        work(stopped)
    write_manifest(stopped, kept)
    assert work(stopped).state == "finished"
    assert contents(stopped) == contents(whole)
    assert trace(open_run(whole), 0).engine == kept.answerer.engine


def test_a_run_keeps_to_the_engine_that_it_was_started_with(prepared, monkeypatch):
    folder = prepared("usual", engine=None)
    stop = StopsAfter(4)
    assert work(folder, on_progress=stop.told, cancel=stop).state == "stopped"
    monkeypatch.setattr(engines, "SMALL", 0)  # from now on, llama.cpp is the usual engine of this file
    assert work(folder).state == "finished"
    assert trace(open_run(folder), 0).engine == "transformers"


def test_what_the_engine_does_not_capture_is_refused_by_name_before_anything_is_loaded(prepared):
    with pytest.raises(InvalidInput, match=r"hidden_layers cannot be kept.*llama.cpp.*engine transformers"):
        prepared("hidden", keep=("mean_logprob", "hidden_layers"))


def test_by_default_a_run_has_the_engine_that_gives_what_it_keeps(prepared, monkeypatch):
    monkeypatch.setattr(engines, "SMALL", 0)
    kept = prepared("kept", engine=None, keep=("hidden",), methods=("rauq",))
    logits = prepared("logits", engine=None, keep=("mean_logprob",), methods=("rauq",))
    for folder, name in ((kept, "transformers"), (logits, "llama.cpp (")):
        assert work(folder).state == "finished"
        assert trace(open_run(folder), 0).engine.startswith(name)
