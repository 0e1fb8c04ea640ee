"""The hosted app, `RAUQ_HOSTED=1`, for the public: only listed models, no paths from visitors, and limits on requests.

The fields show the limits; each request is also checked, since a client may send what no field offers. Messages are
shown without the folders of the machine: only paths below known folders are cut, since a message may quote a visitor's
own text, such as a prompt with /usr/bin.
"""

import os
import re
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import MappingProxyType

from pages.ui.serving.workers import this_worker
from rauq import layout
from rauq.checkpoints.named import NAMED_MODELS, offered_models, place_of
from rauq.errors import InvalidInput
from rauq.labels import EngineName, running
from rauq.trace.trace import Kind

HOSTED_VARIABLE, is_hosted = layout.HOSTED_VARIABLE, layout.is_hosted
RUNS_VARIABLE = "RAUQ_KEEP_RUNS"  # the address of a store, in which a host keeps the runs of its visitors
# Streamlit's own: a traceback would show visitors details of this machine, and one in the log for each value of a wrong
# kind, which `rich` prints past the log's filter, would fill it.
STREAMLIT: Mapping[str, object] = MappingProxyType({"client.showErrorDetails": "none", "logger.enableRich": False})
MOST_TOKENS = 1024  # of an answer
LEFT_SECONDS = 300.0  # what a session owns outlives its connection by this much


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of requests.

    `characters` of a prompt, or of an answer that is scored; `new_tokens` of an answer, and `samples` of it; `rows` of
    a run, of which `batch` are answered at once; an archive unpacks to at most `archive` bytes. For all sessions
    together: running `jobs`, the `bytes` of their runs, `generations` running or waiting, connected `sessions`, and
    the bytes of `uploads` that the server holds. What ends in `_each` is for one visitor, an address. A store of runs
    holds `stored` bytes, of which one visitor adds at most `stored_by_one` while the process runs.

    Several processes share what is for all, each with room for one visitor at least; each counts visitors for itself.
    """

    characters: int = sys.maxsize
    new_tokens: int = MOST_TOKENS
    samples: int = 100
    rows: int = 10_000_000
    batch: int = 256
    runs_each: int = sys.maxsize
    jobs: int = sys.maxsize
    jobs_each: int = sys.maxsize
    generations: int = sys.maxsize
    generations_each: int = sys.maxsize
    archive: int = sys.maxsize
    bytes: int = sys.maxsize
    bytes_each: int = sys.maxsize
    sessions: int = sys.maxsize
    sessions_each: int = sys.maxsize
    uploads: int = sys.maxsize
    uploads_each: int = sys.maxsize
    stored: int = sys.maxsize
    stored_by_one: int = sys.maxsize


class Busy(InvalidInput):
    """A host's limit is reached for now; the same request can be made again later."""


OWN = Limits()
HOST = Limits(
    characters=4_000,  # of rare letters, as many tokens as three times that
    new_tokens=256,
    samples=5,
    rows=500,
    batch=8,
    runs_each=50,
    jobs=2,
    jobs_each=1,
    generations=128,  # as many as sessions
    generations_each=32,  # a class behind one address
    archive=128 * 2**20,  # about what an export has that can be uploaded, since exports are not compressed
    bytes=4 * 2**30,
    bytes_each=256 * 2**20,
    sessions=128,
    sessions_each=40,
    uploads=512 * 2**20,
    uploads_each=160 * 2**20,
    stored=32 * 2**30,
    stored_by_one=2**30,
)


@dataclass(frozen=True, kw_only=True)
class ModelChoice:
    """A model and its device and precision; "auto" and None leave the choice to the library."""

    name: str = "atlas"
    device: str = "auto"
    dtype: str = "auto"
    kind: Kind | None = None
    engine: EngineName | None = None


def limits() -> Limits:
    """Return the limits of this app; of a host with several workers, those of this one."""
    return _share(HOST, this_worker().of) if is_hosted() else OWN


def _share(most: Limits, workers: int) -> Limits:
    if workers == 1:
        return most
    of_all = {field.name: f"{field.name}_each" for field in fields(most) if hasattr(most, f"{field.name}_each")}
    shares: dict[str, int] = {
        name: max(getattr(most, each), getattr(most, name) // workers) for name, each in of_all.items()
    }
    return replace(most, **shares)


def runs_address() -> str:
    """Return the address of the store in which this host keeps runs; "" if they end with their sessions."""
    return os.environ.get(RUNS_VARIABLE, "").rstrip("/") if is_hosted() else ""


def models() -> tuple[str, ...]:
    """Return the models that a host offers, as RAUQ_MODELS lists them; without a host, the embedded one."""
    return (offered_models() if is_hosted() else ()) or ("atlas",)


def first_model() -> str:
    """Return the model to begin with: the first that a host offers; else smollm2 if it is on this machine."""
    if is_hosted():
        return models()[0]
    return next((model.name for model in NAMED_MODELS[:1] if model.is_here), "atlas")


def offered(name: str) -> str:
    """Return the name, or the first model on the list if the host does not offer it."""
    return name if name in models() else models()[0]


def in_words() -> str:
    """Describe the host's limits to its visitors."""
    most = limits()
    return (
        f"This is a hosted app. Limits: {most.characters:,} characters for a prompt or an answer, {most.new_tokens:,} "
        f"new tokens for an answer, {most.rows:,} rows and {most.samples} samples for a run, one running job at a time."
    )


def check_model(choice: ModelChoice) -> None:
    """Check that this model may be used here; without a host any model may.

    Raises:
        InvalidInput: the host does not offer the model or these options, or its files are links to another folder.
    """
    as_offered = [replace(choice, name=name, device="auto", dtype="auto", kind=None) for name in models()]
    if is_hosted() and choice not in as_offered:
        message = (
            f"Got the model {running(choice.name)[:80]!r}; this host offers {', '.join(models())}, without other "
            "options. Choose one of these."
        )
        raise InvalidInput(message)
    if is_hosted() and _leads_elsewhere(Path(place_of(choice.name))):
        message = (
            "This model's files are links to another folder, which a host does not follow. Copy the files into the "
            "model's folder."
        )
        raise InvalidInput(message)


def check_text(what: str, text: str) -> None:
    """Check that a prompt or an answer is not too long.

    Raises:
        InvalidInput: it is.
    """
    if len(text) > (most := limits().characters):
        message = f"Got {len(text):,} characters of {what}; at most {most:,} are allowed here. Shorten it."
        raise InvalidInput(message)


def _leads_elsewhere(path: Path) -> bool:
    """Return whether a model's file or folder is or contains a link to another folder."""
    inside = [*path.glob("*.gguf"), *path.glob("*.safetensors")] if path.is_dir() else []
    return path.exists() and any(not one.resolve().is_relative_to(path.parent.resolve()) for one in (path, *inside))


def check_number(what: str, number: int, most: int) -> None:
    """Check that a number is from 1 to `most`.

    Raises:
        InvalidInput: it is not.
    """
    if not 1 <= number <= most:
        message = f"Got {number:,} {what}; choose a number from 1 to {most:,}."
        raise InvalidInput(message)


# Variables that name folders of runs and models; the current folder and that of the user hold the usual ones.
_VARIABLES = ("RAUQ_RUNS", "RAUQ_CACHE", "HF_HOME", "HF_HUB_CACHE", "XDG_CACHE_HOME", "OLLAMA_MODELS", "LLAMA_CACHE")
_REST = r"(?P<rest>(?:/[^\s/'\"`()\[\]{}<>|;:,]+)*)/?"


def without_folders(text: str) -> str:
    """Return a message as it may be shown: on a host, a path of its machine is its last part alone."""
    if not is_hosted():
        return text
    folders = "|".join(map(re.escape, sorted(set(_folders()), key=len, reverse=True)))
    return re.sub(rf"(?<![\w.~])(?P<folder>{folders})(?![\w-]){_REST}", _last_part, text)


def _last_part(path: re.Match[str]) -> str:
    return (path["folder"] + path["rest"]).rpartition("/")[2]


def _folders() -> Iterator[str]:
    """Yield the known folders as they are written, and as they are behind links; never the root of all."""
    for folder in _known():
        for written in (folder, folder.absolute(), folder.resolve()):
            if len(written.parts) > 1 and written.is_absolute():
                yield str(written)


def _known() -> Iterator[Path]:
    yield from (layout.ROOT, Path(tempfile.gettempdir()))
    yield from (Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib"))
    if sys.prefix != sys.base_prefix:  # else it may be /usr
        yield Path(sys.prefix)
    with suppress(RuntimeError, OSError):  # a user without a home, a current folder that was deleted
        yield from (Path.home(), Path.cwd())
    yield from (Path(place).expanduser() for name in _VARIABLES if (place := os.environ.get(name)))
    for model in map(Path, map(place_of, offered_models())):
        if model.is_absolute():
            yield from (model, model.parent)
