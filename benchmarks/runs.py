"""A run of 2,000 answers of 60 tokens by a model of 32 layers and 32 heads: its size, and how fast it is looked at.

The run is made up and written as `python -m analysis score` writes it. Times are CPU times, the median of 15 rounds.
Bounds:

- opened, to the numbers of the first figure (means of all layers and heads, the best and the worst answers): 3 s;
- scored again under new settings, once its weights are in memory: 1 s, head means included;
- memory of a process that does all of it: at most 1.5 GB;
- scored again where one answer of the 2,000 has 1,024 tokens: 1 s, and at most 100 MiB more than without it.
"""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from analysis.answer_sets.best_and_worst import best_and_worst
from analysis.datasets.example import DataSet, Example
from analysis.evidence.record import Record
from analysis.runs.attention import batch, means
from analysis.runs.create import prepare, request_for
from analysis.runs.files.arrays import layers_to_store
from analysis.runs.files.shards import write_shard
from analysis.runs.files.tables import Answered
from analysis.runs.manifest import Answerer, write_manifest
from analysis.runs.opened import open_run
from benchmarks.support.paired import Ratio, cpu_seconds, seconds
from benchmarks.support.processes import apart, forget_peak, memory_mib
from benchmarks.support.random_trace import HEADS, LAYERS, VOCABULARY, random_trace
from benchmarks.support.recording import at_most, interval, measured, tell
from rauq import Settings, Trace, score_many
from rauq.methods.method import Uncertainty
from rauq.trace.batch import Blocks

ANSWERS, TOKENS, LONG = 2_000, 60, 1_024
ROUNDS = 15
MOST_OPEN, MOST_SCORE, MOST_MEMORY_MIB, MOST_EXTRA_MIB = 3.0, 1.0, 1_500, 100
NEW_SETTINGS = (
    ("the paper's setting", Settings()),
    ("another alpha", Settings(alpha=0.5)),
    ("the mean of all heads", Settings(heads="mean")),
    ("two layers", Settings(layers=(12, 13))),
)


@dataclass(frozen=True, kw_only=True)
class Looked:
    """What a run takes: bytes on disk, CPU seconds to write an answer, to open it and to score it, and peak MiB.

    `long_scoring` is of a run in which one answer is long, and `long_extra` how many MiB more it takes to score that.
    """

    num_bytes: int
    writing: float
    opening: Ratio
    scoring: tuple[Ratio, ...]
    memory: float
    long_scoring: Ratio
    long_extra: float


def measure() -> Record:
    """Write the run, open it and score it, then the one with a long answer, in this process."""
    with tempfile.TemporaryDirectory() as name:
        folder, with_long = Path(name) / "run", Path(name) / "long"
        tell("writing the runs")
        writing = cpu_seconds(partial(_write_run, folder))
        _write_run(with_long, first=LONG)
        tell("opening it, and scoring it again")
        forget_peak()
        opening = _repeated(partial(_first_figure, folder))
        scoring, memory = _scored_again(folder), memory_mib("VmHWM")
        tell("scoring the one with a long answer")
        return _record(
            Looked(
                num_bytes=sum(path.stat().st_size for path in folder.iterdir()),
                writing=writing / ANSWERS,
                opening=opening,
                scoring=scoring,
                memory=memory,
                long_scoring=_slowest(_scored_again(with_long)),
                long_extra=apart(_peak_of_scoring, with_long) - apart(_peak_of_scoring, folder),
            )
        )


def _outcomes(numbers: range, traces: list[Trace]) -> Iterator[Answered]:
    """The same answers in every shard, of other numbers and quality."""
    rng = np.random.default_rng(numbers.start)
    for number, trace in zip(numbers, traces, strict=False):
        quality, *uncertainties = (float(value) for value in rng.random(5))
        yield Answered(
            number=number,
            trace=trace,
            fact=np.arange(len(trace.answer_ids)) % 20 == 7,
            quality=round(quality),
            quality_reason="",
            uncertainties=tuple(map(Uncertainty, uncertainties)),
        )


def _write_run(folder: Path, *, first: int = TOKENS) -> None:
    """Write the whole run; its first answer has `first` tokens."""
    data = DataSet(
        name="made-up", examples=tuple(Example(id=str(number), prompt="Where? " * 40) for number in range(ANSWERS))
    )
    manifest = prepare(folder, data, request_for(data, model="made-up"))
    answerer = Answerer(
        name="made-up",
        revision="0",
        kind="base",
        dtype="float32",
        layers=tuple(range(LAYERS)),
        num_layers=LAYERS,
        num_heads=HEADS,
        vocab_size=VOCABULARY,
    )
    write_manifest(folder, replace(manifest, answerer=answerer))
    traces = [random_trace(TOKENS, seed=seed) for seed in range(manifest.request.shard_size)]
    for shard in range(manifest.num_shards):
        kept = list(_outcomes(manifest.numbers(shard), traces if shard else [random_trace(first), *traces[1:]]))
        write_shard(folder, shard, kept, stored=layers_to_store(manifest, answerer))


def _first_figure(folder: Path) -> None:
    """Open a run, and compute what figure 2 shows of a layer."""
    run = open_run(folder)
    attention = means(run)[:, LAYERS // 2]
    best_and_worst(attention, run.answers["quality"].to_numpy(), attention.argmax(axis=-1))


def _peak_of_scoring(folder: Path) -> float:
    """Peak MiB of a process that does nothing but score a run under each of the settings."""
    _scored_again(folder)
    return memory_mib("VmHWM")


def _scored_again(folder: Path) -> tuple[Ratio, ...]:
    """Read the weights of a run, and score it under each of the settings; head means are computed anew."""
    loaded = batch(open_run(folder))
    return tuple(_repeated(partial(_score, loaded, settings)) for _, settings in NEW_SETTINGS)


def _score(loaded: Blocks, settings: Settings) -> None:
    score_many(replace(loaded, batches=tuple(map(replace, loaded.batches))), settings)


def _repeated(run: Callable[[], object]) -> Ratio:
    """CPU seconds of one call."""
    return seconds([cpu_seconds(run) for _ in range(ROUNDS)])


def _slowest(found: tuple[Ratio, ...]) -> Ratio:
    return max(found, key=lambda each: each.median)


def _record(found: Looked) -> Record:
    slowest = _slowest(found.scoring)
    kept = (
        ("opened, to the first figure, CPU s", found.opening.median, MOST_OPEN),
        ("scored again, slowest setting, CPU s", slowest.median, MOST_SCORE),
        ("peak memory of the process, MiB", found.memory, MOST_MEMORY_MIB),
        (f"one answer of {LONG:,} tokens: scored again, slowest setting, CPU s", found.long_scoring.median, MOST_SCORE),
        (f"one answer of {LONG:,} tokens: extra peak memory, MiB", found.long_extra, MOST_EXTRA_MIB),
    )
    scored = zip((name for name, _ in NEW_SETTINGS), found.scoring, strict=True)
    return measured(
        "runs",
        title="A run of 2,000 answers, opened and scored again",
        about=f"A made-up run of {ANSWERS:,} answers of {LAYERS} x {HEADS} heads, {TOKENS} tokens, with the attention "
        "of its middle layers on disk: how fast it is opened, and how fast it is scored under new settings.",
        columns=("what", "CPU s", "low", "high"),
        rows=[
            ("opened, to the first figure", *interval(found.opening)),
            *((f"scored again: {name}", *interval(each)) for name, each in scored),
            (f"scored again: one answer of {LONG:,} tokens, slowest setting", *interval(found.long_scoring)),
        ],
        bounds=[at_most(*one) for one in kept],
        notes=(
            f"Medians of {ROUNDS} rounds, one thread; head means are computed in each.",
            f"{found.num_bytes / 1e6:.0f} MB on disk, written in {found.writing * 1e3:.1f} ms of CPU time an answer.",
        ),
        finding=f"A run of {ANSWERS:,} answers shows its first figure after {found.opening.median:.1f} s of CPU time, "
        f"and is scored again in {slowest.median:.2f} s.",
        packages=("numpy", "pandas", "pyarrow"),
    )
