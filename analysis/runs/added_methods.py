"""Methods that are computed later, on the traces that a finished run stored.

Each is a file of its own beside the shards, `methods-ID.parquet`, and the manifest names it once it is whole. Shards
stay as they are: rewriting them would change their tables, and with them the checksums in their files of arrays, one
shard after the other, so that a killed job would leave a run of two kinds. Here a method is added by two renames, of
its file and of the manifest; a file that no manifest names is not read, and is written again. A row belongs to an
answer by the answer's checksum, so an example that is answered anew loses what was computed of another answer.

Attention and extras of stored traces are in half precision, so methods that use them differ in the third digit from
what they would have been at generation; log-probabilities and entropies are stored in full.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from analysis.runs.answering import judges_for, uncertainty_of
from analysis.runs.corrections import crc32_of
from analysis.runs.create import check_methods, missing_needs, options_for
from analysis.runs.job import how_to_resume, only_job
from analysis.runs.manifest import write_manifest, write_whole
from analysis.runs.opened import Run, open_run
from analysis.runs.own import DetectorFile, check_unseen, load_detectors
from analysis.runs.shard import ADDED, added_path
from analysis.runs.timings import Timing, add_timings
from analysis.runs.traces import traces_of
from rauq.errors import InvalidInput, RunError
from rauq.methods.method import Need, Uncertainty, needs_met
from rauq.methods.pair_scorers.judges import Judges
from rauq.methods.table import METHODS

_NO_JUDGES = Judges()


def add_methods(
    folder: Path, methods: Sequence[str], *, judges: Judges = _NO_JUDGES, detectors: Sequence[DetectorFile] = ()
) -> Run:
    """Compute methods on the answers of a finished run, and return the run with their columns.

    All of them are there afterwards, or none. `detectors` are the files of supervised ones.

    Raises:
        InvalidInput: an unknown method, one that the run has, or one that needs samples, extras or judges that the run
            did not keep or that are not given; or a method that is undefined for every answer.
        RunError: the run is not finished, a job works on it, or it cannot be written.
    """
    with only_job(folder):
        run = open_run(folder)
        check_unseen(detectors, run.manifest.request.data)
        judges = replace(judges, detectors=load_detectors(detectors))
        _check_finished(run)
        _check_possible(run, methods, judges)
        found = {method: _computed(run, method, judges) for method in methods}
        for method, column in found.items():
            _write(run, method, column.uncertainties)
        added = tuple(dict.fromkeys((*run.manifest.added_methods, *methods)))
        used = tuple({file.method: file for file in (*run.manifest.added_detectors, *detectors)}.values())
        write_manifest(folder, replace(run.manifest, added_methods=added, added_detectors=used))
        add_timings(folder, None, [column.timing for column in found.values()])
    return open_run(folder)


class _Column(NamedTuple):
    """What a method gives of each answer (A,), and how long that took."""

    uncertainties: list[Uncertainty]
    timing: Timing


def _check_finished(run: Run) -> None:
    if len(run.shards) < run.manifest.num_shards:
        message = (
            f"{run.folder} has {len(run.shards)} of {run.manifest.num_shards} shards. Finish it before methods are "
            f"added. {how_to_resume(run.folder, run.manifest.request)}"
        )
        raise RunError(message)
    if run.answers.empty:
        message = f"{run.folder} has no answers: every example failed. Score the data set again."
        raise RunError(message)


def _check_possible(run: Run, methods: Sequence[str], judges: Judges) -> None:
    if own := [method for method in methods if ":" in method]:
        message = f"A method of your own, such as {own[0]}, is not added later. Score the data set again with it."
        raise InvalidInput(message)
    check_methods(methods, [detector.method for detector in judges.detectors])
    for method in methods:
        if reason := _obstacle(run, method, judges):
            message = f"{METHODS[method].name} cannot be added to {run.folder.name}: {reason}"
            raise InvalidInput(message)


def _obstacle(run: Run, method: str, judges: Judges) -> str:
    """Why a method cannot be computed on what the run stored, and what to do; empty if it can."""
    row, keep = METHODS[method], run.manifest.request.keep
    if method in run.methods:
        return "the run has it already."
    if "samples" in row.needs:
        return "it compares samples, which runs do not store. Score the data set again with this method."
    if missing := [extra for extra in row.extras if extra not in keep]:
        names = ",".join(missing)
        return f"it needs {names}, which the run did not keep. Score the data set again with --keep {names}."
    given: set[Need] = {*needs_met(judges, samples=False), "facts"}
    if "focus" in keep:  # its document frequencies were used when the traces were captured
        given.add("idf")
    if words := missing_needs(method, given):
        return f"it needs {words}. Add {options_for(method, given)}."
    return ""


def _computed(run: Run, method: str, judges: Judges) -> _Column:
    """Apply a method to each answer.

    Raises:
        InvalidInput: it is undefined for all of them.
    """
    begun = time.perf_counter()
    examples = [run.examples[number] for number in run.answers["number"]]
    found = [
        uncertainty_of(METHODS[method], trace, (), judges_for(judges, example), example.question)
        for trace, example in zip(traces_of(run), examples, strict=True)
    ]
    if all(uncertainty.reason for uncertainty in found):
        message = f"{METHODS[method].name} is undefined for every answer of {run.folder.name}: {found[0].reason}"
        raise InvalidInput(message)
    seconds = time.perf_counter() - begun
    return _Column(found, Timing(stage="method", examples=len(found), seconds=seconds, method=method))


def _write(run: Run, method: str, found: Sequence[Uncertainty]) -> None:
    rows = [
        {"number": number, "answer_crc32": crc32_of(text), "value": float(value), "reason": value.reason}
        for number, text, value in zip(run.answers["number"].tolist(), run.answers["answer"], found, strict=True)
    ]
    rows += [
        {"number": number, "answer_crc32": 0, "value": float("nan"), "reason": "it has no answer"}
        for number in run.failures["number"].tolist()
    ]
    table = pa.Table.from_pylist(rows, schema=ADDED)
    path = added_path(run.folder, method)
    write_whole(path, lambda temporary: pq.write_table(table, temporary, compression="zstd", write_page_checksum=True))
