"""Loading: paths that do not exist, too little memory, and folders that change while a model is in use."""

import os
import shutil

import numpy as np
import pytest
import torch
from transformers import PreTrainedModel

from rauq.errors import ModelNotFound, OutOfMemory
from rauq.model.loading import load_model
from tests.architectures import save_tiny
from tests.tiny import PROMPT, assert_close

SHORTAGES = [
    torch.OutOfMemoryError("CUDA out of memory"),
    MemoryError(),
    RuntimeError("[enforce fail] can't allocate memory"),
]


@pytest.fixture
def folder(tmp_path):
    save_tiny(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize(
    "name", ["/no/such/folder", "./folder", "../up", "~/no such folder", "C:\\models\\one", "a/b/c"]
)
def test_a_path_that_does_not_exist_is_not_searched_on_the_hub(name, monkeypatch):
    monkeypatch.setattr(
        "rauq.checkpoints.hub.get_hf_file_metadata", lambda *_args, **_options: pytest.fail("asked the hub")
    )
    with pytest.raises(ModelNotFound, match=r"Folder .* not found\. Check the path, or give the hub id"):
        load_model(name)


def test_the_home_folder_may_be_written_short(folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder.parent))
    assert load_model("~/model").name == str(folder)


def test_a_folder_of_models_names_three_of_them(folder, tmp_path):
    for name in ("a", "b", "c"):
        shutil.copytree(folder, tmp_path / name)
    named_models = ", ".join(str(tmp_path / name) for name in "abc")
    with pytest.raises(ModelNotFound, match=r"has no config\.json\. Give the folder of a model, such as ") as refused:
        load_model(tmp_path)
    assert str(refused.value).endswith(f"such as {named_models}.")


@pytest.mark.parametrize("shortage", SHORTAGES, ids=lambda error: type(error).__name__)
def test_running_out_of_memory_while_loading_is_reported_and_has_no_side_effects(folder, shortage, monkeypatch):
    def no_memory(*_args, **_options):
        raise shortage

    with monkeypatch.context() as patched:
        patched.setattr(PreTrainedModel, "from_pretrained", no_memory)
        with pytest.raises(
            OutOfMemory, match=r"Out of memory while loading .* Its weights take .* In bfloat16 they take"
        ):
            load_model(folder)
    assert load_model(folder).check().exact


@pytest.mark.parametrize("shortage", SHORTAGES, ids=lambda error: type(error).__name__)
def test_memory_that_runs_out_while_generating_leaves_the_model_as_it_was(folder, shortage, monkeypatch):
    lm = load_model(folder)
    before = lm.generate(PROMPT, max_new_tokens=6)
    forward, passes = lm.model.forward, []

    def forward_while_there_is_memory(*args, **options):
        passes.append(1)
        if len(passes) > 3:
            raise shortage
        return forward(*args, **options)

    with monkeypatch.context() as patched:
        patched.setattr(lm.model, "forward", forward_while_there_is_memory)
        with pytest.raises(
            OutOfMemory, match=r"Try a shorter prompt, .*, or bfloat16 .*, which halves the .* of its weights\.$"
        ):
            lm.generate(PROMPT, max_new_tokens=6)
    assert len(passes) == 4
    assert_close(lm.generate(PROMPT, max_new_tokens=6), before)


def deleted(folder):
    shutil.rmtree(folder)


def emptied(folder):
    os.truncate(folder / "model.safetensors", 0)


def overwritten(folder):
    size = (folder / "model.safetensors").stat().st_size
    with (folder / "model.safetensors").open("r+b") as file:
        file.write(b"\xff" * size)


@pytest.mark.parametrize("change", [deleted, emptied, overwritten])
def test_a_loaded_model_needs_its_folder_no_more(folder, change):
    lm = load_model(folder)
    weights = [parameter.numpy().copy() for parameter in lm.model.parameters()]
    before = lm.generate(PROMPT, max_new_tokens=6)
    change(folder)
    assert_close(lm.generate(PROMPT, max_new_tokens=6), before)
    assert all(map(np.array_equal, lm.model.parameters(), weights))


def test_mapped_weights_are_the_same_and_those_of_the_file(folder):
    lm, own = load_model(folder, mapped=True), load_model(folder)
    assert all(map(torch.equal, lm.model.parameters(), own.model.parameters()))
    assert_close(lm.generate(PROMPT, max_new_tokens=6), own.generate(PROMPT, max_new_tokens=6))
    overwritten(folder)  # which is why it is not the default
    assert all(parameter.isnan().all() for parameter in lm.model.parameters())
    assert not any(parameter.isnan().any() for parameter in own.model.parameters())


def test_mapped_weights_of_another_dtype_are_converted_into_memory(folder):
    lm = load_model(folder, mapped=True, dtype="bfloat16")
    before = lm.generate(PROMPT, max_new_tokens=6)
    overwritten(folder)
    assert_close(lm.generate(PROMPT, max_new_tokens=6), before)
