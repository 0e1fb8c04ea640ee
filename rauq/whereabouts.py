"""Where a model is: in a folder, on the hub, or in the hub's cache on this machine."""

import os
from pathlib import Path
from typing import Any

from huggingface_hub import HfFileMetadata, get_hf_file_metadata, hf_hub_url, try_to_load_from_cache
from huggingface_hub.errors import EntryNotFoundError, HFValidationError

from rauq.errors import ModelNotFound
from rauq.load_errors import why_no_hub
from rauq.model_folders import looks_like_path

HUB_SECONDS = 5

_WEIGHTS = ("model.safetensors", "model.safetensors.index.json")


def whereabouts(source: str, *, revision: str | None, otherwise: str) -> dict[str, Any]:
    """What to tell transformers so that it finds a folder, a model of the hub, or one of the cache without network.

    The hub is asked once with a short limit, since its own client goes on trying for half a minute.

    Args:
        source: A folder or the hub id of a model.
        revision: Branch, tag or commit on the hub.
        otherwise: What the error says can be done where there is no network.

    Raises:
        ModelNotFound: no such folder, nothing of that name on the hub, or no network and nothing in the cache.
    """
    return {
        "revision": revision,
        "local_files_only": _is_here(source, revision, otherwise),
        "trust_remote_code": False,
    }


def require_safetensors(source: str, where: dict[str, Any]) -> None:
    """Refuse a model whose weights are pickled, or not there.

    Raises:
        FileNotFoundError: it has no safetensors.
    """
    if is_folder(source):
        found = bool(list(Path(source).glob("*.safetensors")))
    elif where["local_files_only"]:
        found = any(
            isinstance(try_to_load_from_cache(source, name, revision=where["revision"]), str) for name in _WEIGHTS
        )
    else:
        found = any(_is_on_hub(source, name, where["revision"]) for name in _WEIGHTS)
    if not found:
        unasked = where["local_files_only"] and not is_folder(source)
        place = " in the hub's cache, and the hub does not answer" if unasked else ""
        message = f"there is no {' or '.join(_WEIGHTS)}{place}"
        raise FileNotFoundError(message)


def ask_hub(source: str, file: str, revision: str | None) -> HfFileMetadata:
    """The hub's metadata of a file of a model, within a short time limit; any error means that it is not available."""
    return get_hf_file_metadata(hf_hub_url(source, file, revision=revision), timeout=HUB_SECONDS)


def is_folder(source: str) -> bool:
    """Whether a name is that of a folder; a text that is no possible path is not."""
    return os.path.isdir(source)  # noqa: PTH112 - a Path raises where a name is no possible path


def cached_commit(source: str, revision: str | None) -> str | None:
    """The commit of a hub model whose config is in the cache; None where it is not."""
    config = try_to_load_from_cache(source, "config.json", revision=revision)
    return Path(config).parent.name if isinstance(config, str) else None  # .../snapshots/<commit>/config.json


def _is_here(source: str, revision: str | None, otherwise: str) -> bool:
    """Whether to do without the network: a folder, or a model in the cache while the hub does not answer."""
    if is_folder(source):
        return True
    if looks_like_path(source):
        message = f"Folder {source!r} not found. Check the path, or give the hub id of a model."
        raise ModelNotFound(message)
    try:
        ask_hub(source, "config.json", revision)
    except Exception as error:  # the network, the hub and the name can each be at fault
        if not isinstance(error, HFValidationError) and cached_commit(source, revision):
            return True
        raise ModelNotFound(why_no_hub(source, error, otherwise=otherwise)) from error
    return False


def _is_on_hub(source: str, file: str, revision: str | None) -> bool:
    try:
        ask_hub(source, file, revision)
    except EntryNotFoundError:
        return False
    return True
