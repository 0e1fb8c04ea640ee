"""Models on this machine are found in folders and in the cache of the hub; what is not one is left out."""

import pytest
from huggingface_hub import constants

import rauq
from rauq.checkpoints.folders import is_hub_file, looks_like_path


def model(folder, *names):
    folder.mkdir(parents=True)
    for name in names or ("config.json", "model.safetensors"):
        (folder / name).write_text("{}")
    return folder


def test_models_are_the_subfolders_that_have_a_config(tmp_path):
    found = [model(tmp_path / name) for name in ("b", "a")]
    model(tmp_path / "notes", "notes.txt")
    model(tmp_path / "deeper" / "one")
    (tmp_path / "c").write_text("a file")
    assert rauq.local_models(tmp_path) == (found[1], found[0])
    assert rauq.local_models(str(found[0])) == (found[0],)
    assert rauq.local_models(model(tmp_path / "run" / "checkpoint-5", "adapter_config.json").parent) == (
        tmp_path / "run" / "checkpoint-5",
    )


def test_at_most_fifty_are_listed(tmp_path):
    for number in range(60):
        model(tmp_path / f"{number:02}", "config.json")
    assert [path.name for path in rauq.local_models(tmp_path)] == [f"{number:02}" for number in range(50)]


@pytest.mark.parametrize(
    "place",
    [
        "missing",
        "",
        "a\0b",
        "x" * 10**5,
        "~nobody/models",
        "~nosuchuser/x",
        "~a\0b",
        "~\ud800",
        "\ud800",
        r"\\host\share",
    ],
    ids=range(10),
)
def test_where_nothing_can_be_read_there_is_no_model(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert rauq.local_models(place) == ()


def test_folders_that_may_not_be_read_are_left_out(tmp_path, monkeypatch):
    found = model(tmp_path / "open")
    closed = model(tmp_path / "closed")
    is_file = type(found).is_file

    def unless_closed(path, **options):
        if path.parent == closed:
            raise PermissionError(13, "Permission denied")
        return is_file(path, **options)

    monkeypatch.setattr("pathlib.Path.is_file", unless_closed)
    assert rauq.local_models(tmp_path) == (found,)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


def test_cached_models_have_a_config_and_safetensors(cache):
    for name in ("models--org--b", "models--org--a", "models--alone", "datasets--org--data"):
        model(cache / name / "snapshots" / "0123")
    model(cache / "models--org--pickled" / "snapshots" / "0123", "config.json", "pytorch_model.bin")
    model(cache / "models--org--tokenizer" / "snapshots" / "0123", "config.json", "tokenizer.json")
    (cache / "models--org--broken").mkdir()
    assert rauq.cached_models() == ("alone", "org/a", "org/b")


def test_without_a_cache_there_are_none(cache):
    assert rauq.cached_models() == ()
    cache.write_text("a file where the cache should be")
    assert rauq.cached_models() == ()


def test_a_path_is_distinguished_from_a_hub_id():
    assert all(map(looks_like_path, ("/a", "./a", "..", "~/a", "a\\b", "a/b/c")))
    assert not any(map(looks_like_path, ("gpt2", "org/name", "")))


def test_gguf_files_are_models_where_they_lie(tmp_path):
    for name in ("b.gguf", "A.GGUF", "mmproj-b.gguf", "large-00002-of-00002.gguf", "deep/c.gguf", "deep/er/d.gguf"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    found = [tmp_path / name for name in ("A.GGUF", "b.gguf", "deep/c.gguf")]
    assert rauq.local_models(tmp_path) == tuple(found)


def test_a_hub_file_is_distinguished_from_a_path():
    assert is_hub_file("org/name/file.gguf")
    assert is_hub_file("org/name/folder/file.GGUF")
    assert not any(
        map(is_hub_file, ("/a/b/file.gguf", "./a/b.gguf", "~/a/b.gguf", "a/b.gguf", "a/b/c", "a\\b/c/d.gguf"))
    )
    assert not looks_like_path("org/name/file.gguf")
