"""A run of 2,000 answers of 60 tokens by a model of 32 layers and 32 heads: its size, and how fast it is looked at.

The run is made up and written as `python -m analysis score` writes it. Times are CPU times of one thread, the median
of five rounds. Fails where one is missed:

- opened, to the numbers of the first figure (means of all layers and heads, the best and the worst answers): 3 s;
- scored again under new settings, once its weights are in memory: 1 s, head means included;
- memory of a process that does all of it: at most 1.5 GB.

    python -m benchmarks.runs
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # before numpy is imported

import numpy as np

from analysis.answer_sets.best_and_worst import best_and_worst
from analysis.datasets.example import DataSet, Example
from analysis.runs.arrays import batch, means
from analysis.runs.manifest import Answerer, write_manifest
from analysis.runs.opened import Run, layers_to_store, open_run
from analysis.runs.preparing import prepare, request_for
from analysis.runs.shard import Answered, write_shard
from benchmarks.capture import memory_mib
from benchmarks.paired import cpu_seconds
from rauq import Alternative, Batch, Settings, Trace, score_many
from rauq.methods.method import Uncertainty

ANSWERS, LAYERS, HEADS, TOKENS, VOCABULARY = 2_000, 32, 32, 60, 128_256
ROUNDS = 5
MOST_OPEN, MOST_SCORE, MOST_MEMORY_MIB = 3.0, 1.0, 1_500
NEW_SETTINGS = (Settings(), Settings(alpha=0.5), Settings(heads="mean"), Settings(layers=(12, 13)))


def made_trace(seed: int) -> Trace:
    """An answer of random numbers, whose text is as long as that of a real one."""
    rng = np.random.default_rng(seed)
    words = [f" word{rng.integers(1000)}" for _ in range(TOKENS)]
    ids = rng.integers(VOCABULARY, size=(TOKENS, 10))
    return Trace(
        prompt="",
        model="made-up",
        revision="0",
        kind="base",
        chat_applied=False,
        stop_reason="length",
        layers=tuple(range(LAYERS)),
        num_layers=LAYERS,
        vocab_size=VOCABULARY,
        prompt_ids=rng.integers(VOCABULARY, size=100),
        answer_ids=ids[:, 0],
        answer_tokens=tuple(words),
        pieces=tuple(word.encode() for word in words),
        logprobs=np.log(rng.uniform(0.05, 1, TOKENS)),
        entropies=rng.uniform(0, 5, TOKENS),
        alternatives=tuple(tuple(Alternative(int(id_), f" w{id_}", -rng.uniform(0, 9)) for id_ in row) for row in ids),
        attention=rng.random((LAYERS, HEADS, TOKENS + 1, 8), dtype=np.float32),
    )


def outcomes(numbers: range, traces: list[Trace]) -> Iterator[Answered]:
    """The same answers in every shard, of other numbers and quality."""
    fact = np.arange(TOKENS) % 20 == 7
    rng = np.random.default_rng(numbers.start)
    for number, trace in zip(numbers, traces, strict=False):
        quality, *uncertainties = (float(value) for value in rng.random(5))
        yield Answered(
            number=number,
            trace=trace,
            fact=fact,
            quality=round(quality),
            quality_reason="",
            uncertainties=tuple(map(Uncertainty, uncertainties)),
        )


def write_run(folder: Path) -> None:
    """Write the whole run."""
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
    traces = [made_trace(seed) for seed in range(manifest.request.shard_size)]
    for shard in range(manifest.num_shards):
        kept = list(outcomes(manifest.numbers(shard), traces))
        write_shard(folder, shard, kept, stored=layers_to_store(manifest, answerer))


def first_figure(folder: Path) -> Run:
    """Open a run, and compute what figure 2 shows of a layer."""
    run = open_run(folder)
    attention = means(run)[:, LAYERS // 2]
    best_and_worst(attention, run.answers["quality"].to_numpy(), attention.argmax(axis=-1))
    return run


def scored_again(loaded: Batch, settings: Settings) -> float:
    """Seconds under new settings, of a batch that has yet to compute its head means."""
    return float(np.median([cpu_seconds(lambda: score_many(replace(loaded), settings)) for _ in range(ROUNDS)]))


def main() -> int:
    """Print the numbers; 1 if one is missed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "run"
        writing = cpu_seconds(lambda: write_run(folder))
        num_bytes = sum(path.stat().st_size for path in folder.iterdir())
        print(f"{ANSWERS} answers, {LAYERS} layers, {HEADS} heads, {TOKENS} tokens; attention of the middle layers")
        print(f"  on disk             {num_bytes / 1e6:.0f} MB, {num_bytes / ANSWERS / 1e3:.0f} kB an answer")
        print(f"  written in          {1000 * writing / ANSWERS:.1f} ms an answer", flush=True)
        Path("/proc/self/clear_refs").write_text("5")  # forget the peak of writing
        opening = float(np.median([cpu_seconds(lambda: first_figure(folder)) for _ in range(ROUNDS)]))
        loaded = batch(open_run(folder))
        scoring = [scored_again(loaded, settings) for settings in NEW_SETTINGS]
    memory = memory_mib("VmHWM")
    print(f"  to the first figure {opening:.2f} s  (at most {MOST_OPEN})")
    print(f"  scored again        {', '.join(f'{each:.2f}' for each in scoring)} s  (at most {MOST_SCORE})")
    print(f"  memory              {memory:.0f} MiB at its peak  (at most {MOST_MEMORY_MIB})")
    return int(opening > MOST_OPEN or max(scoring) > MOST_SCORE or memory > MOST_MEMORY_MIB)


if __name__ == "__main__":
    sys.exit(main())
