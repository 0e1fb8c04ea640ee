"""The model of a run: loaded as it was asked for, and the same one as before when the run is gone on with."""

import hashlib
import re
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.runs.manifest import Answerer, Manifest, Request, write_manifest
from rauq.errors import ModelNotFound, RunError

if TYPE_CHECKING:
    from rauq.language_model import LanguageModel

_PACKAGES = ("numpy", "torch", "transformers")
_DECISIVE = ("*.safetensors", "*.json")  # of a model's folder: weights, shape and tokenizer
_COMMIT = re.compile(r"[0-9a-f]{40}")


def load_for(request: Request) -> "LanguageModel":
    """Load the model that a run asks for.

    Raises:
        ModelNotFound, UnsupportedModel, OutOfMemory, InvalidInput: as `rauq.load_model`.
    """
    from rauq.models import load_model

    return load_model(
        request.model, device=request.device, dtype=request.dtype, revision=request.revision, kind=request.kind
    )


def begun_commit(manifest: Manifest) -> str | None:
    """The commit of the hub that a run was begun with; None before that, and for a model that has no commit."""
    revision = manifest.answerer.revision if manifest.answerer else ""
    return revision if _COMMIT.fullmatch(revision) else None


def as_begun(manifest: Manifest) -> Request:
    """What `load_for` has to load for a run: the commit that it was begun with, for a branch may have moved since."""
    return replace(manifest.request, revision=begun_commit(manifest) or manifest.request.revision)


def with_answerer(folder: Path, manifest: Manifest, lm: "LanguageModel") -> Answerer:
    """The model as the manifest has it: written there with the packages at the first time, compared at every other.

    Raises:
        RunError: the run was begun with another model or other packages, or the manifest cannot be written.
        ModelNotFound: the model's folder has gone since it was loaded.
    """
    answerer = _answerer(lm, manifest.request)
    packages = tuple((name, version(name)) for name in _PACKAGES)
    found = replace(manifest, answerer=answerer, packages=packages)
    if manifest.answerer is None:
        write_manifest(folder, found)
    elif found != manifest:
        message = (
            f"{folder} was begun with {_differences(manifest, found)}. "
            "Go on with what it was begun with, or score into a new folder."
        )
        raise RunError(message)
    return answerer


def _answerer(lm: "LanguageModel", request: Request) -> Answerer:
    return Answerer(
        name=lm.name,
        revision=lm.revision,
        kind=lm.kind,
        dtype=lm.dtype,
        quantisation=lm.quantisation,
        layers=lm.layers,
        num_layers=lm.num_layers,
        num_heads=lm.num_heads,
        vocab_size=lm.vocab_size,
        weights_sha256=_sha256(Path(request.model).expanduser()) if lm.revision == "local" else "",
    )


def _sha256(folder: Path) -> str:
    """What tells the files of a model from others.

    Raises:
        ModelNotFound: they have gone since they were loaded.
    """
    digest = hashlib.sha256()
    paths = sorted(path for pattern in _DECISIVE for path in folder.glob(pattern))
    try:
        for path in paths:
            with path.open("rb") as file:
                digest.update(f"{path.name} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    except FileNotFoundError:
        paths = []
    if not paths:
        message = f"{folder} has gone since its model was loaded. Put it back, and resume the run."
        raise ModelNotFound(message)
    return digest.hexdigest()


def _differences(before: Manifest, now: Manifest) -> str:
    sides = [{**vars(side.answerer), **dict(side.packages)} for side in (before, now)]
    return ", ".join(
        f"{name.replace('_', ' ')} {value}, not {sides[1][name]}"
        for name, value in sides[0].items()
        if value != sides[1].get(name)
    )
