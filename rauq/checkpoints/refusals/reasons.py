"""Why a model cannot be loaded, and what to do about it."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

from huggingface_hub import try_to_load_from_cache

from rauq.checkpoints.folders import CONFIG
from rauq.checkpoints.refusals.damage import damage
from rauq.checkpoints.refusals.failures import hub_failure, short
from rauq.checkpoints.refusals.formats import about_format, why_no_config, why_no_weights
from rauq.errors import MissingPackage, ModelNotFound, RauqError, UnsupportedModel
from rauq.transformers_api import CONFIG_MAPPING, is_torch_cuda_available

_UNSUPPORTED = MappingProxyType(
    {
        "trust_remote_code": "it needs its own code, which is never run",
        "Unrecognized configuration class": "it is not a causal language model",
    }
)
# What transformers needs for a kind of quantisation: names of packages, and of the modules in them.
_PACKAGES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "gptq": {"optimum": "optimum", "gptqmodel": "gptqmodel"},
        "awq": {"gptqmodel": "gptqmodel"},
        "bitsandbytes": {"bitsandbytes": "bitsandbytes"},
        "compressed-tensors": {"compressed-tensors": "compressed_tensors"},
        "hqq": {"hqq": "hqq"},
        "quanto": {"optimum-quanto": "optimum.quanto"},
        "quark": {"amd-quark": "quark"},
        "aqlm": {"'aqlm[cpu]'": "aqlm"},
        "torchao": {"torchao": "torchao"},
        "auto-round": {"auto-round": "auto_round"},
    }
)
_NEED_GPU = frozenset({"vptq", "eetq", "spqr", "higgs", "fbgemm_fp8", "fp_quant", "fouroversix"})
_PIP = re.compile(r"pip install (?:-U |--upgrade )?([^`'\")\s]+)")
_VOCABULARIES = ("tokenizer.json", "*.model", "vocab*", "tekken.json", "*.tiktoken")
_SENTENCEPIECE = ("tokenizer.model", "spiece.model", "sentencepiece.bpe.model")


@contextmanager
def plain_errors(source: str | Path, part: str) -> Iterator[None]:
    """Turn what goes wrong with one part of a model (config.json, tokenizer or weights) into an error that says why."""
    try:
        yield
    except RauqError:
        raise
    except Exception as error:  # foreign files can raise any exception
        raise _why_not(Path(source), part, error) from error


def _why_not(source: Path, part: str, error: Exception) -> RauqError:
    for sign, reason in _UNSUPPORTED.items():
        if sign in str(error):
            return UnsupportedModel(f"{source} cannot be used: {reason}.")
    if not source.is_dir() and (failure := hub_failure(error)) is not None:
        return ModelNotFound(f"The {part} of {source} cannot be loaded: {failure.what}. {failure.todo}")
    config = _config(source)
    if why := _unknown_type(source, part, config):
        return UnsupportedModel(why)
    if source.is_dir() and (why := _problem_with_files(source, part, config)):
        return ModelNotFound(why)
    return _lacks(source, config, error) or ModelNotFound(
        f"The {part} {'in' if source.is_dir() else 'of'} {source} cannot be loaded ({short(error)}). "
        "Choose another model, or get this one again."
    )


def _problem_with_files(folder: Path, part: str, config: Any) -> str:
    """What is wrong with the files of a folder, and what to do; empty where nothing is found."""
    if part == CONFIG and not (folder / part).is_file():
        return why_no_config(folder)
    if why := damage(folder, part):
        return why
    if part == CONFIG and not (isinstance(config, dict) and config.get("model_type")):
        return about_format(folder) or (
            f"The config.json in {folder} has no model_type, which says what kind of model it is. Put there the "
            "config.json that the model was published with."
        )
    if part == "tokenizer" and not any(file for pattern in _VOCABULARIES for file in folder.glob(pattern)):
        return (
            f"The folder {folder} has no vocabulary of a tokenizer, such as tokenizer.json. Copy the tokenizer's files "
            "there from the model that this one was made from."
        )
    return why_no_weights(folder) if part == "weights" else ""


def _lacks(source: Path, config: Any, error: Exception) -> RauqError | None:
    """The error where a package or a GPU is missing."""
    method = _method(config)
    needs = f"{source} is quantised with {method}, which needs" if method else f"{source} needs"
    if packages := _missing(source, method, error):
        plural = "packages that are" if len(packages) > 1 else "a package that is"
        return MissingPackage(f"{needs} {plural} not installed. Install it: pip install {' '.join(packages)}")
    if method and (_lacks_gpu(method) or re.search(r"\b(GPU|CUDA|XPU)\b", str(error))):
        todo = "Choose the model without quantisation, or a GGUF file of it."
        return UnsupportedModel(f"{needs} a GPU that this machine does not have. {todo}")
    return None


def _lacks_gpu(method: str) -> bool:
    return method in _NEED_GPU and not is_torch_cuda_available()


def _missing(source: Path, method: str, error: Exception) -> list[str]:
    """The packages, as pip names them, without which a model cannot be loaded."""
    if not isinstance(error, ImportError) and "pip install" not in str(error):
        return []
    if absent := [name for name, module in _PACKAGES.get(method, {}).items() if not _is_installed(module)]:
        return absent
    if _lacks_gpu(method):
        return []
    if any((source / name).is_file() for name in _SENTENCEPIECE):
        return [name for name in ("sentencepiece",) if not _is_installed(name)]
    named = [name for name in _PIP.findall(str(error)) if not name.startswith("transformers")]
    return named or ([error.name.partition(".")[0]] if isinstance(error, ModuleNotFoundError) and error.name else [])


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of the package that it is in
        return False


def _method(config: Any) -> str:
    """The kind of quantisation that a config names; empty where there is none."""
    fields = config.get("quantization_config") if isinstance(config, dict) else None
    if not isinstance(fields, dict):
        return ""
    is_bitsandbytes = fields.get("load_in_4bit") or fields.get("load_in_8bit")
    return str(fields.get("quant_method") or ("bitsandbytes" if is_bitsandbytes else ""))


def _unknown_type(source: Path, part: str, config: Any) -> str:
    name = config.get("model_type") if isinstance(config, dict) else None
    if part != CONFIG or not name or name in CONFIG_MAPPING:
        return ""
    return (
        f"{source} is a model of the type {name!r}, which transformers {version('transformers')}, installed here, does "
        "not know. Choose another model."
    )


def _config(source: Path) -> Any:
    """The config of a folder, or of a hub model in the cache; None where there is none that can be read."""
    found = source / CONFIG if source.is_dir() else _cached(str(source))
    try:
        return json.loads(found.read_text(encoding="utf-8")) if found else None
    except (OSError, ValueError):
        return None


def _cached(name: str) -> Path | None:
    try:
        found = try_to_load_from_cache(name, CONFIG)
    except ValueError:  # no possible name of a model
        return None
    return Path(found) if isinstance(found, str) else None
