"""Work on a run, shard by shard: load what answers it, write what was answered. Killed at any time, it can resume."""

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.datasets.example import Example
from analysis.quality.measures import Judge, load_judge
from analysis.runs.answering import Evaluation, OnDone, answer_shard
from analysis.runs.files.arrays import layers_to_store
from analysis.runs.files.examples import check_examples, read_examples
from analysis.runs.files.index import make_index
from analysis.runs.files.shards import read_table, shard_files
from analysis.runs.files.tables import Failed
from analysis.runs.job import STOP, Job, OnProgress, Status, Stop, how_to_resume, new_job, only_job
from analysis.runs.manifest import (
    Answerer,
    Machine,
    Manifest,
    Request,
    Started,
    answers_path,
    read_manifest,
    sha256_of,
    with_started,
    write_files,
)
from analysis.runs.methods import check_known_methods
from analysis.runs.own import NOTHING_OWN, Own, check_given, load_detectors
from analysis.runs.timings import Timing, add_timings
from rauq.checkpoints.named import place_of
from rauq.errors import InvalidInput, RauqError, RunError
from rauq.labels import ENGINES, TRANSFORMERS, VLLM
from rauq.methods.pair_scorers.judges import Judges
from rauq.trace.extras import OF_EVERY_ENGINE

if TYPE_CHECKING:
    from rauq.arguments import Cancel
    from rauq.model.language_model import LanguageModel
    from rauq.model.served import ServedModel

_PACKAGES = ("numpy", "torch", "transformers")
_COMMIT = re.compile(r"[0-9a-f]{40}")


def load_for(request: Request) -> "LanguageModel":
    """Load the model that a run asks for, with transformers where only that gives what the run keeps.

    Raises:
        ModelNotFound, UnsupportedModel, OutOfMemory, InvalidInput: as `rauq.load_model`; or a server runs the model.
    """
    if request.engine == VLLM:
        message = f"{request.model} is run by a vLLM server. Give its address: --endpoint http://HOST:PORT."
        raise InvalidInput(message)

    from rauq.model.loading import load_model

    usual = TRANSFORMERS if set(request.keep) - set(OF_EVERY_ENGINE) else None
    return load_model(
        request.model,
        device=request.device,
        device_map=request.device_map,
        dtype=request.dtype,
        revision=request.revision,
        kind=request.kind,
        engine=request.engine or usual,
    )


def started_commit(manifest: Manifest) -> str | None:
    """The commit of the hub that a run was started with; None before that, and for a model that has no commit."""
    revision = manifest.answerer.revision if manifest.answerer else ""
    return revision if _COMMIT.fullmatch(revision) else None


def as_started(manifest: Manifest) -> Request:
    """What `load_for` has to load for a run: the commit and the engine that it was started with.

    A branch may have moved since, and another engine may be the usual one now.
    """
    request, answerer = manifest.request, manifest.answerer
    if answerer is None or request.engine == VLLM:
        return request
    engine = next((name for name in ENGINES if answerer.engine.startswith(name)), TRANSFORMERS)
    return replace(request, revision=started_commit(manifest) or request.revision, engine=engine)


def started(lm: "LanguageModel", request: Request) -> Started:
    """A loaded model as a manifest has it.

    Raises:
        ModelNotFound: its folder was deleted after it was loaded.
    """
    from rauq.model.loading import rounding_of

    weights = sha256_of(Path(place_of(request.model)).expanduser()) if lm.revision == "local" else ""
    answerer = replace(answerer_of(lm, engine=lm.engine.run_identity), weights_sha256=weights)
    machine: Any = rounding_of(lm)
    packages = tuple((name, version(name)) for name in _PACKAGES)
    return Started(answerer=answerer, packages=packages, machine=Machine(**machine))


def answerer_of(lm: "LanguageModel | ServedModel", *, engine: str) -> Answerer:
    """A model as a manifest describes it, without a checksum of its weights."""
    return Answerer(
        name=lm.name,
        revision=lm.revision,
        kind=lm.kind,
        dtype=lm.dtype,
        quantisation=lm.quantisation,
        adapter=lm.adapter,
        engine=engine,
        layers=lm.layers,
        num_layers=lm.num_layers,
        num_heads=lm.num_heads,
        vocab_size=lm.vocab_size,
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class Made:
    """A shard that is answered: the names and contents of its files, what they hold, and how long it took."""

    shard: int
    files: Iterable[tuple[str, bytes]]
    examples: int
    failed: int
    timings: tuple[Timing, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Undone:
    """The `shards` of a run that are left to answer.

    `accept` is called with every model that was loaded for it, before it answers: it gives the machine to note with the
    model's shards, None for that of the manifest, and raises a RunError for a model that must not answer. `on_done`
    counts what is done before its shard is. Once `cancel` is set, no further shard is wanted.
    """

    manifest: Manifest
    examples: tuple[Example, ...]
    shards: Sequence[int]
    own: Own
    cancel: "Cancel"
    accept: Callable[[Started], Machine | None]
    on_done: OnDone


Source = Callable[[Undone], Generator[Made | None, None, None]]
"""Where the shards of a run are answered: gives them in any order, and None once it was cancelled before the last."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Ready:
    """All that answers the shards of a run, loaded: the model, its judges, and the judge of quality."""

    manifest: Manifest
    evaluation: Evaluation
    judge: Judge
    started: Started


def ready(manifest: Manifest, own: Own = NOTHING_OWN) -> Ready:
    """Load what answers a run; judges come first, since a missing file is reported at once.

    The model judges its own answers in P(True).

    Raises:
        RauqError: the model or a judge cannot be loaded, or the model has no such extras as the run keeps.
    """
    from rauq.model.p_true import p_true_judge

    request = manifest.request
    judge, judges = quality_judge(request, own), other_judges(request)  # smaller than the model, as a rule
    lm = load_for(as_started(manifest))
    lm.check_extras(request.keep)  # before the run belongs to this model
    judges = replace(judges, p_true=p_true_judge(lm, chat=request.chat))
    evaluation = Evaluation(lm=lm, request=request, judges=judges, own=own)
    return Ready(manifest=manifest, evaluation=evaluation, judge=judge, started=started(lm, request))


def quality_judge(request: Request, own: Own) -> Judge:
    """The judge of quality that a run asks for, loaded.

    Raises:
        RauqError: it cannot be loaded.
    """
    weights = Path(request.weights) if request.weights else None
    return load_judge(request.quality, weights=weights, function=own.quality)


def made(
    loaded: Ready,
    shard: int,
    examples: Sequence[Example],
    *,
    machine: Machine | None,
    cancel: "Cancel",
    on_done: OnDone,
) -> Made | None:
    """Answer the examples of a shard; `machine` is noted in it. None once cancelled."""
    request, numbers = loaded.manifest.request, loaded.manifest.numbers(shard)
    found = answer_shard(loaded.evaluation, numbers, examples, judge=loaded.judge, cancel=cancel, on_done=on_done)
    if found is None:
        return None
    stored = layers_to_store(loaded.manifest, loaded.started.answerer)
    how: Any = {"stored": stored, "offsets": request.offsets, "keep": request.keep}
    return Made(
        shard=shard,
        files=shard_files(shard, found.rows, machine=machine, **how),
        examples=len(found.rows),
        failed=sum(isinstance(row, Failed) for row in found.rows),
        timings=found.timings,
    )


def answered_here(undone: Undone) -> Generator[Made | None, None, None]:
    """Answer the shards in this process, one after the other; see `Source`."""
    from rauq.model.loading import use_threads

    before = use_threads(undone.manifest.threads)
    try:
        yield from answered_by(ready(undone.manifest, undone.own), undone)
    finally:
        use_threads(before)


def answered_by(loaded: Ready, undone: Undone) -> Iterator[Made | None]:
    """The shards that one model answers, one after the other."""
    machine = undone.accept(loaded.started)
    for shard in undone.shards:
        numbers = undone.manifest.numbers(shard)
        examples = undone.examples[numbers.start : numbers.stop]
        yield made(loaded, shard, examples, machine=machine, cancel=undone.cancel, on_done=undone.on_done)


def work(
    folder: Path,
    *,
    own: Own = NOTHING_OWN,
    source: Source = answered_here,
    mixed: bool = False,
    on_progress: OnProgress | None = None,
    cancel: "Cancel | None" = None,
) -> Status:
    """Answer the remaining examples of a run, and return its state: "finished", or "stopped" by `cancel`.

    `own`: what the user gives to it. `source`: where shards are answered. `mixed`: whether another machine than the one
    it was started on may continue it, which may change tokens at near ties. A file named `stop` in the folder stops
    it too. Shards that are whole stay; broken ones are answered again.

    Raises:
        RunError: another job is working on it, it was started with another model, other packages, on another machine or
            with other methods of the user's own, this version does not have one of its methods, or it cannot be
            written.
        RauqError: the model cannot be loaded, or quality cannot be measured.
    """
    with only_job(folder):
        manifest, examples = read_manifest(folder), read_examples(folder)
        check_examples(folder, manifest, examples)
        job = new_job(folder, total=manifest.request.count, on_progress=on_progress)
        try:
            undone = _undone(job, manifest, examples, own=own, cancel=Stop(folder, cancel), mixed=mixed)
            if _save_all(job, undone, source):
                make_index(folder)
                job.tell(state="finished", message="")
            else:
                job.end("stopped", how_to_resume(folder, manifest.request))
        except KeyboardInterrupt:
            job.end("stopped", how_to_resume(folder, manifest.request))
            raise
        except Exception as error:
            job.end("failed", str(error) if isinstance(error, RauqError) else f"{type(error).__name__}: {error}")
            raise
        finally:
            (folder / STOP).unlink(missing_ok=True)
        return job.status


def _undone(
    job: Job, manifest: Manifest, examples: tuple[Example, ...], *, own: Own, cancel: "Cancel", mixed: bool
) -> Undone:
    """What is left of a run, once it is known that this version and the user's own methods can continue it."""
    if still_open := _still_open(job, manifest):
        check_known_methods(manifest.request)
        check_given(own, manifest.request.own_methods, manifest.request.own_quality)
    return Undone(
        manifest=manifest,
        examples=examples,
        shards=still_open,
        own=own,
        cancel=cancel,
        accept=partial(_accept, job, mixed=mixed),
        on_done=job.count,
    )


def _accept(job: Job, started: Started, *, mixed: bool) -> Machine | None:
    """See `Undone`; the clock starts with the first model."""
    manifest = with_started(job.folder, read_manifest(job.folder), started, mixed=mixed)
    if job.status.state == "loading":
        job.begin_answering()
    return None if manifest.machine in (None, started.machine) else started.machine


def _save_all(job: Job, undone: Undone, source: Source) -> bool:
    """Write the shards as they come, each once; False if it was cancelled before the last one."""
    missing = set(undone.shards)
    if not missing:
        return True
    with closing(source(undone)) as shards:
        for found in shards:
            if found is None:
                return False
            if found.shard in missing:
                missing.remove(found.shard)
                write_files(job.folder, found.files)
                add_timings(job.folder, found.shard, found.timings)
                job.save(examples=found.examples, failed=found.failed)
    return True


def _still_open(job: Job, manifest: Manifest) -> list[int]:
    """The shards to answer; what is whole is counted, what is broken is said."""
    if manifest.answerer is None:
        job.tell()
        return list(range(manifest.num_shards))
    saved, failed = 0, 0
    still_open: list[int] = []
    faults: list[str] = []
    for shard in range(manifest.num_shards):
        try:
            errors = read_table(job.folder, manifest, manifest.answerer, shard)["error"].to_pylist()
            saved, failed = saved + len(errors), failed + sum(error != "" for error in errors)
        except RunError as error:
            still_open.append(shard)
            faults += [str(error)] if answers_path(job.folder, shard).exists() else []
    job.tell(saved=saved, failed=failed, message=" ".join(faults))
    return still_open


def other_judges(request: Request) -> Judges:
    """The judges of a run that are not its own model, loaded.

    Raises:
        RauqError: one of them cannot be loaded.
    """
    from rauq.methods.pair_scorers.loading import load_judges

    names = {name: getattr(request, name) for name in ("nli", "similarity", "tagger", "idf", "device")}
    return replace(load_judges(**names), detectors=load_detectors(request.detectors))
