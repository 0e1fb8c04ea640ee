"""Folders of models in other formats: what they hold, and how it becomes a model that can be loaded."""

from pathlib import Path
from typing import NamedTuple

from rauq.checkpoints.folders import GGUF, local_models
from rauq.checkpoints.refusals.damage import not_its_content

_MOST_NAMED = 3
_OTHER_VERSION = "Get the version for transformers, which has config.json and *.safetensors, or a GGUF file."


class _Format(NamedTuple):
    """A format that is not read: files that only it has, its name, and what to do."""

    files: tuple[str, ...]
    name: str
    todo: str = _OTHER_VERSION


_FORMATS = (
    _Format(("model_index.json",), "a pipeline of diffusers, which is not a language model", "Choose another model."),
    _Format(
        ("*.distcp", "*/*.distcp"),
        "a sharded checkpoint of torch (FSDP)",
        "Merge it first: accelerate merge-weights, with that folder and a new one.",
    ),
    _Format(
        ("*_model_states.pt", "*/*_model_states.pt"),
        "a checkpoint of DeepSpeed",
        "Convert it first, with the zero_to_fp32.py that DeepSpeed writes beside it and --safe_serialization.",
    ),
    _Format(("consolidated*", "params.json"), "weights in the format of their maker (Meta, Mistral)"),
    _Format(("*.nemo", "model_weights/metadata.json"), "a checkpoint of NeMo"),
    _Format(("*.onnx", "onnx/*.onnx"), "weights for ONNX"),
    _Format(("openvino_model.xml",), "weights for OpenVINO"),
    _Format(("tf_model*.h5", "saved_model.pb"), "weights for TensorFlow"),
    _Format(("flax_model*.msgpack",), "weights for Flax"),
    _Format(("*.npz",), "weights for MLX"),
    _Format(("shared_vocabulary.*", "vocabulary.json"), "a model for CTranslate2"),
    _Format(("rank*.engine", "*.engine"), "a model for TensorRT"),
    _Format(("*.mlmodel", "*.mlpackage"), "a model for Core ML"),
    _Format(("*.tflite", "*.task", "*.litertlm"), "a model for LiteRT"),
)
_OF_FOLDERS = {".safetensors", ".json", ".bin", ".pt", ".pth", ".model"}
_ARCHIVES = {".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".zst", ".7z", ".rar"}
_PICKLED = ("*.bin", "*.pt", "*.pth", "*.ckpt")
_OF_TRAINING = ("training_args", "optimizer", "scheduler", "scaler", "rng_state")  # pickled, and not weights


def why_no_gguf(file: Path) -> str:
    """What a file is in place of a GGUF file, and what to do; empty where that is not known."""
    if file.suffix.lower() == GGUF and (why := not_its_content(file)):
        return why
    if file.suffix.lower() in _ARCHIVES:
        return f"{file} is an archive. Unpack it, and give the folder of the model."
    if file.suffix.lower() in _OF_FOLDERS:
        return f"{file} is one file of a model. Give its folder, with config.json, tokenizer and *.safetensors."
    return ""


def about_format(folder: Path) -> str:
    """What a folder holds in a format that is not read, and what to do; empty where none is recognised."""
    for one in _FORMATS:
        if any(file for pattern in one.files for file in folder.glob(pattern)):
            return f"The folder {folder} holds {one.name}. {one.todo}"
    return ""


def why_no_config(folder: Path) -> str:
    """Why a folder without config.json is no model, and what to give in its place."""
    if why := about_format(folder):
        return why
    models = ", ".join(map(str, local_models(folder)[:_MOST_NAMED]))
    if models:
        return f"The folder {folder} has no config.json. Give the folder of a model, such as {models}."
    if any(folder.glob("*.safetensors")):
        return f"The folder {folder} has no config.json. Get the other files of this model too."
    return f"The folder {folder} has no config.json. Give a folder that save_pretrained wrote, or a GGUF file."


def why_no_weights(folder: Path) -> str:
    """What a folder has in place of *.safetensors, and what to do; empty where it has those."""
    if any(folder.glob("*.safetensors")):
        return ""
    if why := about_format(folder):
        return why
    if _has_pickled(folder):
        return (
            f"The folder {folder} has only pickled weights, which are never read. Save the model with save_pretrained, "
            "which writes *.safetensors."
        )
    return f"The folder {folder} has no weights. Get its files *.safetensors too, or give a GGUF file."


def _has_pickled(folder: Path) -> bool:
    return any(not file.name.startswith(_OF_TRAINING) for pattern in _PICKLED for file in folder.glob(pattern))
