"""The store of dequantised weights: whole or not at all, computed once, bounded, cleared."""

import errno
import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from rauq.checkpoints import store as module
from rauq.checkpoints.store import Store, clear, default_store, sha256, stored
from rauq.errors import CacheError, InvalidInput, Stopped

SECONDS = 30


@pytest.fixture
def store(tmp_path):
    return Store(place=tmp_path / "cache", bound=1000)


def filled(size):
    return lambda folder: (folder / "weights").write_bytes(b"x" * size)


def put(store, key, size=100):
    with stored(store, key, num_bytes=size, write=filled(size)) as folder:
        assert (folder / "weights").stat().st_size == size


def keys(store):
    return [entry.folder.name for entry in store.entries()]


def test_an_entry_is_written_once_and_found_again(store):
    written = []

    def write(folder):
        written.append(folder)
        filled(7)(folder)

    for _ in range(2):
        with stored(store, "a", num_bytes=7, write=write) as folder:
            assert (folder / "weights").read_bytes() == b"x" * 7
    assert len(written) == 1
    assert [(entry.folder, entry.num_bytes) for entry in store.entries()] == [(folder, 7)]


@pytest.mark.parametrize("error", [RuntimeError("no"), KeyboardInterrupt(), Stopped("no")], ids=repr)
def test_what_fails_half_way_leaves_nothing(store, error):
    def write(folder):
        filled(7)(folder)
        raise error

    with pytest.raises(type(error)), stored(store, "a", num_bytes=7, write=write):
        pass
    assert list(store.folder.iterdir()) == []
    put(store, "a")


def test_what_a_killed_process_left_is_written_anew(store):
    left = store.folder / "a.unfinished"
    left.mkdir(parents=True)
    (left / "half").write_text("")
    put(store, "a")
    assert [path.name for path in (store.folder / "a").iterdir()] == ["weights"]
    assert keys(store) == ["a"]


def test_threads_that_want_the_same_entry_write_it_once(store):
    together, written = threading.Barrier(4), []

    def ask(_):
        together.wait(SECONDS)
        with stored(store, "a", num_bytes=7, write=lambda folder: (written.append(1), filled(7)(folder))) as folder:
            return (folder / "weights").read_bytes()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, range(4))) == [b"x" * 7] * 4
    assert written == [1]


def test_waiting_for_another_process_can_be_cancelled(store):
    cancel = threading.Event()
    inside = stored(store, "a", num_bytes=7, write=filled(7))
    with inside, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(lambda: stored(store, "a", num_bytes=7, write=filled(7), cancel=cancel).__enter__())
        cancel.set()
        with pytest.raises(Stopped):
            waiting.result(SECONDS)


def test_the_least_recently_used_make_room(store):
    for age, key in enumerate(("c", "b", "a")):
        put(store, key, 400)
        if key != "a":
            os.utime(store.folder / key, (1000 + age, 1000 + age))
    assert keys(store) == ["b", "a"]
    os.utime(store.folder / "b", (3000, 3000))
    put(store, "b", 400)  # found, and so used now
    os.utime(store.folder / "a", (2000, 2000))
    put(store, "d", 400)
    assert sorted(keys(store)) == ["b", "d"]


def test_a_larger_one_is_kept_past_the_bound_and_is_then_alone(store):
    put(store, "a")
    put(store, "large", 5000)
    assert keys(store) == ["large"]
    put(store, "b")
    assert keys(store) == ["b"]


def test_an_entry_in_use_is_not_removed(store):
    with stored(store, "a", num_bytes=600, write=filled(600)) as folder:
        put(store, "b", 600)
        assert folder.is_dir()
        assert clear(store) == (1, 600)
        assert keys(store) == ["a"]
    assert clear(store) == (1, 600)
    assert clear(store) == (0, 0)


def free(monkeypatch, num_bytes):
    monkeypatch.setattr(shutil, "disk_usage", lambda _place: SimpleNamespace(free=num_bytes))


def test_too_little_disk_space_is_reported_before_anything_is_written(store, monkeypatch):
    free(monkeypatch, 99_000)
    says = r"take 100\.0 kB on disk, and 99\.0 kB are free in .*RAUQ_CACHE"
    with pytest.raises(CacheError, match=says), stored(store, "a", num_bytes=100_000, write=pytest.fail):
        pass
    assert list(store.folder.iterdir()) == []


def test_a_disk_that_fills_while_writing_is_reported_and_nothing_is_left(store, monkeypatch):
    def write(folder):
        filled(7)(folder)
        raise OSError(errno.ENOSPC, "No space left on device")

    free(monkeypatch, 500_000)
    says = r"take 100\.0 kB on disk, and 500\.0 kB are free"
    with pytest.raises(CacheError, match=says), stored(store, "a", num_bytes=100_000, write=write):
        pass
    assert list(store.folder.iterdir()) == []


def test_a_place_that_is_a_file_is_refused(store):
    store.place.write_text("")
    with pytest.raises(CacheError, match=r"cannot be used .* Choose another folder with the variable RAUQ_CACHE"):
        put(store, "a")
    assert store.entries() == []


def test_a_digest_is_remembered_until_the_file_changes(store, tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_bytes(b"abc")
    os.utime(file, ns=(1, 1))
    known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180-2, appendix B.1
    assert sha256(store, file) == known
    with monkeypatch.context() as patched:
        patched.setattr(module, "digest_of", lambda *_: pytest.fail("read again"))
        assert sha256(store, file) == known
    file.write_bytes(b"abd")
    os.utime(file, ns=(2, 2))
    assert sha256(store, file) != known
    file.write_bytes(b"abc")
    (next((store.place / "digests").iterdir())).write_text("{")
    assert sha256(store, file) == known
    with pytest.raises(Stopped):
        sha256(store, Path(__file__), cancel=SimpleNamespace(is_set=lambda: True))


def test_place_and_bound_are_settings(tmp_path, monkeypatch):
    monkeypatch.setenv("RAUQ_CACHE", str(tmp_path))
    monkeypatch.setenv("RAUQ_CACHE_GB", "0.5")
    assert default_store() == Store(place=tmp_path, bound=500_000_000)
    monkeypatch.delenv("RAUQ_CACHE")
    monkeypatch.delenv("RAUQ_CACHE_GB")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    assert default_store().place.is_relative_to(tmp_path)
    assert default_store().place.name == "rauq"
    assert default_store().bound == 30 * 10**9


@pytest.mark.parametrize("bound", ["much", "-1", "nan", "inf"])
def test_a_bound_that_is_no_number_of_gigabytes_is_refused(bound, monkeypatch):
    monkeypatch.setenv("RAUQ_CACHE_GB", bound)
    with pytest.raises(InvalidInput, match="give a number of gigabytes"):
        default_store()


def test_a_folder_that_cannot_be_read_is_refused(store, monkeypatch):
    def refuse(_folder):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(CacheError, match="cannot be used"):
        store.entries()
