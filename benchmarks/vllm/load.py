"""Whether a vLLM server with the plugin rauq-vllm keeps answers apart for ten minutes, beside clients that hang up.

Every question is first asked alone. Then clients ask them in any order while others hang up, and each answer is
compared with the one that was asked alone: a token, a weight or a row of another request would differ. Then the same
clients ask vLLM without the plugin, since its own memory grows too.
"""

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

import numpy as np
import openai

from analysis.datasets.names import PLAIN, load
from analysis.evidence.record import Bound, Cell, Record
from benchmarks.support.processes import family_mib
from benchmarks.support.recording import at_most, measured, tell
from benchmarks.vllm.agreement import MOST_ATTENTION, MOST_LOGPROB, hanging_up, model_folder
from benchmarks.vllm.server import MODEL, answered, started
from rauq import Trace, from_vllm, load_model
from rauq.errors import RauqError

MINUTES, CLIENTS, LEAVERS, QUESTIONS, TOKENS = 10, 12, 8, 40, 48
WAITS = 60  # seconds in which the server has to see that the last client has gone
MOST_GROWTH = 64  # MiB, from the second minute to the last, beyond that of vLLM without the plugin
ROWS = Path("/dev/shm")  # noqa: S108 - where the plugin keeps rows while an answer is written
OF_ANSWERS = ("answers", "lost", "other tokens", "rows of another")
COLUMNS = ("minute", *OF_ANSWERS, "largest difference", "MiB", "without the plugin: answers", "MiB without")


@dataclass
class Minute:
    """What came back within a minute."""

    counts: Counter[str] = field(default_factory=Counter)
    largest: float = 0.0
    mebibytes: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Load:
    """What the minutes were, how many answers were given up, and how many files of requests stayed."""

    minutes: tuple[Minute, ...]
    given_up: int
    left: int = 0

    @property
    def growth(self) -> float:
        """MiB, from the second minute to the last; in the first, memory is filled."""
        return self.minutes[-1].mebibytes - self.minutes[1].mebibytes

    @property
    def total(self) -> Counter[str]:
        """What came back in all minutes."""
        return sum((minute.counts for minute in self.minutes), Counter())


def measure() -> Record:
    """Ten minutes with the plugin and what is left after them, and ten without."""
    lm = load_model(MODEL, engine="transformers", device="cpu")
    asked = [one.prompt for one in load(PLAIN, kind=lm.kind).examples]
    prompts = asked[:: max(1, len(asked) // QUESTIONS)][:QUESTIONS]
    with model_folder(lm) as folder:
        del lm
        return record_of(_with_plugin(folder, prompts), _without_plugin(folder, prompts))


def _with_plugin(folder: Path, prompts: Sequence[str]) -> Load:
    before = set(ROWS.glob("rauq-vllm-*"))
    with started(folder) as (client, process):
        (folder_of_rows,) = set(ROWS.glob("rauq-vllm-*")) - before
        alone = [from_vllm(one) for one in answered(client, prompts, clients=1, tokens=TOKENS)]

        def ask(place: int) -> tuple[str, float]:
            return _compared(client, prompts[place], alone[place])

        minutes, given_up = _minutes(client, process, prompts, ask)
        return Load(minutes=minutes, given_up=given_up, left=_left(folder_of_rows))


def _without_plugin(folder: Path, prompts: Sequence[str]) -> Load:
    with started(folder, plugin=False) as (client, process):
        answered(client, prompts, clients=1, tokens=TOKENS)
        minutes, given_up = _minutes(client, process, prompts, lambda place: _there(client, prompts[place]))
        return Load(minutes=minutes, given_up=given_up)


def _minutes(
    client: openai.OpenAI,
    process: int,
    prompts: Sequence[str],
    ask: Callable[[int], tuple[str, float]],
) -> tuple[tuple[Minute, ...], int]:
    """Minutes of the load, and how many answers were given up; `ask` asks for the answer at a place."""
    with hanging_up(client, prompts, LEAVERS) as given_up:
        minutes = tuple(_minute(process, len(prompts), ask, number) for number in range(MINUTES))
    return minutes, len(given_up)


def _minute(process: int, prompts: int, ask: Callable[[int], tuple[str, float]], number: int) -> Minute:
    tell(f"minute {number + 1}: {CLIENTS} clients, {LEAVERS} that hang up")
    found, lock, end = Minute(), Lock(), time.monotonic() + 60

    def keep_asking(seed: int) -> None:
        chosen = random.Random(seed)
        while time.monotonic() < end:
            kind, difference = ask(chosen.randrange(prompts))
            with lock:
                found.counts.update(("answers", kind))
                found.largest = max(found.largest, difference)

    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(keep_asking, range(number * CLIENTS, (number + 1) * CLIENTS)))
    found.mebibytes = family_mib(process)
    return found


def _there(client: openai.OpenAI, prompt: str) -> tuple[str, float]:
    """Whether an answer came, of which nothing is compared."""
    try:
        answered(client, [prompt], clients=1, tokens=TOKENS)
    except openai.OpenAIError:
        return "lost", 0.0
    return "same", 0.0


def _compared(client: openai.OpenAI, prompt: str, alone: Trace) -> tuple[str, float]:
    """What an answer is beside the one asked alone, and the largest difference of a weight."""
    try:
        trace = from_vllm(answered(client, [prompt], clients=1, tokens=TOKENS)[0])
    except (RauqError, openai.OpenAIError):
        return "lost", 0.0
    return compared(trace, alone)


def compared(trace: Trace, alone: Trace) -> tuple[str, float]:
    """What an answer is beside the one asked alone, and the largest difference of a weight while they are the same.

    Another token is only believed where it was about as probable: the row that predicts it is compared too.
    """
    both = list(zip(trace.answer_ids.tolist(), alone.answer_ids.tolist(), strict=False))
    same = next((place for place, (one, other) in enumerate(both) if one != other), len(both))
    rows = min(same + 1, len(both))
    difference = float(np.abs(trace.attention[:, :, :rows] - alone.attention[:, :, :rows]).max())
    if trace.prompt_ids.tolist() != alone.prompt_ids.tolist() or not difference <= MOST_ATTENTION:
        return "rows of another", difference
    if same < len(both):
        best, second = (alternative.logprob for alternative in alone.alternatives[same][:2])
        return ("other tokens" if best - second < MOST_LOGPROB else "rows of another"), difference
    return ("same" if len(trace.answer_ids) == len(alone.answer_ids) else "rows of another"), difference


def _left(folder: Path) -> int:
    """Files of requests that are still kept some time after the last answer."""
    end = time.monotonic() + WAITS
    while (left := sum(1 for file in folder.iterdir() if file.suffix)) > 0:
        if time.monotonic() > end:
            break
        time.sleep(1)
    return left


def record_of(with_plugin: Load, without: Load) -> Record:
    """The table, and its bounds."""
    total, given_up = with_plugin.total, with_plugin.given_up
    answers = total["answers"]
    growths = (
        f"From the second minute to the last, memory grew by {with_plugin.growth:.0f} MiB with the plugin, and by "
        f"{without.growth:.0f} MiB without it, beside {without.given_up:,} answers that were given up."
    )
    other = (
        f"{total['other tokens']:,} of {answers:,} answers went on with another token where two were within "
        f"{MOST_LOGPROB:g} nats of each other: sums round differently in a batch."
    )
    return measured(
        "vllm_load",
        title="vLLM under concurrent requests",
        about=f"For {len(with_plugin.minutes)} minutes, {CLIENTS} clients ask {MODEL} in vLLM {QUESTIONS} questions in "
        f"any order, with attention in the response, beside {LEAVERS} clients that hang up. Each answer is compared "
        "with the one to the same question asked alone. Memory is that of all processes of the server. Then the same "
        "clients ask vLLM without the plugin.",
        columns=COLUMNS,
        rows=[_row(*both) for both in enumerate(zip(with_plugin.minutes, without.minutes, strict=True), 1)],
        bounds=[
            at_most("Answers without their attention", total["lost"], 0),
            at_most("Answers with rows of another", total["rows of another"], 0),
            at_most("Growth of memory beyond vLLM's own, MiB", with_plugin.growth - without.growth, MOST_GROWTH),
            at_most("Files left after the last answer", with_plugin.left, 0),
            Bound(text=f"Some answers were given up: {given_up:,}", met=given_up > 0),
        ],
        notes=("Version of vLLM: 0.32.0, on a CPU.", growths, other),
        finding=f"Of {answers:,} answers in {len(with_plugin.minutes)} minutes, beside {given_up:,} given up, "
        f"{total['lost']:,} lost their attention and {total['rows of another']:,} had that of another.",
        packages=("torch", "transformers", "numpy", "openai"),
    )


def _row(number: int, both: tuple[Minute, Minute]) -> tuple[Cell, ...]:
    found, alone = both
    counts = (found.counts[name] for name in OF_ANSWERS)
    largest = float(f"{found.largest:.1e}")
    return (number, *counts, largest, round(found.mebibytes), alone.counts["answers"], round(alone.mebibytes))
