"""Weights that the hub has only pickled: its own conversion of them to safetensors is taken instead.

The judge of entailment that the paper uses is such a model.
"""

from pathlib import Path
from typing import Any

from huggingface_hub import constants, get_repo_discussions, try_to_load_from_cache
from huggingface_hub.file_download import repo_folder_name

from rauq.errors import ModelNotFound
from rauq.whereabouts import require_safetensors

_CONVERTER = "SFconvertbot"  # the hub's own account, which offers conversions as pull requests
_WEIGHTS = "model.safetensors"


def with_safetensors(source: str, where: dict[str, Any]) -> dict[str, Any]:
    """Where to load a model from, as `rauq.whereabouts.whereabouts` gives it, so that its weights are safetensors.

    Raises:
        ModelNotFound: the hub has them only pickled.
        FileNotFoundError: the folder, the cache or the revision that was asked for has none.
    """
    try:
        require_safetensors(source, where)
    except FileNotFoundError:
        found = None if where["revision"] else _cached(source) if where["local_files_only"] else _offered(source)
        if found is None:
            raise
        return {**where, "revision": found}
    return where


def _offered(source: str) -> str:
    for offer in get_repo_discussions(source, author=_CONVERTER, discussion_type="pull_request"):
        if offer.author == _CONVERTER:
            return f"refs/pr/{offer.num}"
    message = (
        f"The hub has the weights of {source} only pickled, which are never read, and offers no conversion of them. "
        "Save the model as safetensors with save_pretrained, and give that folder."
    )
    raise ModelNotFound(message)


def _cached(source: str) -> str | None:
    """The conversion that was loaded when there was a network; a folder has none."""
    requests = Path(constants.HF_HUB_CACHE, repo_folder_name(repo_id=source, repo_type="model"), "refs/refs/pr")
    revisions = [f"refs/pr/{request.name}" for request in sorted(requests.glob("*"))]
    return next((name for name in revisions if try_to_load_from_cache(source, _WEIGHTS, revision=name)), None)
