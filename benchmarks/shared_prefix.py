"""What few-shot prompts cost whose shared beginning is fed once, beside feeding it again with every prompt.

16 prompts that differ only after five examples, in batches of 8: SmolLM2-135M is asked for capitals, and a random model
of Llama's shape for anything after 256 shared tokens and 16 of each prompt. Answers end with their line, at the latest
after 16 tokens. CPU times of one thread, both ways in turn.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import torch

import rauq
from analysis.evidence.record import Cell, Record
from benchmarks.support.paired import Ratio, cpu_seconds, ratio
from benchmarks.support.random_model import build, prompt_of, wrapped
from benchmarks.support.recording import at_most, interval, measured, tell
from rauq import LanguageModel
from rauq.capture.prefix import NO_PREFIX, Prefix, common_length
from rauq.capture.prefix_cache import PrefixCache

SHOTS = (("France", "Paris"), ("Japan", "Tokyo"), ("Egypt", "Cairo"), ("Peru", "Lima"), ("Kenya", "Nairobi"))
COUNTRIES = (
    *("Italy", "Spain", "Norway", "Canada", "Cuba", "Ghana", "Iraq", "Nepal"),
    *("Chile", "Greece", "Poland", "Austria", "Portugal", "Ireland", "India", "South Korea"),
)
SHARED_TOKENS, OWN_TOKENS, NEW_TOKENS, BATCH, PAIRS = 256, 16, 16, 8, 7
MOST = 0.4

Prompts = Sequence[str] | Sequence[list[int]]


class Cost(NamedTuple):
    """One model and one way: how many tokens are shared, and CPU seconds of each turn, fed once and fed again."""

    model: str
    way: str
    shared: str
    once: list[float]
    again: list[float]

    @property
    def ratio(self) -> Ratio:
        """CPU time where the shared tokens are fed once, over that where they are fed again."""
        return ratio(self.once, self.again)

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Its row of the table."""
        seconds = (float(np.median(times)) for times in (self.again, self.once))
        return self.model, self.way, self.shared, *seconds, *interval(self.ratio), self.ratio.pairs


class FedAgain(PrefixCache):
    """Keeps nothing, so that every prompt is fed whole."""

    def prefix(self, sequences: Sequence[tuple[int, ...]], *, tail: int) -> Prefix:
        """See `rauq.capture.prefix_cache.PrefixCache`."""
        del sequences, tail
        return NO_PREFIX


def measure() -> Record:
    """Answers and given answers, of both models."""
    torch.set_num_threads(1)
    costs = []
    for model, lm, prompts in (
        ("SmolLM2-135M", rauq.load_model("smollm2"), capitals()),
        ("benchmark shape", wrapped(build()), random_prompts()),
    ):
        tell(model)
        shared = common(lm, prompts)
        costs += [
            Cost(model, "answered", shared, *in_turn(partial(answered, prompts=prompts), lm)),
            Cost(model, "read", shared, *in_turn(partial(read, prompts=prompts), lm)),
        ]
    return table(costs)


def capitals() -> list[str]:
    """Questions of one kind, each after five that are answered."""
    lines = [f"Question: What is the capital of {country}?\nAnswer: {capital}\n\n" for country, capital in SHOTS]
    return [f"{''.join(lines)}Question: What is the capital of {country}?\nAnswer:" for country in COUNTRIES]


def random_prompts() -> list[list[int]]:
    """As many prompts of random tokens."""
    own = [prompt_of(SHARED_TOKENS + place)[:OWN_TOKENS] for place in range(1, len(COUNTRIES) + 1)]
    return [prompt_of(SHARED_TOKENS) + ids for ids in own]


def answered(lm: LanguageModel, *, prompts: Prompts) -> None:
    """Generate all answers."""
    list(lm.generate_batch(prompts, batch_size=BATCH, max_new_tokens=NEW_TOKENS, stop="\n", chat=False))


def read(lm: LanguageModel, *, prompts: Prompts) -> None:
    """Read an answer of one token to each."""
    list(lm.read_batch([(prompt, [5]) for prompt in prompts], batch_size=BATCH, chat=False))


def common(lm: LanguageModel, prompts: Prompts) -> str:
    """How many of the tokens of a prompt all share."""
    ids = [lm.encode(prompt, chat=False).ids for prompt in prompts]
    return f"{common_length(ids)} of {min(map(len, ids))} to {max(map(len, ids))}"


def in_turn(run: Callable[[LanguageModel], None], lm: LanguageModel) -> tuple[list[float], list[float]]:
    """CPU seconds of each turn, with a shared beginning that is fed once, and with one that is fed again."""
    again = replace(lm, prefixes=FedAgain(lm.model))
    times: dict[bool, list[float]] = {True: [], False: []}
    run(lm)
    for turn in range(PAIRS):
        for once in (True, False) if turn % 2 else (False, True):
            times[once].append(cpu_seconds(partial(run, lm if once else again)))
    return times[True], times[False]


def table(costs: Sequence[Cost]) -> Record:
    """The record of what was measured."""
    answers = [cost for cost in costs if cost.way == "answered"]
    shares = " and ".join(f"{cost.ratio.median:.2f} ({cost.model})" for cost in answers)
    return measured(
        "shared_prefix",
        title="Prompts that share a beginning",
        about=f"{len(COUNTRIES)} few-shot prompts in batches of {BATCH}, whose five examples are the same: CPU time "
        "where the shared tokens are fed once, relative to feeding them with every prompt.",
        columns=(
            "model",
            "what",
            "shared tokens",
            "fed again, CPU s",
            "fed once, CPU s",
            "ratio",
            "low",
            "high",
            "pairs",
        ),
        rows=[cost.cells for cost in costs],
        bounds=[at_most(f"{cost.model}, answered", cost.ratio, MOST) for cost in answers],
        notes=(f"Answers of at most {NEW_TOKENS} tokens; given answers of one token.",),
        finding=f"Feeding what five-shot prompts share once takes {shares} of the CPU time of feeding it again.",
    )
