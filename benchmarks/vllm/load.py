"""Whether a vLLM server with the plugin rauq-vllm keeps answers apart for ten minutes, beside clients that hang up.

Every question is first asked alone. Then clients ask them in any order while others hang up, and each answer is
compared with the one that was asked alone: a token, a weight or a row of another request would differ.
"""

import random
import time
from collections import Counter
from collections.abc import Sequence
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
MOST_GROWTH = 64  # MiB, from the second minute to the last
ROWS = Path("/dev/shm")  # noqa: S108 - where the plugin keeps rows while an answer is written
COLUMNS = ("minute", "answers", "lost", "other tokens", "rows of another", "largest difference", "MiB")


@dataclass
class Minute:
    """What came back within a minute."""

    counts: Counter[str] = field(default_factory=Counter)
    largest: float = 0.0
    mebibytes: float = 0.0

    def row(self, number: int) -> tuple[Cell, ...]:
        """Its row of the table."""
        counts = (self.counts[name] for name in ("answers", "lost", "other tokens", "rows of another"))
        return (number, *counts, float(f"{self.largest:.1e}"), round(self.mebibytes))


def measure() -> Record:
    """Ten minutes, and what is left after them."""
    lm = load_model(MODEL, engine="transformers", device="cpu")
    asked = [one.prompt for one in load(PLAIN, kind=lm.kind).examples]
    prompts = asked[:: max(1, len(asked) // QUESTIONS)][:QUESTIONS]
    with model_folder(lm) as folder:
        del lm
        before = set(ROWS.glob("rauq-vllm-*"))
        with started(folder) as (client, process):
            (folder_of_rows,) = set(ROWS.glob("rauq-vllm-*")) - before
            alone = [from_vllm(one) for one in answered(client, prompts, clients=1, tokens=TOKENS)]
            with hanging_up(client, prompts, LEAVERS) as given_up:
                minutes = [_minute(client, process, prompts, alone, number) for number in range(MINUTES)]
            left = _left(folder_of_rows)
    return record_of(minutes, given_up=len(given_up), left=left)


def _minute(client: openai.OpenAI, process: int, prompts: Sequence[str], alone: Sequence[Trace], number: int) -> Minute:
    tell(f"minute {number + 1}: {CLIENTS} clients, {LEAVERS} that hang up")
    found, lock, end = Minute(), Lock(), time.monotonic() + 60

    def ask(seed: int) -> None:
        chosen = random.Random(seed)
        while time.monotonic() < end:
            place = chosen.randrange(len(prompts))
            kind, difference = _compared(client, prompts[place], alone[place])
            with lock:
                found.counts.update(("answers", kind))
                found.largest = max(found.largest, difference)

    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(ask, range(number * CLIENTS, (number + 1) * CLIENTS)))
    found.mebibytes = family_mib(process)
    return found


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


def record_of(minutes: Sequence[Minute], *, given_up: int, left: int) -> Record:
    """The table, and its bounds."""
    total: Counter[str] = Counter()
    for minute in minutes:
        total.update(minute.counts)
    growth = minutes[-1].mebibytes - minutes[1].mebibytes
    answers = total["answers"]
    other = (
        f"{total['other tokens']:,} of {answers:,} answers went on with another token where two were within "
        f"{MOST_LOGPROB:g} nats of each other: sums round differently in a batch."
    )
    return measured(
        "vllm_load",
        title="vLLM under concurrent requests",
        about=f"For {len(minutes)} minutes, {CLIENTS} clients ask {MODEL} in vLLM {QUESTIONS} questions in any order, "
        f"with attention in the response, beside {LEAVERS} clients that hang up. Each answer is compared with the one "
        "to the same question asked alone. Memory is that of all processes of the server.",
        columns=COLUMNS,
        rows=[minute.row(number) for number, minute in enumerate(minutes, 1)],
        bounds=[
            at_most("Answers without their attention", total["lost"], 0),
            at_most("Answers with rows of another", total["rows of another"], 0),
            at_most("Growth of memory, MiB", growth, MOST_GROWTH),
            at_most("Files left after the last answer", left, 0),
            Bound(text=f"Some answers were given up: {given_up:,}", met=given_up > 0),
        ],
        notes=(
            "Version of vLLM: 0.32.0, on a CPU.",
            other,
        ),
        finding=f"Of {answers:,} answers in {len(minutes)} minutes, beside {given_up:,} that were given up, "
        f"{total['lost']:,} lost their attention and {total['rows of another']:,} had that of another.",
        packages=("torch", "transformers", "numpy", "openai"),
    )
