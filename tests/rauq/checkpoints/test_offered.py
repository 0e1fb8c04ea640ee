"""The models of a host's list: a folder or file goes by the last part of its path, and everything else by its name."""

import pytest

from rauq import inspect_model, load_model
from rauq.checkpoints.named import MODELS_VARIABLE, offered_models, place_of
from tests.architectures import save_tiny


@pytest.fixture
def offer(monkeypatch):
    return lambda *entries: monkeypatch.setenv(MODELS_VARIABLE, ",".join(map(str, entries)))


def test_without_a_list_there_are_none(monkeypatch):
    monkeypatch.delenv(MODELS_VARIABLE, raising=False)
    assert offered_models() == ()
    assert place_of("x") == "x"


def test_a_path_goes_by_its_last_part_and_other_names_stay(offer, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models" / "here").mkdir(parents=True)
    (tmp_path / "atlas").mkdir()
    offer("atlas", "/srv/models/q.gguf", " /srv/models/x/ ", "org/x", "org/x/file.gguf", "~/y", "models/here", "../z")
    monkeypatch.setenv("HOME", "/home/host")
    assert offered_models() == ("atlas", "q.gguf", "x", "org/x", "org/x/file.gguf", "y", "here", "z")
    assert place_of("y") == "/home/host/y"
    assert place_of("x").rstrip("/") == "/srv/models/x"
    assert place_of("/srv/models/x") == "/srv/models/x"
    assert [place_of(name) for name in ("atlas", "org/x", "w")] == ["atlas", "org/x", "w"]


def test_two_models_never_share_a_name(offer):
    offer("/a/x", "/b/x", "/b/x", "/c/x-2", "/d/atlas", "/d/smollm2", "smollm2")
    assert offered_models() == ("x", "x-2", "x-2-2", "atlas-2", "smollm2-2", "smollm2")
    assert [place_of(name) for name in ("x", "x-2", "x-2-2", "atlas-2")] == ["/a/x", "/b/x", "/c/x-2", "/d/atlas"]


def test_an_offered_folder_is_loaded_under_its_short_name(offer, tmp_path):
    folder = save_tiny(tmp_path / "tiny-base")
    offer(folder)
    assert inspect_model("tiny-base").name == "tiny-base"
    lm = load_model("tiny-base")
    trace = lm.generate("Where is Oslo?", max_new_tokens=2)
    assert (lm.name, lm.revision, lm.kind, trace.model) == ("tiny-base", "local", "base", "tiny-base")
