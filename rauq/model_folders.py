"""Which models are on this machine already: folders, and the hub's cache. Nothing is loaded."""

import os
import re
from pathlib import Path

CONFIG = "config.json"
GGUF = ".gguf"
MOST_MODELS = 50  # as many as one can choose from

_PROJECTOR = "mmproj"  # of images or audio, in a file of its own
_LATER_PART = re.compile(r"-(?!00001)\d{5}-of-\d{5}\.gguf$")


def local_models(folder: str | os.PathLike[str]) -> tuple[Path, ...]:
    """The folder itself, if it holds a model, else the models in it and its subfolders, sorted; at most 50.

    A model is a folder with a config, or a GGUF file.

    Whatever cannot be read is left out; a text that is no possible path names no model.
    """
    try:
        root = Path(os.path.expanduser(folder))  # noqa: PTH111 - a Path raises where there is no such user
    except ValueError:  # no possible name of a user
        return ()
    found = (
        [root]
        if _is_file(root / CONFIG)
        else [*gguf_files(root), *(one for path in _listed(root) for one in _models_in(path))]
    )
    return tuple(sorted(found)[:MOST_MODELS])


def cached_models() -> tuple[str, ...]:
    """Hub ids of the models in the local cache of the hub that have a config and safetensors, sorted."""
    from huggingface_hub import CacheNotFound, constants, scan_cache_dir

    try:
        repositories = scan_cache_dir(constants.HF_HUB_CACHE).repos
    except (CacheNotFound, OSError, ValueError):  # ValueError: the cache's place is a file
        return ()
    return tuple(
        sorted(
            repository.repo_id
            for repository in repositories
            if repository.repo_type == "model"
            and any(_is_model({file.file_name for file in revision.files}) for revision in repository.revisions)
        )
    )


def gguf_files(folder: Path) -> list[Path]:
    """The GGUF files of a folder that hold a language model, sorted."""
    return sorted(path for path in _listed(folder) if is_language_gguf(path.name) and _is_file(path))


def is_language_gguf(name: str) -> bool:
    """Whether a file of this name may hold a language model: not a projector, and not a later part of one."""
    lower = name.lower()
    return lower.endswith(GGUF) and not lower.startswith(_PROJECTOR) and not _LATER_PART.search(lower)


def looks_like_path(name: str) -> bool:
    """Whether a name is meant as a path: hub ids are `name`, `organisation/name`, or `organisation/name/file.gguf`."""
    begins = name.startswith(("/", ".", "~")) or "\\" in name
    return begins or (name.count("/") > 1 and not name.lower().endswith(GGUF))


def is_hub_file(name: str) -> bool:
    """Whether a name is meant as a GGUF file of a model on the hub: `organisation/name/file.gguf`."""
    return name.count("/") > 1 and name.lower().endswith(GGUF) and not looks_like_path(name)


def _is_model(names: set[str]) -> bool:
    return CONFIG in names and any(name.endswith(".safetensors") for name in names)


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except (OSError, ValueError):  # ValueError: no possible path
        return []


def _models_in(folder: Path) -> list[Path]:
    return [folder] if _is_file(folder / CONFIG) else gguf_files(folder)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False
