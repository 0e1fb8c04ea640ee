"""Create a run: its request is checked and written with its examples, so that a job needs nothing else."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

from analysis.datasets.example import DataSet
from analysis.quality.measures import OWN, measure
from analysis.runs.files.examples import EXAMPLES, write_examples
from analysis.runs.job import LOCK, only_job
from analysis.runs.manifest import (
    FEWEST_OFFSETS,
    MANIFEST,
    MOST_EXAMPLES,
    MOST_IN_A_BATCH,
    MOST_SAMPLES,
    MOST_THREADS,
    Manifest,
    Request,
    StoredLayers,
    read_manifest,
    write_manifest,
)
from analysis.runs.methods import (
    EMBEDDED,
    FROM_ELSEWHERE,
    check_judges,
    check_methods,
    default_methods,
    named_in,
    needs_the_model,
    own_idf,
)
from analysis.runs.own import changed, check_unseen
from rauq.checkpoints.kinds import AUTO
from rauq.errors import InvalidInput, RunError
from rauq.labels import LLAMA, VLLM
from rauq.methods.table import METHODS
from rauq.trace.extras import EXTRAS, OF_EVERY_ENGINE
from rauq.trace.file import MOST_ANSWER_TOKENS, MOST_BANDS


def request_for(data: DataSet, *, model: str, **changes: Any) -> Request:  # noqa: ANN401 - the fields of a request
    """The request for answers to a data set, with its defaults; a change that is None changes nothing.

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
        chat=data.chat,
        methods=default_methods(data),
    )
    request = replace(meant, **{name: value for name, value in changes.items() if value is not None})
    _check(request)
    _check_unanswered(data, request)
    check_unseen(request.detectors, [example.asked for example in data.examples])
    request = replace(request, idf=request.idf or own_idf(request))
    batches = max(1, round(request.shard_size / request.batch_size))
    return replace(request, shard_size=batches * request.batch_size)


def prepare(folder: Path, data: DataSet, request: Request, *, name: str = "") -> Manifest:
    """Write a run into a new or empty folder, or over one that was never started; the same run stays as it is.

    `name`: for people; the folder's if none is given.

    Raises:
        InvalidInput: a request for another data set.
        RunError: the folder holds something else, or cannot be written to.
    """
    if request.data_sha256 != data.fingerprint:
        message = (
            f"The request is for {request.data}, which does not match the given examples. Create the request from them."
        )
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
    manifest = Manifest(name=name, created=created, request=request, answerer=None, quality_reason=reason)
    write_examples(folder, data.examples)
    write_manifest(folder, manifest)
    return manifest


def _check(request: Request) -> None:
    measure(request.quality)  # says which there are
    if (request.quality == OWN.id) != (request.own_quality is not None):
        message = f"The measure {OWN.id!r} is a function of yours: analysis.score_run(..., quality=my_quality)."
        raise InvalidInput(message)
    given = [*(note.id for note in request.own_methods), *(file.method for file in request.detectors)]
    check_methods(request.methods, given)
    check_judges(request)
    _check_revision(request)
    _check_kept(request)
    if request.stored_layers not in get_args(StoredLayers):
        message = f"Unknown layers {request.stored_layers!r}; choose from {', '.join(get_args(StoredLayers))}."
        raise InvalidInput(message)
    if request.device_map not in (None, AUTO) or (request.device_map and request.device != AUTO):
        message = (
            f"Got the device map {request.device_map!r} and the device {request.device!r}. A run's device map is auto "
            "or None, and chooses the devices itself: leave the device at auto."
        )
        raise InvalidInput(message)
    sizes = (
        ("examples", request.count, MOST_EXAMPLES),
        ("examples in a batch", request.batch_size, MOST_IN_A_BATCH),
        ("examples in a shard", request.shard_size, MOST_EXAMPLES),
        ("new tokens", request.max_new_tokens, MOST_ANSWER_TOKENS),
        ("samples of an answer", request.samples, MOST_SAMPLES),
        ("threads", 1 if request.threads is None else request.threads, MOST_THREADS),
    )
    for what, number, most in sizes:
        if not 1 <= number <= most:
            message = f"Got {number:,} {what}; a run may have 1 to {most:,}."
            raise InvalidInput(message)


def _check_kept(request: Request) -> None:
    if not FEWEST_OFFSETS <= request.offsets <= MOST_BANDS:
        message = f"Got {request.offsets} offsets; a run may store {FEWEST_OFFSETS} to {MOST_BANDS}, in keys back."
        raise InvalidInput(message)
    unknown = [name for name in request.keep if name not in EXTRAS]
    if unknown or len(set(request.keep)) < len(request.keep):
        message = f"Got {', '.join(request.keep)} to keep; give some of {', '.join(EXTRAS)}, each once."
        raise InvalidInput(message)
    if request.engine == VLLM and (beyond := _unavailable_from_a_server(request)):
        message = (
            f"A vLLM server returns probabilities and the attention on preceding tokens, which is not enough for "
            f"{', '.join(beyond)}. Leave out what is named."
        )
        raise InvalidInput(message)
    states = [name for name in request.keep if name not in OF_EVERY_ENGINE]
    if states and request.engine == LLAMA:
        message = (
            f"{', '.join(states)} cannot be kept: llama.cpp gives neither hidden states nor whole rows of attention. "
            f"Choose the engine transformers, or keep some of {', '.join(OF_EVERY_ENGINE)}."
        )
        raise InvalidInput(message)
    if "focus" in request.keep and "idf" not in named_in(request):
        message = f"The extra focus needs {FROM_ELSEWHERE['idf'][0]}. Add {FROM_ELSEWHERE['idf'][1]}, or leave it out."
        raise InvalidInput(message)


def _check_unanswered(data: DataSet, request: Request) -> None:
    """Refuse answers that are there, where a server would have to read them."""
    if request.engine == VLLM and any(example.answer is not None for example in data.examples):
        message = f"{data.name} has answers, and a vLLM server cannot read them. Give prompts, or load the model here."
        raise InvalidInput(message)


def _unavailable_from_a_server(request: Request) -> list[str]:
    """What a request asks for that needs more of the model than its answers: extras, and methods that look into it."""
    return [*request.keep, *(name for name in request.known_methods if name in METHODS and needs_the_model(name))]


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
        if set(names) <= {"own_methods", "own_quality"}:
            raise RunError(changed("A method or the function of quality of yours"))
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
        message = f"{folder} cannot be used for a run ({error.strerror or error}). Give a new folder."
        raise RunError(message) from error
    # A process that was killed before it wrote the manifest left the examples and its lock at most.
    if others := [name for name in found if name not in (EXAMPLES, LOCK) and not name.endswith(".tmp")]:
        message = f"{folder} contains other files, such as {others[0]}. Give a new or empty folder."
        raise RunError(message)
