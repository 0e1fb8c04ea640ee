"""The models of Ollama, LM Studio, llama.cpp and the hub's client are found where these programs keep them."""

import json
import os

import pytest
from huggingface_hub import constants

import rauq
from tests.gguf_files import save_gguf

DIGEST = "ab" * 32


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    for name in ("OLLAMA_MODELS", "LLAMA_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("rauq.checkpoints.folders._OLLAMA_SERVICE", tmp_path / "service")
    return tmp_path


def place(path, content=b"x" * 1500):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return str(path)


def manifest(root, name, digest=DIGEST, media="application/vnd.ollama.image.model"):
    other = {"mediaType": "application/vnd.ollama.image.template", "digest": "sha256:" + "0" * 64}
    layers = [other, {"mediaType": media, "digest": f"sha256:{digest}"}]
    place(root / "manifests" / name, json.dumps({"layers": layers}).encode())


def found():
    return {model.name: model.label for model in rauq.installed_models()}


def test_ollamas_models_have_the_names_that_its_user_knows(home):
    root = home / ".ollama" / "models"
    blobs = {}
    for number, name in enumerate(
        ["registry.ollama.ai/library/llama3.2/1b", "registry.ollama.ai/me/tiny/latest", "hf.co/org/model/Q4_0"]
    ):
        digest = f"{number:064x}"
        manifest(root, name, digest)
        blobs[name] = place(root / "blobs" / f"sha256-{digest}")
    labels = [f"{name} (Ollama, 1.5 kB)" for name in ("llama3.2:1b", "me/tiny:latest", "hf.co/org/model:Q4_0")]
    assert found() == dict(zip(blobs.values(), labels, strict=True))


@pytest.mark.parametrize("name", ["tiny", "registry.ollama.ai/tiny", "registry.ollama.ai/library/tiny"])
def test_manifests_at_an_unknown_depth_are_called_by_their_own_name(name, home):
    manifest(home / ".ollama" / "models", name)
    blob = place(home / ".ollama" / "models" / "blobs" / f"sha256-{DIGEST}")
    assert found() == {blob: "tiny (Ollama, 1.5 kB)"}


def test_ollama_may_keep_its_models_elsewhere(home, monkeypatch):
    manifest(home / "elsewhere", "registry.ollama.ai/library/tiny/latest")
    blob = place(home / "elsewhere" / "blobs" / f"sha256-{DIGEST}")
    assert found() == {}
    monkeypatch.setenv("OLLAMA_MODELS", str(home / "elsewhere"))
    assert found() == {blob: "tiny:latest (Ollama, 1.5 kB)"}


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b'{"layers": 3}', b'{"layers": [{}]}', b"\xff", b"[" * 10_000, b" " * (2**20 + 1)],
    ids=range(8),
)
def test_manifests_that_cannot_be_read_are_left_out(content, home):
    place(home / ".ollama/models/manifests/registry.ollama.ai/library/tiny/latest", content)
    assert found() == {}


@pytest.mark.parametrize("digest", ["../../../etc/passwd", "", "AB" * 32, "ab" * 31])
def test_a_manifest_cannot_point_out_of_ollamas_folder(digest, home):
    manifest(home / ".ollama/models", "registry.ollama.ai/library/tiny/latest", digest)
    assert found() == {}


def test_a_manifest_whose_blob_has_gone_and_one_without_weights_are_left_out(home):
    manifest(home / ".ollama/models", "registry.ollama.ai/library/tiny/latest")
    manifest(home / ".ollama/models", "registry.ollama.ai/library/tiny/adapter", media="application/x.adapter")
    assert found() == {}


def test_files_of_lm_studio_and_llama_cpp_are_found_without_what_only_sees(home, monkeypatch):
    studio = home / ".lmstudio/models/org/model"
    first = place(studio / "Tiny-Q4_0.gguf")
    second = place(home / ".cache/lm-studio/models/org/model/Old.GGUF")
    third = place(home / ".cache/llama.cpp/org_tiny.gguf")
    for name in ("mmproj-tiny.gguf", "notes.txt", "large-00002-of-00003.gguf"):
        place(studio / name)
    assert found() == {
        first: "org/model/Tiny-Q4_0 (LM Studio, 1.5 kB)",
        second: "org/model/Old (LM Studio, 1.5 kB)",
        third: "org_tiny (llama.cpp, 1.5 kB)",
    }
    monkeypatch.setenv("LLAMA_CACHE", str(studio))
    assert third not in found()


def test_gguf_files_in_the_hubs_cache_are_named_as_they_are_loaded(home):
    snapshot = home / "hub/models--org--tiny-GGUF/snapshots/0123"
    place(snapshot / "tiny-Q4_0.gguf")
    place(snapshot / "sub/tiny-Q8_0.gguf")
    place(snapshot / "mmproj-tiny.gguf")
    place(home / "hub/models--alone/snapshots/0123/old.gguf")
    labels = found()
    assert labels["org/tiny-GGUF/tiny-Q4_0.gguf"] == "org/tiny-GGUF/tiny-Q4_0.gguf (hub cache, 1.5 kB)"
    assert "org/tiny-GGUF/sub/tiny-Q8_0.gguf" in labels
    assert str(home / "hub/models--alone/snapshots/0123/old.gguf") in labels
    assert len(labels) == 3


def test_installed_models_can_be_inspected(home):
    manifest(home / ".ollama/models", "registry.ollama.ai/library/tiny/latest")
    blob = home / ".ollama/models/blobs" / f"sha256-{DIGEST}"
    place(blob, b"")
    save_gguf(blob)
    assert [rauq.inspect_model(name).architecture for name in found()] == ["LlamaForCausalLM"]


def test_folders_that_may_not_be_read_are_left_out(home, monkeypatch):
    place(home / ".cache/llama.cpp/tiny.gguf")

    def refuse(_folder):
        raise PermissionError(13, "Permission denied")

    assert len(found()) == 1
    monkeypatch.setattr(os, "scandir", refuse)
    assert found() == {}
