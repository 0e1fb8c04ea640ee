"""Which models are on this machine already: folders, and the hub's cache. Nothing is loaded."""

import os
from pathlib import Path

CONFIG = "config.json"
MOST_MODELS = 50  # as many as one can choose from


def local_models(folder: str | os.PathLike[str]) -> tuple[Path, ...]:
    """The folder itself, if it holds a model, else those of its subfolders that do; at most 50, sorted.

    Whatever cannot be read is left out; a text that is no possible path names no model.
    """
    try:
        root = Path(os.path.expanduser(folder))  # noqa: PTH111 - a Path raises where there is no such user
    except ValueError:  # no possible name of a user
        return ()
    found = [root] if _has_config(root) else [path for path in _listed(root) if _has_config(path)]
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


def looks_like_path(name: str) -> bool:
    """Whether a name is meant as a folder: hub ids are `name` or `organisation/name`."""
    return name.startswith(("/", ".", "~")) or "\\" in name or name.count("/") > 1


def _is_model(names: set[str]) -> bool:
    return CONFIG in names and any(name.endswith(".safetensors") for name in names)


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except (OSError, ValueError):  # ValueError: no possible path
        return []


def _has_config(folder: Path) -> bool:
    try:
        return (folder / CONFIG).is_file()
    except (OSError, ValueError):
        return False
