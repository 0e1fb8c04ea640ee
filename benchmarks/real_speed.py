"""How fast smollm2 answers on this machine's cores: in which precision, and with how many threads.

Each way runs in a process of its own, started with the environment of `make app`, and all ways run in turn, round by
round. By the clock, since this is what a user waits for: loading, the first token of an answer, tokens a second of one
answer, of a batch and of the samples of a prompt, each with its attention captured. The app and the command line load
it as float32 with as many threads as there are cores: bound, that no other way gives the tokens of a batch much faster.
"""

import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from analysis.evidence.record import Record
from benchmarks.support.paired import ratio
from benchmarks.support.processes import apart
from benchmarks.support.recording import at_most, interval, measured, tell
from benchmarks.support.server import ENVIRONMENT

QUESTIONS = (
    "Who is the author of The Trial?",
    "What is the capital of Australia?",
    "Which language has the most native speakers?",
    "How many moons does Mars have?",
    "Who painted the Mona Lisa?",
    "What is the chemical symbol of tin?",
    "When did the Titanic sink?",
    "Who composed The Magic Flute?",
)
NEW_TOKENS, SAMPLES, ROUNDS = 32, 5, 5
MOST_FASTER = 1.1

T = TypeVar("T")
Way = tuple[str, int]
"""A precision and a number of threads."""


class Speeds(NamedTuple):
    """Seconds until the model is loaded and until the first token, and tokens a second."""

    load: float
    first: float
    single: float
    batch: float
    samples: float


def measure() -> Record:
    """Every way, round by round."""
    os.environ.update(ENVIRONMENT)  # inherited by the processes, whose libraries read it when they are loaded
    cores = len(os.sched_getaffinity(0))
    ways = [(dtype, threads) for dtype in ("float32", "bfloat16") for threads in sorted({1, cores})]
    found: dict[Way, list[Speeds]] = {way: [] for way in ways}
    for turn in range(ROUNDS):
        tell(f"round {turn + 1} of {ROUNDS}")
        for way in ways:
            found[way].append(apart(_speeds, *way))
    return _record(found, ("float32", cores))


def _speeds(dtype: str, threads: int) -> Speeds:
    """The speeds of one way, in this process."""
    import torch

    import rauq

    torch.set_num_threads(threads)
    load, lm = _timed(lambda: rauq.load_model("smollm2", device="cpu", dtype=dtype))
    whole: Any = {"max_new_tokens": NEW_TOKENS, "stop": ()}
    lm.generate(QUESTIONS[-1], max_new_tokens=2)  # the first call compiles
    first = np.median([_timed(partial(lm.generate, one, max_new_tokens=1))[0] for one in QUESTIONS])
    single = [_timed(partial(lm.generate, one, **whole)) for one in QUESTIONS[:3]]
    batch, traces = _timed(lambda: list(lm.generate_batch(QUESTIONS, **whole)))
    sampled, samples = _timed(lambda: lm.sample(QUESTIONS[0], k=SAMPLES, seed=0, **whole))
    return Speeds(
        load=load,
        first=float(first),
        single=_count([trace for _, trace in single]) / sum(seconds for seconds, _ in single),
        batch=_count(traces) / batch,
        samples=_count(samples) / sampled,
    )


def _timed(run: Callable[[], T]) -> tuple[float, T]:
    begun = time.perf_counter()
    result = run()
    return time.perf_counter() - begun, result


def _count(traces: Sequence[Any]) -> int:
    return sum(len(trace.answer_ids) for trace in traces)


def _record(found: dict[Way, list[Speeds]], chosen: Way) -> Record:
    medians = {way: Speeds(*np.median(rows, axis=0).tolist()) for way, rows in found.items()}
    used = medians[chosen]
    faster = {
        way: ratio([row.batch for row in rows], [row.batch for row in found[chosen]]) for way, rows in found.items()
    }
    return measured(
        "real_speed",
        title="Speed of smollm2",
        about=f"SmolLM2-135M-Instruct by the clock, every answer with its attention: loading from its file, one of "
        f"{len(QUESTIONS)} questions until its first token, then {NEW_TOKENS} tokens of one answer, of "
        f"{len(QUESTIONS)} answers in a batch and of {SAMPLES} samples of a prompt. Last columns: tokens of the batch "
        "beside the way that is used.",
        columns=(
            *("precision", "threads", "load s", "first token s", "one answer, tokens/s", "batch, tokens/s"),
            *("samples, tokens/s", "batch, relative", "low", "high"),
        ),
        rows=[(*way, *speeds, *interval(faster[way])) for way, speeds in medians.items()],
        bounds=[
            at_most(
                f"batch in {dtype} with {threads} threads, relative to the way used",
                faster[dtype, threads],
                MOST_FASTER,
            )
            for dtype, threads in found
            if (dtype, threads) != chosen
        ],
        notes=(f"Medians of {ROUNDS} rounds. Used: {chosen[0]}, {chosen[1]} threads.",),
        finding=f"smollm2 is loaded in {used.load:.0f} s and starts an answer in {used.first:.2f} s; one answer gets "
        f"{used.single:.0f} tokens a second, {len(QUESTIONS)} in a batch {used.batch:.0f}.",
    )
