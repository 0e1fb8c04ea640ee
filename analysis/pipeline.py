"""Work on a run: answer what is still open, shard by shard. Killed at any time, it can be gone on with."""

from pathlib import Path
from typing import TYPE_CHECKING

from analysis.datasets.example import Example
from analysis.quality.measures import Judge, load_judge
from analysis.runs.answering import answer_shard
from analysis.runs.choosing import check_known_methods
from analysis.runs.evaluating import Evaluation
from analysis.runs.examples import check_examples, read_examples
from analysis.runs.job import STOP, Job, OnProgress, Stop, new_job
from analysis.runs.loaded import as_begun, load_for, with_answerer
from analysis.runs.lock import only_job
from analysis.runs.manifest import Manifest, Request, read_manifest
from analysis.runs.opened import layers_to_store, read_table
from analysis.runs.shard import Failed, answers_path, write_shard
from analysis.runs.status import Status
from analysis.runs.timings import add_timings
from rauq.errors import RauqError, RunError

if TYPE_CHECKING:
    from rauq.cancellation import Cancel


def work(folder: Path, *, on_progress: OnProgress | None = None, cancel: "Cancel | None" = None) -> Status:
    """Answer what a run still lacks, and return how far it came: "finished", or "stopped" by `cancel`.

    A file named `stop` in the folder stops it too. Shards that are whole stay; broken ones are answered again.

    Raises:
        RunError: another job is at it, it was begun with another model or other packages, this version lacks one of
            its methods, or it cannot be written.
        RauqError: the model cannot be loaded, or quality cannot be measured.
    """
    with only_job(folder):
        manifest, examples = read_manifest(folder), read_examples(folder)
        check_examples(folder, manifest, examples)
        _tidy(folder)
        job = new_job(folder, total=manifest.request.count, on_progress=on_progress)
        try:
            _answer_all(job, manifest, examples, Stop(folder, cancel))
        except KeyboardInterrupt:
            job.end("stopped", how_to_resume(folder))
            raise
        except Exception as error:
            job.end("failed", str(error) if isinstance(error, RauqError) else f"{type(error).__name__}: {error}")
            raise
        finally:
            (folder / STOP).unlink(missing_ok=True)
        return job.status


def _answer_all(job: Job, manifest: Manifest, examples: tuple[Example, ...], stop: Stop) -> None:
    still_open = _still_open(job, manifest)
    if still_open:
        check_known_methods(manifest.request)
        judge, evaluation = _judge(manifest.request), evaluation_of(manifest)
        answerer = with_answerer(job.folder, manifest, evaluation.lm)
        stored = layers_to_store(manifest, answerer)
        job.begin_answering()
        for shard in still_open:
            outcomes = answer_shard(
                evaluation, manifest.numbers(shard), examples, judge=judge, cancel=stop, on_done=job.count
            )
            if outcomes is None:
                job.end("stopped", how_to_resume(job.folder))
                return
            write_shard(job.folder, shard, outcomes.rows, stored=stored)
            add_timings(job.folder, shard, outcomes.timings)
            job.save(examples=len(outcomes.rows), failed=sum(isinstance(row, Failed) for row in outcomes.rows))
    job.tell(state="finished", message="")


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
            errors = read_table(job.folder, manifest, manifest.answerer, shard)["error"]
            saved, failed = saved + len(errors), failed + int((errors != "").sum())
        except RunError as error:
            still_open.append(shard)
            faults += [str(error)] if answers_path(job.folder, shard).exists() else []
    job.tell(saved=saved, failed=failed, message=" ".join(faults))
    return still_open


def _judge(request: Request) -> Judge:
    """Loaded before the model, since it tells at once what it lacks."""
    return load_judge(request.quality, weights=Path(request.weights) if request.weights else None)


def evaluation_of(manifest: Manifest) -> Evaluation:
    """The model and the judges of a run, loaded.

    The judges come first: they are smaller than the model, as a rule, and may be missing.
    """
    from rauq.judges.loading import load_judges

    request = manifest.request
    judges = load_judges(
        nli=request.nli, similarity=request.similarity, tagger=request.tagger, idf=request.idf, device=request.device
    )
    return Evaluation(lm=load_for(as_begun(manifest)), request=request, judges=judges)


def _tidy(folder: Path) -> None:
    """Remove what a killed job left half-written, and a wish to stop that came after its end."""
    for path in (*folder.glob(".*.tmp"), folder / STOP):
        path.unlink(missing_ok=True)


def how_to_resume(folder: Path) -> str:
    """The command that goes on with a run."""
    return f"To go on: python -m analysis score --out {folder} --resume"
