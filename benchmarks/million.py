"""A run of a million answers of smollm2's shape: how long it takes to list, to open, to rank and to look into it.

The run is made of the bundled one: its answers are repeated, in shards of the usual size, each with its own numbers and
with a little seeded noise on its uncertainties. Every file has a name of its own; files of attention with the same
content are hard links, so that the run takes a tenth of its size on the disk.

Each step runs in a process of its own, as the first thing that is done with the run there; the pages of its files are
dropped from the cache before it (`posix_fadvise`; what the kernel knows of names and sizes stays). Bounds are
on CPU times of the process; wall times, which other programs on the machine prolong, are listed beside them:

- listed; opened, with the summary of its groups; the table of methods with intervals; the 50 least confident answers
  with their texts: 10 s each;
- any answer as a trace, once the run is open: 1 s;
- memory of a process that does all of it: at most 2 GiB.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from safetensors.numpy import load_file, save_file

from analysis.answer_sets.tables import summary_table
from analysis.datasets.example import fingerprint
from analysis.evidence.record import Record
from analysis.methods.comparison import compare, groups_of
from analysis.quality.judgement import Thresholds
from analysis.quality.measures import measure as measure_of
from analysis.runs.files.examples import EXAMPLES, ROWS, ExamplesFile
from analysis.runs.files.shards import write_shard
from analysis.runs.files.tables import Answered
from analysis.runs.job import STATUS, Status
from analysis.runs.library import bundled_folder, list_runs
from analysis.runs.manifest import INDEX, Manifest, answers_path, size_of, traces_path, write_manifest, write_whole
from analysis.runs.opened import MOST_RANKED, Run, open_run, sampled
from analysis.runs.traces import facts_in, trace, traces_of
from benchmarks.support.paired import spent
from benchmarks.support.processes import apart, memory_mib
from benchmarks.support.recording import at_most, measured, tell
from rauq.errors import RunError
from rauq.methods.method import Uncertainty
from rauq.trace.trace import Trace

ANSWERS, SHARD = 1_000_000, 32
SHOWN, INSPECTED = 50, 20
MOST_SECONDS, MOST_INSPECT, MOST_MIB = 10.0, 1.0, 2_048
_PLAIN = ("number", "values")  # columns that are not packed, so that they can be changed in place
_NOISE = 1e-3  # on each uncertainty: ties would make ranking faster than it is


class Step(NamedTuple):
    """What one step took: wall and CPU seconds."""

    wall: float
    cpu: float


@dataclass(frozen=True, kw_only=True)
class _Found:
    """What each step took, the slowest answer that was looked into, peak MiB, and bytes on the disk."""

    indexed: Step
    steps: Mapping[str, Step]
    inspected: Step
    memory: float
    num_bytes: int
    index_bytes: int


def measure() -> Record:
    """Write the run, make its index, and take each step."""
    with TemporaryDirectory() as name:
        folder = Path(name) / "million"
        tell("writing the run")
        write_run(folder)
        tell("making its index")
        indexed = apart(_step, partial(open_run, folder))
        steps = {}
        for what, step in STEPS.items():
            tell(what)
            _drop(folder)
            steps[what] = apart(_step, partial(step, folder))
        memory, inspected = apart(_everything, folder)
        return _record(
            _Found(
                indexed=indexed,
                steps=steps,
                inspected=inspected,
                memory=memory,
                num_bytes=size_of(folder),
                index_bytes=(folder / INDEX).stat().st_size,
            )
        )


def _step(step: Callable[[], object]) -> Step:
    taken = spent(step)
    return Step(taken.wall, taken.cpu)


def _list(folder: Path) -> None:
    if any(run.fault for run in list_runs(folder.parent)):
        message = "The run that was made is damaged."
        raise RunError(message)


def _summary(folder: Path) -> None:
    run = open_run(folder)
    summary_table(run.answers, [], _thresholds(run))


def _ranking(folder: Path) -> None:
    run = sampled(open_run(folder), most=MOST_RANKED)
    compare(
        run.answers,
        run.methods,
        groups_of(run.answers["group"].tolist(), clusters=run.clusters),
        metric="prr",
        thresholds=_thresholds(run),
    )


def _least_confident(folder: Path) -> None:
    run = open_run(folder)
    rows = np.argsort(-run.uncertainty("rauq"), kind="stable")[:SHOWN]
    texts = run.answers.iloc[rows][["prompt", "answer", "quality"]].to_numpy()
    questions = [run.examples[number].asked for number in run.answers["number"].iloc[rows].tolist()]
    if len(texts) != len(questions):
        message = "The table lacks an answer."
        raise RunError(message)


_OPENED, _RANKED = "opened, with the summary of its groups", "the table of methods, with intervals"
STEPS: Mapping[str, Callable[[Path], object]] = MappingProxyType(
    {
        "listed": _list,
        _OPENED: _summary,
        _RANKED: _ranking,
        f"the {SHOWN} least confident answers": _least_confident,
    }
)


def _everything(folder: Path) -> tuple[float, Step]:
    """Peak MiB of a process that takes all steps, and the slowest of some answers to be looked into."""
    for step in STEPS.values():
        step(folder)
    run = open_run(folder)
    rows = np.random.default_rng(0).integers(len(run.answers), size=INSPECTED).tolist()
    _drop(folder)
    taken = [_step(partial(trace, run, row)) for row in rows]
    return memory_mib("VmHWM"), max(taken, key=lambda step: step.wall)


def _drop(folder: Path) -> None:
    """Drop what the kernel keeps of the files in memory; every file with the same content once."""
    seen = set()
    for path in folder.iterdir():
        if (inode := path.stat().st_ino) not in seen:
            seen.add(inode)
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _thresholds(run: Run) -> Thresholds:
    return measure_of(run.manifest.request.quality).thresholds


def _record(found: _Found) -> Record:
    looked = f"one of {INSPECTED} answers as a trace, the slowest"
    steps = found.steps
    opened, ranked = (steps[what].cpu for what in (_OPENED, _RANKED))
    return measured(
        "million",
        title="A run of a million answers",
        about=f"The answers of the bundled run, repeated to {ANSWERS:,} in shards of {SHARD}: how long it takes to "
        "list, to open, to rank and to look into it, each step in a process of its own.",
        columns=("what", "wall s", "CPU s"),
        rows=[
            ("index made, once", *found.indexed),
            *((what, *step) for what, step in steps.items()),
            (looked, *found.inspected),
        ],
        bounds=[
            *(at_most(f"{what}, CPU s", step.cpu, MOST_SECONDS) for what, step in steps.items()),
            at_most(f"{looked}, CPU s", found.inspected.cpu, MOST_INSPECT),
            at_most("peak memory of a process that does all of it, MiB", found.memory, MOST_MIB),
        ],
        notes=(
            f"{found.num_bytes / 1e9:.1f} GB by the sizes of its files, and {found.index_bytes / 1e6:.0f} MB of index.",
            "Files of attention with the same content are hard links.",
            "The pages of its files were dropped from the cache before each step; names and sizes of files were not.",
            f"The table of methods is that of a sample of {MOST_RANKED:,} answers, as on the page Methods.",
            "Wall times are those of a machine that others used at the same time.",
        ),
        finding=f"A run of a million answers opens in {opened:.1f} s of CPU time, and its methods are ranked in "
        f"{ranked:.1f} s.",
        packages=("numpy", "pandas", "pyarrow"),
    )


def write_run(folder: Path, *, answers: int = ANSWERS) -> None:
    """Write a run of so many answers, a multiple of 32, as a finished job would have left it."""
    source = open_run(bundled_folder())
    manifest = _begun(folder, source, answers)
    templates = _templates(folder, source)
    for shard in range(manifest.num_shards):
        kind = shard % len(templates)
        answers_path(folder, shard).write_bytes(templates[kind].renumbered(manifest.numbers(shard)))
        if shard >= len(templates):
            os.link(traces_path(folder, kind), traces_path(folder, shard))
    status = Status(state="finished", total=answers, saved=answers)
    write_whole(folder / STATUS, lambda path: path.write_text(json.dumps(asdict(status)), encoding="utf-8"))


@dataclass(frozen=True, eq=False)
class _Template:
    """A shard's table as it is stored, with the places of its numbers and its uncertainties, which are not packed."""

    content: bytes
    numbers: np.ndarray
    values: np.ndarray

    def renumbered(self, numbers: range) -> bytes:
        """The same rows as those of other examples, with noise on their uncertainties."""
        noise = np.random.default_rng(numbers.start).normal(scale=_NOISE, size=self.values.shape)
        others = np.array(numbers, np.int32).tobytes(), (self.values + noise).tobytes()
        written = bytearray(self.content)
        for own, other in zip((self.numbers.tobytes(), self.values.tobytes()), others, strict=True):
            place = self.content.index(own)
            written[place : place + len(own)] = other
        return bytes(written)


def _begun(folder: Path, source: Run, answers: int) -> Manifest:
    """The manifest and the examples of the run: those of the source, again and again, with ids of their own."""
    examples = pq.read_table(source.folder / EXAMPLES).take(np.arange(answers) % _usable(source))
    ids = pa.array([f"example-{number}" for number in range(answers)])
    examples = examples.set_column(examples.schema.get_field_index("id"), "id", ids)
    folder.mkdir(parents=True)
    pq.write_table(examples, folder / EXAMPLES, compression="zstd", row_group_size=ROWS, write_page_checksum=True)
    found = fingerprint(ExamplesFile(folder))
    request = replace(
        source.manifest.request, data="facts-repeated", data_sha256=found, count=answers, shard_size=SHARD
    )
    manifest = replace(source.manifest, name=folder.name, request=request, added_methods=())
    write_manifest(folder, manifest)
    return manifest


def _usable(source: Run) -> int:
    """How many answers of the source fill whole shards."""
    return len(source.answers) // SHARD * SHARD


def _templates(folder: Path, source: Run) -> list[_Template]:
    """Write one shard for each 32 answers of the source: their tables, and arrays without the checksum of one."""
    return [_template(folder, shard, outcomes, source) for shard, outcomes in enumerate(_outcomes(source))]


def _template(folder: Path, shard: int, outcomes: Sequence[Answered], source: Run) -> _Template:
    write_shard(folder, shard, outcomes, stored=source.stored_layers)
    save_file(load_file(traces_path(folder, shard)), traces_path(folder, shard))
    stored, written = pq.ParquetFile(answers_path(folder, shard)), pa.BufferOutputStream()
    table, paths = stored.read(), [stored.schema.column(place).path for place in range(len(stored.schema))]
    packed = {path: "none" if path.startswith(_PLAIN) else "zstd" for path in paths}
    pq.write_table(table, written, compression=packed, use_dictionary=False, write_statistics=False)
    values = table["values"].combine_chunks().flatten().to_numpy()
    return _Template(written.getvalue().to_pybytes(), table["number"].to_numpy(), values)


def _outcomes(source: Run) -> Sequence[Sequence[Answered]]:
    """The answers of the source, 32 at a time."""
    facts = (fact for shard in source.shards for fact in facts_in(source, shard))
    methods = source.manifest.request.methods
    rows = (
        Answered(
            number=row,
            trace=_of_all_layers(trace),
            fact=fact,
            quality=float(source.answers["quality"].iloc[row]),
            quality_reason=source.answers["quality_reason"].iloc[row],
            uncertainties=tuple(
                Uncertainty(source.answers[one].iloc[row], source.reasons[one].iloc[row]) for one in methods
            ),
        )
        for row, (trace, fact) in enumerate(zip(traces_of(source), facts, strict=True))
    )
    return [list(islice(rows, SHARD)) for _ in range(_usable(source) // SHARD)]


def _of_all_layers(trace: Trace) -> Trace:
    """A trace with weights of every layer: those that the run does not store are like one that it does."""
    places = [trace.layers.index(layer) if layer in trace.layers else 0 for layer in range(trace.num_layers)]
    return replace(trace, layers=tuple(range(trace.num_layers)), attention=trace.attention[places])
