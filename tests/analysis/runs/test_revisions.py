"""A run stores the commit that it started with, and resumes with it after main has moved."""

import json
from dataclasses import replace

import huggingface_hub
import pytest
import torch

from analysis.runs.create import prepare, request_for
from analysis.runs.manifest import MANIFEST, answers_path, read_manifest, write_manifest
from analysis.runs.opened import open_run
from analysis.runs.work import as_started, work
from rauq.errors import InvalidInput, RunError
from tests.architectures import byte_tokenizer, named, tiny_model

MODEL = "tiny/llama"
FIRST, SECOND = "a" * 40, "b" * 40


@pytest.fixture
def move_main(tmp_path, monkeypatch):
    """A cache of the hub with two commits of one model, in which main can be moved; the hub itself is not asked."""
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    repository = tmp_path / "cache" / "models--tiny--llama"
    model = tiny_model(named("llama"))
    for commit in (FIRST, SECOND):
        model.save_pretrained(repository / "snapshots" / commit)
        byte_tokenizer().save_pretrained(repository / "snapshots" / commit)
        with torch.no_grad():
            model.lm_head.weight.neg_()
    (repository / "refs").mkdir()

    def move(commit, branch="main"):
        (repository / "refs" / branch).write_text(commit)

    move(FIRST)
    return move


def asked_for(folder, data, **changes):
    prepare(folder, data, request_for(data, model=MODEL, batch_size=2, shard_size=4, methods=("rauq",), **changes))
    return folder


def shards(folder):
    """The files with answers: not the manifest, whose age differs, nor the times."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in {".parquet", ".safetensors"}}


def answers(folder):
    return open_run(folder).answers["answer"].tolist()


def without_a_field(folder):
    """The manifest as it was written before runs had a revision."""
    written = json.loads((folder / MANIFEST).read_text())
    del written["request"]["revision"]
    (folder / MANIFEST).write_text(json.dumps(written))


@pytest.mark.parametrize("older", [False, True])
def test_a_run_goes_on_with_its_commit_after_main_has_moved(older, data, tmp_path, move_main):
    folder = asked_for(tmp_path / "run", data)
    work(folder)
    begun, whole = read_manifest(folder).answerer.revision, shards(folder)
    if older:
        without_a_field(folder)
    answers_path(folder, 2).unlink()
    move_main(SECOND)
    assert work(folder).state == "finished"
    assert (begun, read_manifest(folder).answerer.revision) == (FIRST, FIRST)
    assert shards(folder) == whole


@pytest.mark.parametrize("revision", [FIRST, "v1"])
def test_a_run_is_answered_by_the_revision_that_it_asks_for(revision, data, tmp_path, move_main):
    move_main(FIRST, "v1")
    work(asked_for(tmp_path / "first", data))
    move_main(SECOND)
    folder = asked_for(tmp_path / "run", data, revision=revision)
    work(folder)
    manifest = read_manifest(folder)
    assert (manifest.request.revision, manifest.answerer.revision) == (revision, FIRST)
    assert answers(folder) == answers(tmp_path / "first")
    work(asked_for(tmp_path / "second", data))
    assert open_run(tmp_path / "second").answerer.revision == SECOND
    assert answers(tmp_path / "second") != answers(folder)


def test_a_run_that_was_never_begun_takes_what_main_is_by_then(data, tmp_path, move_main):
    folder = asked_for(tmp_path / "run", data)
    move_main(SECOND)
    work(folder)
    assert read_manifest(folder).answerer.revision == SECOND


@pytest.mark.usefixtures("move_main")
def test_another_revision_is_another_run(data, tmp_path):
    folder = asked_for(tmp_path / "run", data)
    work(folder)
    with pytest.raises(RunError, match=r"holds another run .*differ in revision"):
        asked_for(folder, data, revision=SECOND)


@pytest.mark.parametrize("begun_with", ["local", "c" * 64, "main"])
def test_what_is_no_commit_is_not_asked_of_the_hub(begun_with, finished):
    manifest = read_manifest(finished)
    manifest = replace(manifest, answerer=replace(manifest.answerer, revision=begun_with))
    assert as_started(manifest) == replace(manifest.request, engine="transformers")
    tagged = replace(manifest, request=replace(manifest.request, revision="v1"))
    assert as_started(tagged).revision == "v1"


def test_a_model_on_this_machine_has_no_revision(data, model):
    for name in ("atlas", model):
        with pytest.raises(InvalidInput, match=r"Got the revision 'v1' of .*Leave it out"):
            request_for(data, model=name, revision="v1")


def test_a_revision_that_is_no_text_is_a_damaged_manifest(finished):
    manifest = read_manifest(finished)
    write_manifest(finished, replace(manifest, request=replace(manifest.request, revision=3)))
    with pytest.raises(RunError, match="revision is 3"):
        read_manifest(finished)
