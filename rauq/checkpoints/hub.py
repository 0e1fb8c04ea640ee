"""Where a model is: in a folder, on the hub or in its cache, or in a GGUF file; and why it cannot be loaded."""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from huggingface_hub import (
    HfApi,
    HfFileMetadata,
    constants,
    get_hf_file_metadata,
    get_session,
    get_token,
    hf_hub_download,
    hf_hub_url,
    try_to_load_from_cache,
)
from huggingface_hub.errors import EntryNotFoundError, HFValidationError
from huggingface_hub.utils import hf_raise_for_status  # type: ignore[attr-defined]  # documented, and not in __all__

from rauq.checkpoints.folders import (
    ADAPTER_CONFIG,
    CONFIG,
    CONFIGS,
    GGUF,
    gguf_files,
    is_hub_file,
    is_language_gguf,
    looks_like_path,
)
from rauq.checkpoints.refusals.failures import why_no_hub
from rauq.checkpoints.refusals.formats import why_no_gguf
from rauq.checkpoints.refusals.reasons import plain_errors
from rauq.errors import InvalidInput, ModelNotFound

HUB_SECONDS = 5

_WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
_PARTIAL = 206  # HTTP: this is the part that was asked for
_DIGEST = re.compile(r"[0-9a-f]{64}")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_ANY = "latest"  # the tag that names no quantisation


def source_arguments(source: str, *, revision: str | None, otherwise: str) -> dict[str, Any]:
    """What to tell transformers so that it finds a folder, a model of the hub, or one of the cache without network.

    The hub is asked once with a short limit, since its own client retries for half a minute.

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
    else:
        found = any(is_there(source, name, where) for name in _WEIGHTS)
    if not found:
        raise not_there(source, where, _WEIGHTS)


def not_there(source: str, where: dict[str, Any], names: Sequence[str]) -> FileNotFoundError:
    """The error for files that are not there, which says whether the hub was asked."""
    unasked = where["local_files_only"] and not is_folder(source)
    place = " in the hub's cache, and the hub does not answer" if unasked else ""
    return FileNotFoundError(f"there is no {' or '.join(names)}{place}")


def is_there(source: str, file: str, where: dict[str, Any]) -> bool:
    """Whether a folder, or a model of the hub, has a file; without network, whether the hub's cache has it.

    Any error means that the hub does not answer.
    """
    if is_folder(source):
        return (Path(source) / file).is_file()
    if where["local_files_only"]:
        return isinstance(try_to_load_from_cache(source, file, revision=where["revision"]), str)
    return _is_on_hub(source, file, where["revision"])


def ask_hub(source: str, file: str, revision: str | None) -> HfFileMetadata:
    """The hub's metadata of a file of a model, within a short time limit; any error means that it is not available."""
    return get_hf_file_metadata(hf_hub_url(source, file, revision=revision), timeout=HUB_SECONDS)


def is_folder(source: str) -> bool:
    """Whether a name is that of a folder; a text that is no possible path is not."""
    return os.path.isdir(source)  # noqa: PTH112 - a Path raises where a name is no possible path


def cached_commit(source: str, revision: str | None) -> str | None:
    """The commit of a hub model whose config is in the cache (.../snapshots/<commit>/config.json), else None."""
    found = (try_to_load_from_cache(source, name, revision=revision) for name in CONFIGS)
    return next((Path(config).parent.name for config in found if isinstance(config, str)), None)


def _is_here(source: str, revision: str | None, otherwise: str) -> bool:
    """Whether to do without the network: a folder, or a model in the cache while the hub does not answer."""
    if is_folder(source):
        return True
    if looks_like_path(source):
        message = f"Folder {source!r} not found. Check the path, or give the hub id of a model."
        raise ModelNotFound(message)
    try:
        if not _is_on_hub(source, CONFIG, revision):
            ask_hub(source, ADAPTER_CONFIG, revision)
    except Exception as error:  # the network, the hub and the name can each be the cause
        if not isinstance(error, HFValidationError) and cached_commit(source, revision):
            return True
        if isinstance(error, EntryNotFoundError) and (files := _gguf_on_hub(source, revision)):
            message = f"{source} has GGUF files, and no config.json. {_such_as(source, files)}"
            raise ModelNotFound(message) from error
        raise ModelNotFound(why_no_hub(source, error, otherwise=otherwise)) from error
    return False


def _gguf_on_hub(source: str, revision: str | None) -> list[str]:
    """The GGUF files of a model of the hub; none where it does not answer."""
    try:
        return _of_tag(hub_files(source, revision), _ANY)
    except Exception:  # noqa: BLE001 - as in ask_hub; the error that led here is reported
        return []


def _is_on_hub(source: str, file: str, revision: str | None) -> bool:
    try:
        ask_hub(source, file, revision)
    except EntryNotFoundError:
        return False
    return True


_MOST_NAMED = 3


@dataclass(frozen=True, kw_only=True)
class HubFile:
    """A file of a model (organisation/name) on the hub that is not on this machine; it has `num_bytes`."""

    model: str
    file: str
    revision: str | None
    num_bytes: int

    @property
    def name(self) -> str:
        """The name by which a user asks for it."""
        return f"{self.model}/{self.file}"

    def read(self, start: int, length: int) -> bytes:
        """Some bytes of it, fewer where it ends before; nothing is kept.

        Raises:
            ModelNotFound: the hub does not give them.
        """
        headers = {"Range": f"bytes={start}-{start + length - 1}", "Accept-Encoding": "identity"}
        if token := get_token():
            headers["Authorization"] = f"Bearer {token}"
        url = hf_hub_url(self.model, self.file, revision=self.revision)
        with (
            plain_errors(self.name, "header"),
            get_session().stream("GET", url, headers=headers, timeout=HUB_SECONDS) as answer,
        ):
            hf_raise_for_status(answer)
            first = start if answer.status_code == _PARTIAL else 0  # not every mirror of the hub gives parts
            content = bytearray()
            for chunk in answer.iter_bytes():
                content += chunk
                if first + len(content) >= start + length:
                    break
        return bytes(content[start - first : start - first + length])

    def download(self) -> Path:
        """Fetch it into the hub's cache.

        Raises:
            ModelNotFound: it cannot be fetched.
        """
        with plain_errors(self.name, "file"):
            return Path(hf_hub_download(self.model, self.file, revision=self.revision))


def find_gguf(source: str, *, revision: str | None) -> Path | HubFile | None:
    """The GGUF file that a name stands for; None where it stands for something else.

    An existing path comes before a hub id. Any file counts, since its header is checked later. A file on the hub that
    is not in the cache yet is not fetched.

    Args:
        source: A file, a folder, or organisation/model/file.gguf on the hub.
        revision: Branch, tag or commit on the hub; or the file's own sha256, which is compared later.

    Raises:
        ModelNotFound: a folder holds several, there is no such file, or the network is missing.
        InvalidInput: a revision other than a sha256 for a file that is here.
    """
    if os.path.isfile(source):  # noqa: PTH113 - a Path raises where a name is no possible path
        found: Path | None = Path(source)
    elif os.path.isdir(source):  # noqa: PTH112 - the same
        found = _only_one(Path(source))
    elif is_hub_file(source):
        return _from_hub(source, None if is_digest(revision) else revision)
    elif source.lower().endswith(".gguf"):
        message = f"File {source!r} not found. Check the path; a file on the hub is named organisation/model/file.gguf."
        raise ModelNotFound(message)
    else:
        return None
    if found is not None and (why := why_no_gguf(found)):
        raise ModelNotFound(why)
    if found is not None and revision is not None and not is_digest(revision):
        message = f"The revision of {source} is its sha256, in 64 hexadecimal digits; got {revision!r}. Leave it out."
        raise InvalidInput(message)
    return found


def gguf_of_tag(model: str, tag: str, *, revision: str | None) -> str:
    """The GGUF file of a model of the hub that a quantisation, such as Q4_K_M, or a file's name stands for.

    Only the hub knows which files a tag could mean: its cache, which may hold one of several, is used if the request
    fails, for that revision, and never for the tag latest, which stands for an only file.

    Raises:
        ModelNotFound: no file or several, or the hub cannot be asked.
    """
    revision = None if is_digest(revision) else revision
    try:
        names = hub_files(model, revision)
    except Exception as error:  # the network, the hub and the name can each be the cause
        cached = _cached_files(model, revision)
        if tag.lower() != _ANY and len(found := _of_tag(cached, tag)) == 1:
            return found[0]
        otherwise = _such_as(model, _of_tag(cached, _ANY)) or "A GGUF file on this machine works without the hub."
        raise ModelNotFound(why_no_hub(f"{model}:{tag}", error, otherwise=otherwise)) from error
    if len(found := _of_tag(names, tag)) == 1:
        return found[0]
    todo = _such_as(model, found or _of_tag(names, _ANY)) or f"A revision is given as {model}@{tag}."
    message = f"{model} has {_about_tag(found, tag)}. {todo}"
    raise ModelNotFound(message)


def _about_tag(found: Sequence[str], tag: str) -> str:
    if not found:
        return "no GGUF file" if tag.lower() == _ANY else f"no GGUF file tagged {tag}"
    return f"several GGUF files, so {tag} is ambiguous"


def _such_as(model: str, files: Sequence[str]) -> str:
    names = ", ".join(f"{model}/{name}" for name in files[:_MOST_NAMED])
    return f"Name a file that is there, such as {names}." if names else ""


def hub_files(model: str, revision: str | None) -> list[str]:
    """The names of all files of a model on the hub, within a short time limit; errors as of `ask_hub`."""
    found = HfApi().model_info(model, revision=revision, timeout=HUB_SECONDS).siblings or []
    return sorted(file.rfilename for file in found)


def _cached_files(model: str, revision: str | None) -> list[str]:
    """The GGUF files in the hub's cache of a model in one revision: a branch or tag, or a commit in full."""
    place = Path(constants.HF_HUB_CACHE, f"models--{model.replace('/', '--')}")
    named = place / "refs" / (revision or constants.DEFAULT_REVISION)
    commit = named.read_text(encoding="utf-8").strip() if named.is_file() else revision or ""
    if _COMMIT.fullmatch(commit) is None:
        return []
    folder = place / "snapshots" / commit
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob(f"*{GGUF}"))


def _of_tag(names: Iterable[str], tag: str) -> list[str]:
    """The GGUF files whose name has a tag as a word of its own."""
    files = [name for name in names if is_language_gguf(name.rpartition("/")[2])]
    if tag.lower() == _ANY:
        return files
    word = re.compile(rf"(?<![a-z0-9]){re.escape(tag.lower().removesuffix(GGUF))}(?![a-z0-9_])")
    return [name for name in files if word.search(name.rpartition("/")[2].lower())]


def is_digest(revision: str | None) -> bool:
    """Whether a revision is the sha256 of a file, not a branch, a tag or a commit."""
    return revision is not None and _DIGEST.fullmatch(revision) is not None


def _only_one(folder: Path) -> Path | None:
    """The GGUF file of a folder that holds no model in another format, and no adapter."""
    files = gguf_files(folder)
    has_model = (folder / CONFIG).is_file() and any(folder.glob("*.safetensors"))
    if not files or has_model or (folder / ADAPTER_CONFIG).is_file():
        return None
    if len(files) > 1:
        names = ", ".join(str(file) for file in files[:_MOST_NAMED])
        message = f"The folder {folder} holds {len(files)} GGUF files. Name one of them, such as {names}."
        raise ModelNotFound(message)
    return files[0]


def _from_hub(source: str, revision: str | None) -> Path | HubFile:
    organisation, name, file = source.split("/", 2)
    model = f"{organisation}/{name}"
    try:
        metadata = ask_hub(model, file, revision)
    except Exception as error:  # the network, the hub and the name can each be the cause
        cached = (
            None if isinstance(error, HFValidationError) else try_to_load_from_cache(model, file, revision=revision)
        )
        if isinstance(cached, str):
            return Path(cached)
        otherwise = 'A GGUF file on this machine works without the hub, and "atlas" is embedded.'
        raise ModelNotFound(why_no_hub(source, error, otherwise=otherwise)) from error
    hub_file = HubFile(model=model, file=file, revision=revision, num_bytes=metadata.size or 0)
    is_here = isinstance(try_to_load_from_cache(model, file, revision=metadata.commit_hash), str)
    return hub_file.download() if is_here or metadata.size is None else hub_file
