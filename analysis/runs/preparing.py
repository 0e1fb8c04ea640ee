"""A run before its first answer: what is asked, written down, so that the job that answers needs nothing else."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

from analysis.datasets.example import DataSet
from analysis.quality.measures import measure
from analysis.runs.choosing import EMBEDDED, check_judges, check_methods, own_idf
from analysis.runs.examples import EXAMPLES, write_examples
from analysis.runs.lock import LOCK, only_job
from analysis.runs.manifest import (
    MANIFEST,
    MOST_EXAMPLES,
    MOST_IN_A_BATCH,
    MOST_SAMPLES,
    Manifest,
    Request,
    StoredLayers,
    read_manifest,
    write_manifest,
)
from rauq.errors import InvalidInput, RunError
from rauq.trace_limits import MOST_ANSWER_TOKENS


def request_for(data: DataSet, *, model: str, **changes: Any) -> Request:  # noqa: ANN401 - the fields of a request
    """Ask a model for answers to a data set, in the way the data set is meant; a change that is None changes nothing.

    Shards hold whole batches.

    Raises:
        InvalidInput: no example at all, or an option that no run can have.
    """
    meant = Request(
        model=model,
        data=data.name,
        data_sha256=data.fingerprint,
        count=len(data.examples),
        quality=data.quality,
        max_new_tokens=data.max_new_tokens,
        stop=data.stop,
    )
    request = replace(meant, **{name: value for name, value in changes.items() if value is not None})
    _check(request)
    request = replace(request, idf=request.idf or own_idf(request))
    batches = max(1, round(request.shard_size / request.batch_size))
    return replace(request, shard_size=batches * request.batch_size)


def prepare(folder: Path, data: DataSet, request: Request, *, name: str = "") -> Manifest:
    """Write down a run in a new or empty folder, or over one that was never begun; the same run stays as it is.

    `name`: for people; the folder's if none is given.

    Raises:
        InvalidInput: a request for another data set.
        RunError: the folder holds something else, or cannot be written to.
    """
    if request.data_sha256 != data.fingerprint:
        message = f"The request is for {request.data}, and not for the examples that came with it. Make it of these."
        raise InvalidInput(message)
    if (folder / MANIFEST).exists():
        found = read_manifest(folder)
        if found.request == request:
            return found
        _refuse_begun(folder, found, request)
    else:
        _make_room(folder)
    with only_job(folder):
        return _write(folder, data, request, name or folder.resolve().name)


def _write(folder: Path, data: DataSet, request: Request, name: str) -> Manifest:
    created = datetime.now(UTC).isoformat(timespec="seconds")
    reason = data.quality_reason if request.quality == data.quality else ""
    manifest = Manifest(name=name, created=created, request=request, quality_reason=reason)
    write_examples(folder, data.examples)
    write_manifest(folder, manifest)
    return manifest


def _check(request: Request) -> None:
    measure(request.quality)  # says which there are
    check_methods(request.methods)
    check_judges(request)
    _check_revision(request)
    if request.stored_layers not in get_args(StoredLayers):
        message = f"Unknown layers {request.stored_layers!r}; choose from {', '.join(get_args(StoredLayers))}."
        raise InvalidInput(message)
    sizes = (
        ("examples", request.count, MOST_EXAMPLES),
        ("examples in a batch", request.batch_size, MOST_IN_A_BATCH),
        ("examples in a shard", request.shard_size, MOST_EXAMPLES),
        ("new tokens", request.max_new_tokens, MOST_ANSWER_TOKENS),
        ("samples of an answer", request.samples, MOST_SAMPLES),
    )
    for what, number, most in sizes:
        if not 1 <= number <= most:
            message = f"Got {number:,} {what}; a run may have 1 to {most:,}."
            raise InvalidInput(message)


def _check_revision(request: Request) -> None:
    if request.revision is not None and (request.model == EMBEDDED or Path(request.model).expanduser().is_dir()):
        message = (
            f"Got the revision {request.revision!r} of {request.model}, which is on this machine and has none: a "
            "revision is a branch, tag or commit of a model on the hub. Leave it out."
        )
        raise InvalidInput(message)


def _refuse_begun(folder: Path, found: Manifest, request: Request) -> None:
    if found.answerer is not None:
        names = [name for name, value in vars(request).items() if getattr(found.request, name) != value]
        message = (
            f"{folder} holds another run ({found.request.data} on {found.request.model}; they differ in "
            f"{', '.join(names)}). Resume that one, or give a new folder."
        )
        raise RunError(message)


def _make_room(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        found = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        message = f"{folder} cannot be a run's folder ({error.strerror or error}). Give a new folder."
        raise RunError(message) from error
    # A process that was killed before it wrote the manifest left the examples and its lock at most.
    if others := [name for name in found if name not in (EXAMPLES, LOCK) and not name.endswith(".tmp")]:
        message = f"{folder} holds something else, such as {others[0]}. Give a new folder, or an empty one."
        raise RunError(message)
