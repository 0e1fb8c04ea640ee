"""What few-shot prompts cost whose shared beginning is fed once, beside feeding it again with every prompt.

16 prompts that differ only after five examples, in batches of 8: SmolLM2-135M is asked for capitals, and a random model
of Llama's shape for anything after 256 shared tokens and 16 of each prompt. Answers end with their line, at the latest
after 16 tokens. CPU times of one thread, both ways in turn; where lm-polygraph is installed, it answers and scores the
same prompts in the same batches, in its own environment.
"""

import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

import rauq
from analysis.evidence.record import Cell, Record
from benchmarks.peers.asking import ENVIRONMENT, PEER, RAUQ_PEERS, ask, with_versions
from benchmarks.peers.worker import Request
from benchmarks.support.paired import Ratio, cpu_seconds, ratio
from benchmarks.support.random_model import build, prompt_of, text_of, tokenizer_of
from benchmarks.support.recording import at_most, interval, measured, tell
from rauq import LanguageModel
from rauq.capture.cache import NO_PREFIX, Prefix, PrefixCache, common_length
from rauq.model.loading import wrap

SHOTS = (("France", "Paris"), ("Japan", "Tokyo"), ("Egypt", "Cairo"), ("Peru", "Lima"), ("Kenya", "Nairobi"))
COUNTRIES = (
    *("Italy", "Spain", "Norway", "Canada", "Cuba", "Ghana", "Iraq", "Nepal"),
    *("Chile", "Greece", "Poland", "Austria", "Portugal", "Ireland", "India", "South Korea"),
)
SHARED_TOKENS, OWN_TOKENS, NEW_TOKENS, BATCH, PAIRS = 256, 16, 16, 8, 7
MOST = 0.4
STOP = "\n"

PEER_NOTE = (
    "lm-polygraph answers the same prompts in the same batches and scores them, with eager attention, in a process of "
    "its own; it reads no given answers. `make bench-peers` installs it."
)

Prompts = Sequence[str] | Sequence[list[int]]


class Cost(NamedTuple):
    """One model and one way: how many tokens are shared, and CPU seconds of each turn, fed once and fed again.

    `peer` are those of lm-polygraph, where it was measured.
    """

    model: str
    way: str
    shared: str
    once: list[float]
    again: list[float]
    peer: Sequence[float] = ()

    @property
    def ratio(self) -> Ratio:
        """CPU time where the shared tokens are fed once, over that where they are fed again."""
        return ratio(self.once, self.again)

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Its row of the table."""
        seconds = (float(np.median(times)) for times in (self.again, self.once))
        theirs = float(np.median(self.peer)) if self.peer else math.nan
        return self.model, self.way, self.shared, *seconds, *interval(self.ratio), self.ratio.pairs, theirs


class FedAgain(PrefixCache):
    """Keeps nothing, so that every prompt is fed whole."""

    def prefix(self, sequences: Sequence[tuple[int, ...]], *, tail: int) -> Prefix:
        """See `rauq.capture.cache.PrefixCache`."""
        del sequences, tail
        return NO_PREFIX


def measure() -> Record:
    """Answers and given answers, of both models."""
    torch.set_num_threads(1)
    random = build()
    costs = [
        *_costs("SmolLM2-135M", rauq.load_model("smollm2"), capitals()),
        *_costs("benchmark shape", wrap(random, tokenizer_of(random, pad_token="w0"), name="random"), random_prompts()),
    ]
    found = table(costs)
    return with_versions(found, RAUQ_PEERS) if ENVIRONMENT.exists() else found


def _costs(model: str, lm: LanguageModel, prompts: Prompts) -> list[Cost]:
    tell(model)
    shared = common(lm, prompts)
    return [
        Cost(model, "answered", shared, *in_turn(partial(answered, prompts=prompts), lm), by_peer(lm, prompts)),
        Cost(model, "read", shared, *in_turn(partial(read, prompts=prompts), lm)),
    ]


def by_peer(lm: LanguageModel, prompts: Prompts) -> list[float]:
    """CPU seconds of lm-polygraph for all prompts with their scores, turn by turn; none where it is not installed.

    Prompts of token ids are for a model whose words have no line ends, so their answers never stop early.
    """
    if not ENVIRONMENT.exists():
        return []
    texts = tuple(prompt if isinstance(prompt, str) else text_of(prompt) for prompt in prompts)
    stop = STOP if isinstance(prompts[0], str) else None
    with tempfile.TemporaryDirectory() as folder:
        lm.model.save_pretrained(Path(folder))
        lm.tokens.tokenizer.save_pretrained(folder)
        request = Request(
            what="batches", tool=PEER, folder=folder, prompts=texts, new_tokens=NEW_TOKENS, pairs=(PAIRS,),
            batch_size=BATCH, stop=stop,
        )  # fmt: skip
        return [cpu for cpu, _ in ask(request)]


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
    list(lm.generate_batch(prompts, batch_size=BATCH, max_new_tokens=NEW_TOKENS, stop=STOP, chat=False))


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
            "lm-polygraph, CPU s",
        ),
        rows=[cost.cells for cost in costs],
        bounds=[at_most(f"{cost.model}, answered", cost.ratio, MOST) for cost in answers],
        notes=(f"Answers of at most {NEW_TOKENS} tokens; given answers of one token.", PEER_NOTE),
        finding=f"Feeding what five-shot prompts share once takes {shares} of the CPU time of feeding it again"
        f"{_beside_peer(answers)}.",
    )


def _beside_peer(answers: Sequence[Cost]) -> str:
    times = [np.median(cost.peer) / np.median(cost.once) for cost in answers if cost.peer]
    return (
        f"; lm-polygraph takes {' and '.join(f'{one:.1f}' for one in times)} times that of this project"
        if times
        else ""
    )
