"""The GGUF file that a name stands for: a file, the only one of a folder, or a file of a model on the hub."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from huggingface_hub import get_session, get_token, hf_hub_download, hf_hub_url, try_to_load_from_cache
from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import hf_raise_for_status  # type: ignore[attr-defined]  # documented, and not in __all__

from rauq.checkpoints.folders import CONFIG, gguf_files, is_hub_file
from rauq.checkpoints.hub import HUB_SECONDS, ask_hub, plain_errors, why_no_hub
from rauq.errors import InvalidInput, ModelNotFound

_PARTIAL = 206  # HTTP: this is the part that was asked for


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


_MOST_NAMED = 3
_DIGEST = re.compile(r"[0-9a-f]{64}")


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
    except Exception as error:  # the network, the hub and the name can each be at fault
        cached = (
            None if isinstance(error, HFValidationError) else try_to_load_from_cache(model, file, revision=revision)
        )
        if isinstance(cached, str):
            return Path(cached)
        otherwise = 'A GGUF file on this machine works without the hub, and "atlas" is embedded.'
        raise ModelNotFound(why_no_hub(source, error, otherwise=otherwise)) from error
    found = HubFile(model=model, file=file, revision=revision, num_bytes=metadata.size or 0)
    is_here = isinstance(try_to_load_from_cache(model, file, revision=metadata.commit_hash), str)
    return found.download() if is_here or metadata.size is None else found
