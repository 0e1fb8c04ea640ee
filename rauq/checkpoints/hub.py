"""Where a model is: in a folder, on the hub or in its cache, or in a GGUF file; and why it cannot be loaded."""

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from huggingface_hub import (
    HfFileMetadata,
    get_hf_file_metadata,
    get_session,
    get_token,
    hf_hub_download,
    hf_hub_url,
    try_to_load_from_cache,
)
from huggingface_hub.errors import EntryNotFoundError, HFValidationError
from huggingface_hub.utils import hf_raise_for_status  # type: ignore[attr-defined]  # documented, and not in __all__

from rauq.checkpoints.folders import CONFIG, gguf_files, is_hub_file, local_models, looks_like_path
from rauq.errors import InvalidInput, ModelNotFound, RauqError, UnsupportedModel

HUB_SECONDS = 5

_WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
_PARTIAL = 206  # HTTP: this is the part that was asked for
_DIGEST = re.compile(r"[0-9a-f]{64}")


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
    except Exception as error:  # the network, the hub and the name can each be the cause
        if not isinstance(error, HFValidationError) and cached_commit(source, revision):
            return True
        raise ModelNotFound(_why_no_hub(source, error, otherwise=otherwise)) from error
    return False


def _is_on_hub(source: str, file: str, revision: str | None) -> bool:
    try:
        ask_hub(source, file, revision)
    except EntryNotFoundError:
        return False
    return True


_MOST_NAMED = 3
_UNSUPPORTED = MappingProxyType(
    {
        "trust_remote_code": "it needs its own code, which is never run",
        "Unrecognized configuration class": "it is not a causal language model",
    }
)


_LOG_IN = "Accept its terms on the hub, and log in: hf auth login, or a token in the variable HF_TOKEN."
_AGAIN = "Try again later."


@dataclass(frozen=True, kw_only=True)
class HubFailure:
    """A kind of failure of the hub: what happened, and what to do.

    It is recognised by the `names` of an exception's classes (httpx, httpx2, requests and aiohttp each have their own
    under the same names), by an HTTP status from `statuses`, by `errnos`, or by what the exception `says`. If it is
    the `network` that fails, a model on this machine still works.
    """

    what: str
    todo: str
    names: frozenset[str] = frozenset()
    statuses: range = range(0)
    errnos: tuple[int, ...] = ()
    says: str = ""
    network: bool = False

    def matches(self, error: BaseException) -> bool:
        """Whether an exception, without what led to it, is of this kind."""
        return (
            any(parent.__name__ in self.names for parent in type(error).__mro__)
            or _status(error) in self.statuses
            or getattr(error, "errno", None) in self.errnos
            or bool(self.says and self.says in str(error))
        )


# The first match counts, so special kinds come before general ones.
_FAILURES = (
    HubFailure(
        what="the disk is full",
        todo="Free disk space, or keep the hub's files on another disk: the variable HF_HOME names their folder.",
        errnos=(errno.ENOSPC, errno.EDQUOT),
        says="No space left on device",
    ),
    HubFailure(
        what="the hub was not contacted, since HF_HUB_OFFLINE is set",
        todo="Unset that variable.",
        names=frozenset({"OfflineModeIsEnabled"}),
        network=True,
    ),
    HubFailure(
        what="no secure connection to the hub is possible: its certificate, or that of a proxy, was rejected",
        todo="Check this machine's clock, and name the certificates of a proxy in the variable SSL_CERT_FILE.",
        names=frozenset({"SSLError"}),
        says="[SSL",
        network=True,
    ),
    HubFailure(
        what="the proxy does not reach the hub",
        todo="Check the variables HTTPS_PROXY and NO_PROXY.",
        names=frozenset({"ProxyError"}),
        statuses=range(407, 408),
        network=True,
    ),
    HubFailure(
        what="the hub gives access only to users who have accepted its terms",
        todo=_LOG_IN,
        names=frozenset({"GatedRepoError"}),
    ),
    HubFailure(what="the hub has disabled it", todo="Choose another {thing}.", names=frozenset({"DisabledRepoError"})),
    HubFailure(
        what="the hub has this {thing}, but not in that revision",
        todo="Give a branch, a tag or a commit that it has, or leave the revision out.",
        names=frozenset({"RevisionNotFoundError"}),
    ),
    HubFailure(
        what="the hub has this {thing}, but not that file",
        todo="Check the spelling; a GGUF file is named organisation/model/file.gguf.",
        names=frozenset({"RemoteEntryNotFoundError"}),
    ),
    HubFailure(
        what="no {thing} of that name is available on the hub",
        todo="Check the spelling; a private one needs a token: hf auth login, or the variable HF_TOKEN.",
        names=frozenset({"RepositoryNotFoundError", "HFValidationError"}),
    ),
    HubFailure(
        what="the hub does not give this user access",
        todo=_LOG_IN,
        names=frozenset({"LocalTokenNotFoundError"}),
        statuses=range(401, 404),
    ),
    HubFailure(
        what="the hub received too many requests from this machine",
        todo="Try again in some minutes; more requests are allowed after hf auth login.",
        statuses=range(429, 430),
        network=True,
    ),
    HubFailure(what="the hub reports an internal error", todo=_AGAIN, statuses=range(500, 600), network=True),
    HubFailure(
        what="the hub refuses the request",
        todo="Check the name, and HF_ENDPOINT if that variable is set.",
        statuses=range(400, 500),
    ),
    HubFailure(
        what="the server that answered is not the hub",
        todo="Check the proxy, and HF_ENDPOINT if that variable is set.",
        names=frozenset({"FileMetadataError"}),
        network=True,
    ),
    HubFailure(
        what="the hub cannot be reached: it did not answer in time",
        todo=_AGAIN,
        names=frozenset({"TimeoutException", "TimeoutError", "Timeout"}),
        network=True,
    ),
    HubFailure(
        what="the download was interrupted, or differs from what the hub announced",
        todo="Try again.",
        names=frozenset(
            {"RemoteProtocolError", "ReadError", "IncompleteRead", "ChunkedEncodingError", "ClientPayloadError"}
            | {"ConnectionResetError", "XetDownloadError"}
        ),
        says="Consistency check failed",
        network=True,
    ),
    HubFailure(
        what="the hub cannot be reached: there is no network",
        todo="Connect this machine to a network.",
        names=frozenset({"NetworkError", "ConnectionError", "ClientConnectionError"}),
        network=True,
    ),
    HubFailure(
        what="it is not in the hub's cache on this machine, and the hub was not contacted",
        todo="Connect this machine to a network.",
        names=frozenset({"LocalEntryNotFoundError"}),
        network=True,
    ),
)


@contextmanager
def plain_errors(source: str | Path, part: str) -> Iterator[None]:
    """Turn what goes wrong with one part of a model (config.json, tokenizer or weights) into an error that says why."""
    try:
        yield
    except RauqError:
        raise
    except Exception as error:  # foreign files can raise any exception
        raise _why_not(Path(source), part, error) from error


def _why_no_hub(source: str, error: Exception, *, otherwise: str) -> str:
    """The error for a failure of the hub; `otherwise` is what can be done without a network."""
    if (found := hub_failure(error)) is None:
        return f"Folder {source!r} not found, and the request to the hub failed ({_short(error)}). {otherwise}"
    return f"Folder {source!r} not found, and {found.what}. {found.todo}{' ' + otherwise if found.network else ''}"


def hub_failure(error: BaseException, *, thing: str = "model") -> HubFailure | None:
    """What happened if the hub gave no `thing`, from an exception and its causes; None if it is something else.

    Its `what` ends with the name of the exception, or with the HTTP status.
    """
    chain = list(_causes(error))
    for kind in _FAILURES:
        if (cause := next(filter(kind.matches, chain), None)) is not None:
            by = f"HTTP {_status(cause)}" if _status(cause) in kind.statuses else type(cause).__name__
            return replace(kind, what=f"{kind.what} ({by})".format(thing=thing), todo=kind.todo.format(thing=thing))
    return None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An exception and its causes. Exceptions handled before, as for a file that may be missing, do not count."""
    while error is not None:
        yield error
        error = error.__cause__


def _status(error: BaseException) -> int | None:
    """The HTTP status that an exception tells of."""
    status = getattr(getattr(error, "response", None), "status_code", None)
    return status if isinstance(status, int) else None


def _why_not(source: Path, part: str, error: Exception) -> RauqError:
    for sign, reason in _UNSUPPORTED.items():
        if sign in str(error):
            return UnsupportedModel(f"{source} cannot be used: {reason}.")
    if not source.is_dir() and (failure := hub_failure(error)) is not None:
        return ModelNotFound(f"The {part} of {source} cannot be loaded: {failure.what}. {failure.todo}")
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
    if found is not None and revision is not None and not is_digest(revision):
        message = f"The revision of {source} is its sha256, in 64 hexadecimal digits; got {revision!r}. Leave it out."
        raise InvalidInput(message)
    return found


def is_digest(revision: str | None) -> bool:
    """Whether a revision is the sha256 of a file, not a branch, a tag or a commit."""
    return revision is not None and _DIGEST.fullmatch(revision) is not None


def _only_one(folder: Path) -> Path | None:
    """The GGUF file of a folder that holds no model in another format."""
    files = gguf_files(folder)
    if not files or ((folder / CONFIG).is_file() and list(folder.glob("*.safetensors"))):
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
        raise ModelNotFound(_why_no_hub(source, error, otherwise=otherwise)) from error
    found = HubFile(model=model, file=file, revision=revision, num_bytes=metadata.size or 0)
    is_here = isinstance(try_to_load_from_cache(model, file, revision=metadata.commit_hash), str)
    return found.download() if is_here or metadata.size is None else found
