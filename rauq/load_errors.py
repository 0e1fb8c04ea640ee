"""Why a model cannot be had, in plain words: what is wrong with its folder, its name or the network."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from huggingface_hub.errors import HfHubHTTPError, HFValidationError, RevisionNotFoundError

from rauq.errors import ModelNotFound, RauqError, UnsupportedModel
from rauq.model_folders import local_models

_MOST_NAMED = 3
_UNSUPPORTED = MappingProxyType(
    {
        "trust_remote_code": "it comes with code of its own, which is never run",
        "Unrecognized configuration class": "it is no causal language model",
    }
)


@contextmanager
def plain_errors(source: str | Path, part: str) -> Iterator[None]:
    """Turn what goes wrong with one part of a model (config.json, tokenizer or weights) into an error that says why."""
    try:
        yield
    except RauqError:
        raise
    except Exception as error:  # other people's files fail in any way
        raise _why_not(Path(source), part, error) from error


def why_no_hub(source: str, error: Exception, *, otherwise: str) -> str:
    """Why the hub gave nothing: the revision, the name, or the network; `otherwise` is what can be done without it."""
    if isinstance(error, RevisionNotFoundError):
        return f"{source!r} is on the hub, but not in this revision ({_short(error)}). Check the branch, tag or commit."
    if isinstance(error, HfHubHTTPError | HFValidationError):
        return (
            f"Folder {source!r} not found, and no model of that name is available on the hub ({_short(error)}). "
            "Check the spelling and the access, or give a folder that save_pretrained wrote."
        )
    return (
        f"Folder {source!r} not found, and the hub cannot be reached: there is no network ({_short(error)}). "
        f"{otherwise}"
    )


def _why_not(source: Path, part: str, error: Exception) -> RauqError:
    for sign, reason in _UNSUPPORTED.items():
        if sign in str(error):
            return UnsupportedModel(f"{source} cannot be used: {reason}.")
    if not source.is_dir():
        return ModelNotFound(f"The {part} of {source} cannot be loaded ({_short(error)}). Choose another model.")
    if part == "config.json" and not (source / part).is_file():
        models = ", ".join(map(str, local_models(source)[:_MOST_NAMED]))
        wanted = (
            f"the folder of a model, such as {models}"
            if models
            else "a folder that save_pretrained wrote, or a GGUF file"
        )
        return ModelNotFound(f"The folder {source} has no config.json. Give {wanted}.")
    if part == "weights" and not list(source.glob("*.safetensors")):
        found = "only pickled weights, which are never read" if _pickled(source) else "no weights"
        return ModelNotFound(
            f"The folder {source} has {found}. Save the model with save_pretrained, which writes *.safetensors."
        )
    return ModelNotFound(
        f"The {part} in {source} cannot be loaded ({_short(error)}). Save model and tokenizer there again."
    )


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def _pickled(folder: Path) -> bool:
    return any(list(folder.glob(pattern)) for pattern in ("*.bin", "*.pt", "*.pth", "*.ckpt"))
