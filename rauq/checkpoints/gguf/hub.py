"""A GGUF file on the hub, whose header is read without downloading the whole file."""

from dataclasses import dataclass
from pathlib import Path

from huggingface_hub import get_session, get_token, hf_hub_download, hf_hub_url
from huggingface_hub.utils import hf_raise_for_status  # type: ignore[attr-defined]  # documented, and not in __all__

from rauq.load_errors import plain_errors
from rauq.whereabouts import HUB_SECONDS

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
