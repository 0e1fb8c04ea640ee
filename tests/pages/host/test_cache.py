"""One model at a time: the next one loads once, after the first was freed, and nothing else imports meanwhile."""

import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import pytest

import rauq
from pages.ui.host import models
from pages.ui.host.hosting import ModelChoice
from pages.ui.host.request import Request
from pages.ui.host.store import Loaded, store
from pages.ui.serving import workers
from rauq.errors import InvalidInput, OutOfMemory
from tests.architectures import save_tiny
from tests.pages.reading import started

FIRST, SECOND = ModelChoice(name="first"), ModelChoice(name="second")
THREADS = 8
SECONDS = 30  # longer than anything here takes


@pytest.fixture(scope="module", autouse=True)
def _frozen():
    """A model that is replaced is collected: without what was there before, that takes a moment in place of seconds."""
    gc.freeze()


class Model:
    """It refers to itself, as modules of torch do, so only the collector frees it."""

    def __init__(self):
        self.itself = self
        self.lock = threading.RLock()

    def with_kind(self, kind):
        return self if kind is None else (self, kind)


@dataclass(frozen=True)
class Known:
    """The description of a model: the arguments, with unknown free memory."""

    choice: dict
    bytes_free: None = None


class Library:
    """Replaces what imports torch: it records simultaneous calls, and waits where told to."""

    def __init__(self):
        self.calls, self.alive_at_load, self.models = [], [], []
        self.inside = 0
        self.begun, self.crowded, self.go_on = threading.Event(), threading.Event(), threading.Event()
        self.error = None
        self.go_on.set()

    def load_model(self, name, *, on_progress, cancel, **options):
        assert (on_progress, cancel) == (None, None)
        self.calls.append((name, options))
        self.alive_at_load.append([model for model in self.models if model() is not None])
        self._work()
        if self.error:
            raise self.error
        model = Model()
        self.models.append(weakref.ref(model))
        return model

    def inspect_model(self, *, tokens, **choice):
        assert tokens == 0
        self._work()
        return Known(choice)

    def _work(self):
        self.inside += 1
        self.begun.set()
        if self.inside > 1:
            self.crowded.set()
        assert self.go_on.wait(SECONDS)
        self.inside -= 1


@pytest.fixture(autouse=True)
def loaded(monkeypatch):
    """Nothing is loaded, and what other tests have loaded stays."""
    fresh = Loaded()
    monkeypatch.setattr(store(), "loaded", fresh)
    return fresh


@pytest.fixture
def library(monkeypatch):
    library = Library()
    monkeypatch.setattr(rauq, "load_model", library.load_model, raising=False)
    monkeypatch.setattr(rauq, "inspect_model", library.inspect_model, raising=False)
    yield library
    library.go_on.set()


def folders(tmp_path, *names):
    for name in names:
        save_tiny(tmp_path / name)
        yield ModelChoice(name=str(tmp_path / name), device="cpu")


def test_another_model_takes_the_place_of_the_first_which_is_freed_before(library):
    models.model(FIRST)
    models.model(SECOND)
    models.model(FIRST)
    assert library.alive_at_load == [[], [], []]
    assert [name for name, _ in library.calls] == ["first", "second", "first"]


def test_a_model_that_a_job_still_uses_is_not_loaded_again_beside_itself(library):
    used = models.model(FIRST)
    models.model(SECOND)
    assert models.model(FIRST) is used
    assert library.models[1]() is None
    assert [name for name, _ in library.calls] == ["first", "second"]


def test_a_real_model_is_freed_before_the_next_is_loaded(tmp_path, monkeypatch):
    alive, load = [], rauq.load_model

    def watched(*arguments, **options):
        alive.append([ref() for ref in refs if ref() is not None])
        return load(*arguments, **options)

    monkeypatch.setattr(rauq, "load_model", watched, raising=False)
    first, second = folders(tmp_path, "first", "second")
    refs = []
    models.model(first).generate("Where?", max_new_tokens=2)
    refs += [weakref.ref(part) for part in (models.if_loaded(first), models.if_loaded(first).model)]
    assert models.model(second).name == second.name
    assert alive == [[], []]
    assert all(ref() is None for ref in refs)


def test_simultaneous_requests_for_one_choice_load_it_once(library):
    together = threading.Barrier(THREADS)

    def ask(_):
        together.wait(SECONDS)
        return models.model(FIRST)

    with ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(ask, range(THREADS)))
    assert len(library.calls) == 1
    assert len({id(model) for model in found}) == 1
    assert models.model(ModelChoice(name="first")) is found[0]


@pytest.mark.parametrize("change", [{"device": "cpu"}, {"dtype": "bfloat16"}, {"name": "third"}])
def test_every_part_of_a_choice_reaches_the_library_and_makes_it_another(change, library):
    models.model(FIRST)
    choice = ModelChoice(**({"name": "first"} | change))
    models.model(choice)
    options = {name: value for name, value in vars(choice).items() if name != "name"}
    assert library.calls[1] == (choice.name, options)
    assert models.inspect_model(choice) == Known(vars(choice))
    assert models.if_loaded(FIRST) is None


def test_another_kind_is_a_view_of_the_weights_that_are_loaded(library):
    instruct = replace(FIRST, kind="instruct")
    model = models.model(instruct)
    assert model == models.if_loaded(instruct) == (models.if_loaded(FIRST), "instruct")
    assert models.inspect_model(instruct) == Known(vars(instruct))
    assert models.model(FIRST) is model[0]
    assert library.calls == [("first", {"device": "auto", "dtype": "auto", "kind": None, "engine": None})]


def test_several_workers_share_the_memory_of_the_weights(library, monkeypatch):
    monkeypatch.setenv(workers._VARIABLE, "2/3")
    models.model(FIRST)
    assert library.calls[0][1]["mapped"]


def test_views_of_a_model_share_its_weights_and_its_queue(tmp_path):
    (choice,) = folders(tmp_path, "tiny")
    base, instruct = (models.model(replace(choice, kind=kind)) for kind in ("base", "instruct"))
    assert (base.kind, instruct.kind) == ("base", "instruct")
    assert base.model is instruct.model
    assert models.queue(base) is models.queue(instruct)
    with models.queue(base).turn(threading.Event(), ""):
        assert models.is_in_use(instruct)
    assert not models.is_in_use(instruct)
    with pytest.raises(InvalidInput, match="Unknown kind 'odd'; choose one of base, instruct"):
        models.model(replace(choice, kind="odd"))


def test_free_memory_includes_the_replaced_model_unless_a_job_uses_it(tmp_path, monkeypatch):
    first, second = folders(tmp_path, "first", "second")
    monkeypatch.setattr("rauq.checkpoints.loading.free_main_memory", lambda: 1000)
    assert models.inspect_model(second).bytes_free == 1000
    with monkeypatch.context() as patched:
        patched.setattr("rauq.checkpoints.loading.free_main_memory", lambda: None)
        model = models.model(first)
        assert models.inspect_model(second).bytes_free is None
    found = models.inspect_model(second)
    assert found.bytes_free == 1000 + found.bytes_needed
    assert found.fits
    assert not models.in_use()
    with models.queue(model).turn(threading.Event(), ""):
        assert models.in_use()
        assert models.inspect_model(second).bytes_free == 1000


@pytest.mark.parametrize("error", [OutOfMemory("no"), ValueError("no")], ids=repr)
def test_a_load_that_fails_leaves_nothing_and_the_next_one_works(error, library):
    models.model(FIRST)
    library.error = error
    with pytest.raises(type(error)):
        models.model(SECOND)
    gc.collect()
    assert library.models[0]() is None
    assert (models.if_loaded(FIRST), models.if_loaded(SECOND)) == (None, None)
    assert not models.busy()
    library.error = None
    assert models.model(SECOND) is models.if_loaded(SECOND)
    assert models.model(FIRST) is models.if_loaded(FIRST)


@pytest.mark.parametrize("asking", [models.model, models.inspect_model], ids=["load", "inspect_model"])
def test_it_is_busy_until_the_library_is_done_and_asking_does_not_wait(asking, library):
    assert not models.busy()
    library.go_on.clear()
    with ThreadPoolExecutor(1) as pool:
        work = pool.submit(asking, FIRST)
        assert library.begun.wait(SECONDS)
        assert models.busy()
        assert models.if_loaded(FIRST) is None
        library.go_on.set()
        work.result(SECONDS)
    assert not models.busy()


def test_models_are_not_loaded_or_inspected_at_the_same_time(library):
    library.go_on.clear()
    with ThreadPoolExecutor(THREADS) as pool:
        work = [
            pool.submit((models.model, models.inspect_model)[n % 2], (FIRST, SECOND)[n % 3 % 2]) for n in range(THREADS)
        ]
        assert library.begun.wait(SECONDS)
        assert not library.crowded.wait(0.1)  # the others wait for the lock
        library.go_on.set()
        for one in work:
            one.result(SECONDS)
    assert not library.crowded.is_set()


def test_a_loaded_model_is_found_without_the_lock(library, loaded):
    model = models.model(FIRST)
    with loaded.lock:
        assert models.if_loaded(FIRST) is model
        assert models.if_loaded(SECOND) is None
    assert len(library.calls) == 1


def test_a_job_that_failed_does_not_keep_its_model_in_memory(tmp_path):
    choices = [ModelChoice(name=str(tmp_path / name), device="cpu") for name in ("first", "second")]
    for choice in choices:
        save_tiny(choice.name)
    job = started(Request(model=choices[0], prompt="word " * 500))
    assert job.done.wait(30)
    assert "256" in str(job.error)
    model = weakref.ref(models.if_loaded(choices[0]).model)
    models.model(choices[1])
    assert model() is None
