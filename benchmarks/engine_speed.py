"""How fast smollm2 answers by either engine, and what reading its attention costs llama.cpp.

Ways run in turn, round by round, each in a process of its own with the environment of `make app`, on one core and on
all: the engine as the app uses it; llama.cpp alone, with flash attention off and nothing read; and with its defaults.
By the clock, 32 tokens of prompt and 96 of answer. Bounds: with attention at least .80 of llama.cpp alone, and twice as
fast as transformers; the first token no later than 1.1 times; memory at most 1.1 times.
"""

import os
import resource
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from analysis.evidence.record import Record
from benchmarks.support.paired import ratio
from benchmarks.support.processes import apart
from benchmarks.support.recording import at_least, at_most, interval, measured, tell
from benchmarks.support.server import ENVIRONMENT
from rauq.checkpoints.named import file_of, find_named
from rauq.llama_cpp.context import FLASH_AUTO, FLASH_OFF, Context, open_model, tokens_of
from rauq.llama_cpp.library import CONTEXT_FIELDS, Struct, changed, find_library, load_library

PROMPT, NEW_TOKENS, ROUNDS = 32, 96, 7
LEAST_OF_ALONE, LEAST_TIMES, MOST_FIRST, MOST_MEMORY = 0.8, 2.0, 1.1, 1.1
OURS, ALONE, DEFAULTS, TRANSFORMERS = (
    "llama.cpp, with attention",
    "llama.cpp alone",
    "llama.cpp, defaults",
    "transformers",
)
COLUMNS = ("way", "threads", "tokens/s", "first token s", "peak MiB", "ratio to alone", "low", "high")


class Speed(NamedTuple):
    """Tokens a second after the first, seconds until that one, and MiB at most of the process that computes."""

    rate: float
    first: float
    memory: float


def measure() -> Record:
    """Every way, round by round."""
    os.environ.update(ENVIRONMENT)
    os.environ.pop("OMP_NUM_THREADS", None)
    ways = [(way, threads) for threads in sorted({1, len(os.sched_getaffinity(0))}) for way in _WAYS]
    found: dict[tuple[str, int], list[Speed]] = {way: [] for way in ways}
    for turn in range(ROUNDS):
        tell(f"round {turn + 1} of {ROUNDS}")
        for way, threads in ways:
            found[way, threads].append(apart(_WAYS[way], threads))
    return _record(found)


def _prompt() -> list[int]:
    ids: list[int] = np.random.default_rng(0).integers(100, 40_000, PROMPT).tolist()
    return ids


def _by_engine(engine: str, threads: int) -> Speed:
    """One answer by an engine, as the library gives it."""
    import torch

    import rauq

    torch.set_num_threads(threads)
    lm = rauq.load_model("smollm2", device="cpu", engine=engine)
    lm.generate(_prompt(), max_new_tokens=2, stop=())
    times: list[float] = []
    begin = time.perf_counter()
    lm.generate(
        _prompt(), max_new_tokens=NEW_TOKENS, stop=(), on_token=lambda *_: times.append(time.perf_counter() - begin)
    )
    memory = peak_of("self")
    if engine == "llama.cpp":
        running: Any = lm.engine
        memory = peak_of(running._process.running.pid)  # noqa: SLF001 - the child computes
    return Speed((len(times) - 1) / (times[-1] - times[0]), times[0], memory)


@dataclass(eq=False)
class Alone(Context):
    """llama.cpp without this project: nothing is called back, and flash attention is as `flash` says."""

    flash: int = FLASH_OFF

    def parameters(self) -> Struct:
        """As those of the engine, but for these two."""
        return changed(super().parameters(), CONTEXT_FIELDS, {"cb_eval": None, "flash_attn_type": self.flash})


def _alone(threads: int, *, flash: int) -> Speed:
    """The same steps by llama.cpp alone."""
    named: Any = find_named("smollm2")
    times = times_alone(alone(file_of(named), threads, flash=flash), _prompt(), NEW_TOKENS)
    return Speed((len(times) - 1) / (times[-1] - times[0]), times[0], peak_of("self"))


def alone(file: Path, threads: int, *, flash: int = FLASH_OFF) -> Alone:
    """A file opened by llama.cpp alone."""
    library = load_library(find_library())
    return Alone(library, open_model(library, file), threads, lambda: False, flash=flash)


def times_alone(context: Alone, ids: list[int], new_tokens: int) -> list[float]:
    """Seconds from the prompt to each token of an answer; logits are read, as any program reads them."""
    context.begin(len(ids) + new_tokens, offsets=1)
    begin, times, seen = time.perf_counter(), list[float](), 0
    for _ in range(new_tokens):
        positions = seen + np.arange(len(ids))
        seen += len(ids)
        logits = context.feed(tokens_of(ids, positions, 0 * positions, positions == positions[-1])).logits
        ids = [int(logits[0].argmax())]
        times.append(time.perf_counter() - begin)
    return times


_WAYS = {
    OURS: partial(_by_engine, "llama.cpp"),
    ALONE: partial(_alone, flash=FLASH_OFF),
    DEFAULTS: partial(_alone, flash=FLASH_AUTO),
    TRANSFORMERS: partial(_by_engine, "transformers"),
}


def peak_of(process: str | int) -> float:
    """MiB that a process has held at most."""
    if process == "self":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def _record(found: dict[tuple[str, int], list[Speed]]) -> Record:
    rates = {way: [speed.rate for speed in speeds] for way, speeds in found.items()}
    rows, bounds, said = [], [], []
    for (way, threads), speeds in found.items():
        of_alone = ratio(rates[way, threads], rates[ALONE, threads])
        rows.append((way, threads, *np.round(np.median(speeds, axis=0), 3).tolist(), *interval(of_alone)))
    for threads in sorted({threads for _, threads in found}):
        ours, alone = (np.array(found[way, threads]).T for way in (OURS, ALONE))
        times = ratio(ours[0], rates[TRANSFORMERS, threads])
        cores = f"{threads} thread{'s' if threads > 1 else ''}"
        bounds += [
            at_least(f"{cores}, tokens/s relative to llama.cpp alone", ratio(ours[0], alone[0]), LEAST_OF_ALONE),
            at_least(f"{cores}, tokens/s relative to transformers", times, LEAST_TIMES),
            at_most(f"{cores}, first token relative to llama.cpp alone", ratio(ours[1], alone[1]), MOST_FIRST),
            at_most(f"{cores}, memory relative to llama.cpp alone", ratio(ours[2], alone[2]), MOST_MEMORY),
        ]
        said.append(f"{np.median(ours[0]):.0f} tokens/s on {cores}, {times.median:.1f} times transformers")
    return measured(
        "engine_speed",
        title="Speed of the engines",
        about=f"SmolLM2-135M-Instruct (Q4_1) by the clock, {PROMPT} tokens of prompt and {NEW_TOKENS} of answer: "
        f"medians of {ROUNDS} rounds in turn, each in a process of its own.",
        columns=COLUMNS,
        rows=rows,
        bounds=bounds,
        notes=(
            "llama.cpp alone: flash attention off, nothing read but logits; defaults: flash attention as it likes.",
        ),
        finding=f"With its attention captured, smollm2 answers by llama.cpp at {'; '.join(said)}.",
        packages=("torch", "transformers", "xllamacpp", "numpy"),
    )
