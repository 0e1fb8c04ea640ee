"""Folders that are no whole model: each is refused with its cause, and with advice that can work."""

import json
import re
import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from safetensors.torch import load_file, save_file

from rauq.checkpoints.refusals import reasons
from rauq.checkpoints.refusals.failures import _FAILURES
from rauq.errors import MissingPackage, ModelNotFound, RauqError, UnsupportedModel
from rauq.model.loading import load_model
from tests.architectures import save_tiny
from tests.gguf_files import save_gguf

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
SHARDS = [f"model-{number:05}-of-00003.safetensors" for number in (1, 2, 3)]
POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'ab' * 32}\nsize 98765\n"
PAGE = "<!DOCTYPE html>\n<html><body>Sign in</body></html>"
OTHER_VERSION = "Get the version for transformers, which has config.json and *.safetensors, or a GGUF file."


class Case(NamedTuple):
    spoil: Callable[[Path], object]
    kind: type[RauqError]
    says: str


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return save_tiny(tmp_path_factory.mktemp("saved") / "tiny")


@pytest.fixture
def folder(saved, tmp_path):
    return shutil.copytree(saved, tmp_path / "model")


def several(*steps):
    return lambda folder: [step(folder) for step in steps]


def lost(*names):
    return lambda folder: [(folder / name).unlink() for name in names]


def emptied(folder):
    for file in folder.iterdir():
        file.unlink()


def put(name, content="x"):
    def step(folder):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())

    return step


def cut(length):
    return lambda folder: put(WEIGHTS, (folder / WEIGHTS).read_bytes()[:length])(folder)


def configured(**settings):
    return lambda folder: put("config.json", json.dumps(json.loads((folder / "config.json").read_text()) | settings))(
        folder
    )


def quantised(method, **settings):
    return configured(quantization_config={"quant_method": method} | settings)


def in_shards(*there, index=True):
    """The weights in three files, of which some are there."""

    def step(folder):
        weights = load_file(folder / WEIGHTS)
        (folder / WEIGHTS).unlink()
        names = sorted(weights)
        held = {shard: names[place::3] for place, shard in enumerate(SHARDS)}
        for shard in (SHARDS[place] for place in there):
            save_file({name: weights[name] for name in held[shard]}, folder / shard, {"format": "pt"})
        listed = {name: shard for shard, names in held.items() for name in names}
        if index:
            put(INDEX, json.dumps({"metadata": {}, "weight_map": listed}))(folder)

    return step


def reshaped(folder):
    weights = load_file(folder / WEIGHTS)
    save_file(weights | {"model.norm.weight": torch.ones(5)}, folder / WEIGHTS, {"format": "pt"})


def pickled(folder):
    torch.save(load_file(folder / WEIGHTS), folder / "pytorch_model.bin")
    (folder / WEIGHTS).unlink()


def repository(folder):
    (folder / ".git").mkdir()


def linked_to_nothing(folder):
    (folder / WEIGHTS).unlink()
    (folder / WEIGHTS).symlink_to("../blobs/none")


def of_another_format(name, what, todo=OTHER_VERSION):
    return Case(several(lost(WEIGHTS), put(name)), ModelNotFound, f"The folder {{}} holds {what}. {todo}")


FINISH = "The download was not finished: get this file again."
CASES = {
    # Packages and schemes.
    "GPTQ": Case(
        quantised("gptq", bits=4),
        MissingPackage,
        "{} is quantised with gptq, which needs packages that are not installed. Install it: pip install optimum "
        "gptqmodel",
    ),
    "AWQ": Case(quantised("awq", bits=4, version="gemm"), MissingPackage, "pip install gptqmodel"),
    "bitsandbytes": Case(
        quantised("bitsandbytes", load_in_4bit=True),
        MissingPackage,
        "{} is quantised with bitsandbytes, which needs a package that is not installed. Install it: pip "
        "install bitsandbytes",
    ),
    "8 bits, unnamed": Case(
        configured(quantization_config={"load_in_8bit": True}), MissingPackage, "pip install bitsandbytes"
    ),
    "compressed": Case(
        quantised("compressed-tensors", config_groups={}), MissingPackage, "pip install compressed-tensors"
    ),
    "HQQ": Case(
        quantised("hqq", quant_config={"weight_quant_params": {"nbits": 4}}), MissingPackage, "pip install hqq"
    ),
    "Quanto": Case(quantised("quanto", weights="int8"), MissingPackage, "pip install optimum-quanto"),
    "AQLM": Case(quantised("aqlm"), MissingPackage, "pip install 'aqlm[cpu]'"),
    "AutoRound": Case(quantised("auto-round", bits=4), MissingPackage, "pip install auto-round"),
    "Quark": Case(quantised("quark"), MissingPackage, "pip install amd-quark"),
    "VPTQ": Case(
        quantised("vptq", config_for_layers={}),
        UnsupportedModel,
        "{} is quantised with vptq, which needs a GPU that this machine does not have. Choose the model without "
        "quantisation, or a GGUF file of it.",
    ),
    "EETQ": Case(quantised("eetq"), UnsupportedModel, "which needs a GPU"),
    "EXL2": Case(quantised("exl2", bits=4.0), UnsupportedModel, "{} is quantised with exl2, which transformers "),
    "ModelOpt": Case(
        quantised("modelopt", quant_algo="FP8"), UnsupportedModel, "quantised with modelopt, which transf"
    ),
    "MLX": Case(
        configured(quantization={"group_size": 64, "bits": 4}), UnsupportedModel, "is quantised with MLX, which"
    ),
    "no method": Case(
        configured(quantization_config={"bits": 4}),
        UnsupportedModel,
        "{} has a quantization_config without quant_method, so its weights cannot be read. Choose the model without",
    ),
    "SentencePiece": Case(
        several(lost("tokenizer.json", "tokenizer_config.json"), put("tokenizer.model", b"\n\5hello")),
        ModelNotFound if find_spec("tiktoken") else MissingPackage,  # which reads such a file in its own way
        "The tokenizer in {} cannot be loaded"
        if find_spec("tiktoken")
        else "{} needs a package that is not installed. Install it: pip install ",
    ),
    # Files that are not what they should be.
    "pointer": Case(
        put(WEIGHTS, POINTER),
        ModelNotFound,
        "{}/model.safetensors is a pointer of Git LFS, without the content of the file. Get the file itself, "
        "by its download link.",
    ),
    "pointer in a repository": Case(
        several(repository, put("tokenizer.json", POINTER)),
        ModelNotFound,
        "{}/tokenizer.json is a pointer of Git LFS, without the content of the file. Get the "
        "content: run git lfs pull in that folder",
    ),
    "pointer for a config": Case(put("config.json", POINTER), ModelNotFound, "{}/config.json is a pointer of Git LFS"),
    "pointer for a shard": Case(
        several(in_shards(0, 1, 2), put(SHARDS[1], POINTER)), ModelNotFound, f"{{}}/{SHARDS[1]} is a pointer of Git LFS"
    ),
    "pointer for GGUF": Case(
        several(emptied, put("a.gguf", POINTER)), ModelNotFound, "{}/a.gguf is a pointer of Git LFS"
    ),
    "page for weights": Case(
        put(WEIGHTS, PAGE),
        ModelNotFound,
        "{}/model.safetensors is a web page that was saved in place of the file. Get the file itself",
    ),
    "page for a config": Case(put("config.json", PAGE), ModelNotFound, "{}/config.json is a web page"),
    "message for weights": Case(
        put(WEIGHTS, '{"error": "Access to this model is restricted"}'),
        ModelNotFound,
        "{}/model.safetensors is no safetensors file: it does not begin as one does. Get this",
    ),
    "link": Case(linked_to_nothing, ModelNotFound, "{}/model.safetensors is a link to a file that is not there. Copy"),
    "empty weights": Case(cut(0), ModelNotFound, f"{{}}/model.safetensors is empty. {FINISH}"),
    "cut weights": Case(cut(-1), ModelNotFound, f" bytes. {FINISH}"),
    "cut header": Case(cut(500), ModelNotFound, "{}/model.safetensors has 500 bytes, and its header alone takes "),
    "cut tokenizer": Case(
        put("tokenizer.json", '{"version": "1.0", "mod'),
        ModelNotFound,
        "{}/tokenizer.json is not valid JSON (line 1, column 20). Get this file again.",
    ),
    "cut config": Case(
        put("config.json", '{"model_type": "lla'),
        ModelNotFound,
        "{}/config.json is not valid JSON (line 1, column 16). Get this file again.",
    ),
    "empty config": Case(put("config.json", ""), ModelNotFound, f"{{}}/config.json is empty. {FINISH}"),
    "text for a config": Case(put("config.json", "Entry not found"), ModelNotFound, "{}/config.json is not valid JSON"),
    # Files that are missing.
    "shard": Case(
        in_shards(0, 2),
        ModelNotFound,
        f"The folder {{}} lacks 1 of the files with its weights: {SHARDS[1]}. The download was not finished: get "
        "what is missing.",
    ),
    "shard and index": Case(
        in_shards(0, 2, index=False), ModelNotFound, f"with its weights: {SHARDS[1]}. The download"
    ),
    "all shards": Case(in_shards(), ModelNotFound, f"lacks 3 of the files with its weights: {', '.join(SHARDS)}. The"),
    "index": Case(
        in_shards(0, 1, 2, index=False),
        ModelNotFound,
        f"The folder {{}} has no {INDEX}, which says where each tensor is. Get this file too.",
    ),
    "broken index": Case(
        several(in_shards(0, 1, 2), put(INDEX, "{")), ModelNotFound, f"{{}}/{INDEX} is not valid JSON"
    ),
    "index of nothing": Case(
        several(in_shards(0, 1, 2), put(INDEX, "{}")), ModelNotFound, f"{{}}/{INDEX} names no files."
    ),
    "download of a browser": Case(
        several(lost(WEIGHTS), put(f"{WEIGHTS}.crdownload")),
        ModelNotFound,
        "{}/model.safetensors.crdownload is of a download that was not finished. Start the",
    ),
    "weights": Case(
        lost(WEIGHTS),
        ModelNotFound,
        "The folder {} has no weights. Get its files *.safetensors too, or give a GGUF file.",
    ),
    "weights after training": Case(
        several(lost(WEIGHTS), put("training_args.bin"), put("optimizer.pt")),
        ModelNotFound,
        "The folder {} has no weights.",
    ),
    "pickled": Case(
        pickled,
        ModelNotFound,
        "The folder {} has only pickled weights, which are never read. Save the model with save_pretrained, "
        "which writes *.safetensors.",
    ),
    "config": Case(
        lost("config.json"), ModelNotFound, "The folder {} has no config.json. Get the other files of this model too."
    ),
    "everything": Case(
        emptied,
        ModelNotFound,
        "The folder {} has no config.json. Give a folder that save_pretrained wrote, or a GGUF file.",
    ),
    "all but a subfolder": Case(
        several(emptied, put("checkpoint-500/config.json")),
        ModelNotFound,
        "The folder {} has no config.json. Give the folder of a model, such as {}/checkpoint-500.",
    ),
    "tokenizer": Case(
        lost("tokenizer.json"),
        ModelNotFound,
        "The folder {} has no vocabulary of a tokenizer, such as tokenizer.json. Copy the tokenizer's files "
        "there from the model that this one was made from.",
    ),
    "model_type": Case(
        put("config.json", "{}"),
        ModelNotFound,
        "The config.json in {} has no model_type, which says what kind of model it is. Put there the "
        "config.json that the model was published with.",
    ),
    # Files that contradict each other, or that no version here knows.
    "list for a config": Case(put("config.json", "[]"), ModelNotFound, "The config.json in {} has no model_type"),
    "unknown type": Case(
        configured(model_type="nonesuch"), UnsupportedModel, "{} is a model of the type 'nonesuch', which transformers "
    ),
    "heads": Case(configured(num_attention_heads=5), ModelNotFound, "The config.json in {} cannot be loaded (Strict"),
    "shape": Case(reshaped, ModelNotFound, "model.norm.weight: (5,), not (32,)"),
    "width": Case(
        configured(hidden_size=64), ModelNotFound, "another shape than config.json says, such as lm_head.weight"
    ),
    "odd tokenizer": Case(
        put("tokenizer.json", "{}"),
        ModelNotFound,
        "The tokenizer in {} cannot be loaded (KeyError: 'added_tokens'). Choose another model, or get",
    ),
    # Other formats.
    "ONNX": of_another_format("onnx/model.onnx", "weights for ONNX"),
    "OpenVINO": of_another_format("openvino_model.xml", "weights for OpenVINO"),
    "TensorFlow": of_another_format("tf_model.h5", "weights for TensorFlow"),
    "Flax": of_another_format("flax_model.msgpack", "weights for Flax"),
    "MLX arrays": of_another_format("weights.npz", "weights for MLX"),
    "Meta": Case(
        several(emptied, put("params.json", "{}"), put("consolidated.00.pth")),
        ModelNotFound,
        f"The folder {{}} holds weights in the format of their maker (Meta, Mistral). {OTHER_VERSION}",
    ),
    "NeMo": Case(several(emptied, put("model.nemo")), ModelNotFound, "The folder {} holds a checkpoint of NeMo."),
    "CTranslate2": Case(
        several(emptied, put("config.json", "{}"), put("model.bin"), put("shared_vocabulary.json", "[]")),
        ModelNotFound,
        "The folder {} holds a model for CTranslate2.",
    ),
    "DeepSpeed": of_another_format(
        "global_step5/mp_rank_00_model_states.pt",
        "a checkpoint of DeepSpeed",
        "Convert it first, with the zero_to_fp32.py that DeepSpeed writes beside it and --safe_serialization.",
    ),
    "FSDP": of_another_format(
        "pytorch_model_fsdp_0/__0_0.distcp",
        "a sharded checkpoint of torch (FSDP)",
        "Merge it first: accelerate merge-weights, with that folder and a new one.",
    ),
    "diffusers": Case(
        several(emptied, put("model_index.json", "{}"), put("unet/config.json", "{}")),
        ModelNotFound,
        "The folder {} holds a pipeline of diffusers, which is not a language model. Choose another model.",
    ),
}


@pytest.mark.parametrize(("spoil", "kind", "says"), CASES.values(), ids=CASES)
def test_a_folder_that_is_no_whole_model_is_refused_with_its_cause(folder, spoil, kind, says):
    spoil(folder)
    with pytest.raises(RauqError) as caught:
        load_model(str(folder))
    said = str(caught.value)
    assert says.replace("{}", str(folder)) in said
    assert type(caught.value) is kind
    check_advice(said, kind)


def check_advice(said, kind):
    """What a message advises can work on every surface where it appears."""
    assert "\n" not in said
    assert not re.search(r"(?<![-\w])[a-z_]+=(?!=)", said)  # an argument of Python, which a shell and the app lack
    assert "Save model and tokenizer there again" not in said
    assert ("pip install" in said) == (kind is MissingPackage)
    assert kind is not MissingPackage or "again" not in said


def test_advice_on_the_hub_can_be_followed_on_every_surface():
    for failure in _FAILURES:
        check_advice(f"{failure.what}. {failure.todo}", ModelNotFound)


def test_of_several_packages_those_that_are_here_are_not_named(folder, monkeypatch):
    quantised("gptq", bits=4)(folder)
    here = {"optimum"}
    monkeypatch.setattr(reasons, "_is_installed", lambda module: module in here)
    with pytest.raises(MissingPackage, match=r"needs a package that is not installed\. Install it: pip install gptqm"):
        load_model(str(folder))


def test_a_gpu_is_asked_for_only_where_there_is_none(folder, monkeypatch):
    quantised("vptq", config_for_layers={})(folder)
    monkeypatch.setattr(reasons, "is_torch_cuda_available", lambda: True)
    with pytest.raises(MissingPackage, match="pip install vptq"):
        load_model(str(folder))


def test_shards_that_are_whole_are_loaded(folder):
    in_shards(0, 1, 2)(folder)
    assert load_model(str(folder)).num_layers == 3


@pytest.mark.parametrize(
    ("name", "kind", "says"),
    [
        (
            "model.safetensors",
            ModelNotFound,
            "is one file of a model. Give its folder, with config.json, tokenizer and",
        ),
        ("pytorch_model.bin", ModelNotFound, "is one file of a model. Give its folder"),
        ("model.tar.gz", ModelNotFound, "is an archive. Unpack it, and give the folder of the model."),
        ("notes.txt", ModelNotFound, "is not a GGUF file: it does not begin with GGUF. Give the path of a .gguf file."),
        (
            "tiny-00002-of-00003.gguf",
            UnsupportedModel,
            "is one part of a split model. Its parts tiny-00001-of-00003.gguf, tiny-00003-of-00003.gguf are missing.",
        ),
    ],
)
def test_a_file_that_is_no_whole_model_is_refused_with_what_to_give(name, kind, says, tmp_path):
    if name.endswith("gguf"):
        save_gguf(tmp_path / name)
    else:
        (tmp_path / name).write_bytes(b"content")
    with pytest.raises(kind) as caught:
        load_model(str(tmp_path / name))
    assert f"{tmp_path / name} {says}" in str(caught.value)
    check_advice(str(caught.value), kind)


def test_one_of_two_gguf_files_is_named(tmp_path):
    for name in ("a.gguf", "b.gguf"):
        save_gguf(tmp_path / name)
    with pytest.raises(ModelNotFound, match=r"holds 2 GGUF files\. Name one of them, such as .*a\.gguf, .*b\.gguf"):
        load_model(str(tmp_path))
