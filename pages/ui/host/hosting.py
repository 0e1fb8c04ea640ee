"""The app for strangers, `RAUQ_HOSTED=1`: models of a list alone, no path from outside, and limits on what is asked.

Fields say so beforehand. What counts is checked where a request is made, since a client may send what no field offers.
"""

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from rauq.errors import InvalidInput
from rauq.labels import running
from rauq.trace.trace import Kind

HOSTED_VARIABLE, MODELS_VARIABLE = "RAUQ_HOSTED", "RAUQ_MODELS"
MOST_TOKENS = 1024  # of an answer


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The most that may be asked for.

    `characters` of a prompt, or of an answer that is scored; `new_tokens` of an answer, and `samples` of it; `rows` of
    a run, of which `batch` are answered at once. Of all sessions together: `jobs` of runs that work at a time, the
    `bytes` of their runs, and `generations` that work or wait; an archive unpacks to `archive` bytes.
    """

    characters: int = sys.maxsize
    new_tokens: int = MOST_TOKENS
    samples: int = 100
    rows: int = 1_000_000
    batch: int = 256
    jobs: int = sys.maxsize
    generations: int = sys.maxsize
    archive: int = sys.maxsize
    bytes: int = sys.maxsize


OWN = Limits()
HOST = Limits(
    characters=8_000,
    new_tokens=256,
    samples=5,
    rows=500,
    batch=16,
    jobs=2,
    generations=16,
    archive=512 * 2**20,
    bytes=4 * 2**30,
)


@dataclass(frozen=True, kw_only=True)
class ModelChoice:
    """Which model, and where and how it computes; "auto" and None leave the choice to the library."""

    name: str = "atlas"
    device: str = "auto"
    dtype: str = "auto"
    kind: Kind | None = None


def is_hosted() -> bool:
    """Whether strangers use this app."""
    return os.environ.get(HOSTED_VARIABLE, "") not in ("", "0")


def limits() -> Limits:
    """What holds here."""
    return HOST if is_hosted() else OWN


def models() -> tuple[str, ...]:
    """The models that a host offers, as RAUQ_MODELS lists them; on one's own machine the one that needs no name."""
    listed = os.environ.get(MODELS_VARIABLE, "") if is_hosted() else ""
    return tuple(dict.fromkeys(name.strip() for name in listed.split(",") if name.strip())) or ("atlas",)


def offered(name: str) -> str:
    """The model of this name, or the first of the list where a host does not offer it."""
    return name if name in models() else models()[0]


def in_words() -> str:
    """What a host allows, for its visitors."""
    most = limits()
    return (
        f"This is a hosted app: a prompt and an answer may have {most.characters:,} characters each, an answer "
        f"{most.new_tokens:,} new tokens, a run {most.rows:,} rows and {most.samples} samples."
    )


def check_model(choice: ModelChoice) -> None:
    """See that this model may be used here; on one's own machine it is any.

    Raises:
        InvalidInput: a host does not offer it, or not in this way, or it is a link that leads elsewhere.
    """
    as_offered = [replace(choice, name=name, device="auto", dtype="auto", kind=None) for name in models()]
    if is_hosted() and choice not in as_offered:
        message = f"Got the model {running(choice.name)[:80]!r}; this host offers {', '.join(models())}, as it is."
        raise InvalidInput(message)
    if is_hosted() and _leads_elsewhere(Path(choice.name).expanduser()):
        message = (
            "This model's files are links to another folder, which a host does not follow. Copy the files into the "
            "model's folder."
        )
        raise InvalidInput(message)


def check_text(what: str, text: str) -> None:
    """See that a prompt or an answer is not too long.

    Raises:
        InvalidInput: it is.
    """
    if len(text) > (most := limits().characters):
        message = f"Got {len(text):,} characters of {what}; it may have {most:,} here. Shorten it."
        raise InvalidInput(message)


def _leads_elsewhere(path: Path) -> bool:
    """Whether a model that is a file or a folder here is, or holds, a link out of the folder that it is in."""
    inside = [*path.glob("*.gguf"), *path.glob("*.safetensors")] if path.is_dir() else []
    return path.exists() and any(not one.resolve().is_relative_to(path.parent.resolve()) for one in (path, *inside))


def check_number(what: str, number: int, most: int) -> None:
    """See that a number is from 1 to the most there may be.

    Raises:
        InvalidInput: it is not.
    """
    if not 1 <= number <= most:
        message = f"Got {number:,} {what}; there may be 1 to {most:,} here."
        raise InvalidInput(message)
