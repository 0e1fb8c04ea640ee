"""How fast smollm2 answers on this machine's cores: in which precision, and with how many threads.

Each way runs in a process of its own, started with the environment of `make app`, and all ways run in turn, round by
round. By the clock, since this is what a user waits for: loading, the first token of an answer, tokens a second of one
answer, of a batch and of the samples of a prompt, each with its attention captured. The app and the command line load
it as float32 with as many threads as there are cores. Bound: no other way that gives the same answers is much faster.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
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


class Found(NamedTuple):
    """One round of one way: its speeds, the tokens of its batch's answers, and their uncertainties."""

    speeds: Speeds
    answers: tuple[tuple[int, ...], ...]
    uncertainties: tuple[float, ...]


def measure() -> Record:
    """Every way, round by round."""
    os.environ.update(ENVIRONMENT)  # inherited by the processes, whose libraries read it when they are loaded
    os.environ.pop("OMP_NUM_THREADS", None)
    cores = len(os.sched_getaffinity(0))
    ways = [(dtype, threads) for dtype in ("float32", "bfloat16") for threads in sorted({1, cores})]
    found: dict[Way, list[Found]] = {way: [] for way in ways}
    for turn in range(ROUNDS):
        tell(f"round {turn + 1} of {ROUNDS}")
        for way in ways:
            found[way].append(apart(_found, *way))
    return _record(found, ("float32", cores))


def _found(dtype: str, threads: int) -> Found:
    """One round of one way, in this process."""
    import torch

    import rauq

    torch.set_num_threads(threads)
    load, lm = _timed(lambda: rauq.load_model("smollm2", device="cpu", dtype=dtype))
    whole: Any = {"max_new_tokens": NEW_TOKENS, "stop": ()}
    lm.generate(QUESTIONS[-1], max_new_tokens=2)  # the first call takes longer
    first = np.median([_timed(partial(lm.generate, one, max_new_tokens=1))[0] for one in QUESTIONS])
    single = [_timed(partial(lm.generate, one, **whole)) for one in QUESTIONS[:3]]
    batch, traces = _timed(partial(_batch, lm, whole))
    sampled, samples = _timed(lambda: lm.sample(QUESTIONS[0], k=SAMPLES, seed=0, **whole))
    speeds = Speeds(
        load=load,
        first=float(first),
        single=_count([trace for _, trace in single]) / sum(seconds for seconds, _ in single),
        batch=_count(traces) / batch,
        samples=_count(samples) / sampled,
    )
    answers = tuple(tuple(trace.answer_ids.tolist()) for trace in traces)
    return Found(speeds, answers, tuple(rauq.score(trace).uncertainty for trace in traces))


def _batch(lm: Any, options: Mapping[str, Any]) -> list[Any]:  # noqa: ANN401 - torch is not imported in this process
    return list(lm.generate_batch(QUESTIONS, **options))


def _timed(run: Callable[[], T]) -> tuple[float, T]:
    begun = time.perf_counter()
    result = run()
    return time.perf_counter() - begun, result


def _count(traces: Sequence[Any]) -> int:
    return sum(len(trace.answer_ids) for trace in traces)


def _record(found: dict[Way, list[Found]], chosen: Way) -> Record:
    medians = {way: Speeds(*np.median([row.speeds for row in rows], axis=0).tolist()) for way, rows in found.items()}
    batches = {way: [row.speeds.batch for row in rows] for way, rows in found.items()}
    faster = {way: ratio(batches[way], batches[chosen]) for way in found}
    same = {way: _same(rows[0], found[chosen][0]) for way, rows in found.items()}
    return measured(
        "real_speed",
        title="Speed of smollm2",
        about=f"SmolLM2-135M-Instruct by the clock, every answer with its attention: loading from its file, one of "
        f"{len(QUESTIONS)} questions until its first token, then {NEW_TOKENS} tokens of one answer, of "
        f"{len(QUESTIONS)} answers in a batch and of {SAMPLES} samples of a prompt; tokens of the batch relative to "
        "the way that is used, and how many of its answers have the same tokens as there.",
        columns=(
            *("precision", "threads", "load s", "first token s", "one answer, tokens/s", "batch, tokens/s"),
            *("samples, tokens/s", "batch, relative", "low", "high", "same answers"),
        ),
        rows=[(*way, *speeds, *interval(faster[way]), same[way]) for way, speeds in medians.items()],
        bounds=[
            at_most(
                f"batch in {dtype} with {threads} threads, relative to the way used",
                faster[dtype, threads],
                MOST_FASTER,
            )
            for dtype, threads in found
            if (dtype, threads) != chosen and same[dtype, threads] == len(QUESTIONS)
        ],
        notes=(f"Medians of {ROUNDS} rounds. Used: {chosen[0]}, {chosen[1]} threads.", *_notes(found, chosen)),
        finding=_finding(medians[chosen]),
    )


def _same(one: Found, used: Found) -> int:
    return sum(first == second for first, second in zip(one.answers, used.answers, strict=True))


def _notes(found: dict[Way, list[Found]], chosen: Way) -> list[str]:
    """How much uncertainties of the same tokens differ in the ways that give other answers."""
    used, notes = found[chosen][0], []
    for (dtype, threads), (first, *_) in found.items():
        pairs = zip(first.answers, used.answers, first.uncertainties, used.uncertainties, strict=True)
        moved = [abs(one - other) for mine, theirs, one, other in pairs if mine == theirs]
        if len(moved) < len(QUESTIONS):
            words = f"their uncertainties differ by up to {max(moved):.3f}" if moved else "none is left to compare"
            way = f"{dtype}, {threads} thread{'' if threads == 1 else 's'}"
            notes.append(f"{way}: {len(moved)} of {len(QUESTIONS)} answers are the same; {words}.")
    return notes


def _finding(used: Speeds) -> str:
    return (
        f"smollm2 is loaded in {used.load:.0f} s and starts an answer in {used.first:.2f} s; one answer gets "
        f"{used.single:.0f} tokens a second, {len(QUESTIONS)} in a batch {used.batch:.0f} together."
    )
