"""What it costs to watch an answer while transformers generates it: watched steps against the steps before them.

By the clock on smollm2, in one thread, with short and long prompts. Every second token of an answer is watched:
whatever else the machine does at the moment slows down both of two steps that follow each other.
"""

import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from analysis.evidence.record import Cell, Record
from benchmarks.support.paired import Ratio, ratio
from benchmarks.support.recording import at_most, interval, measured, tell
from rauq.capture.tap import Around
from rauq.model.language_model import LanguageModel
from rauq.model.loading import load_model, use_threads
from rauq.model.monitor import Monitor
from rauq.scoring.settings import Settings, window

Way = tuple[str, int]  # which heads, and tokens of the prompt

SELECTED, FIXED = "selected so far", "fixed"
PROMPTS, NEW_TOKENS, ROUNDS = (32, 512, 2048), 64, 8
MOST = 0.03  # of a step that is not watched
COLUMNS = ("heads", "prompt tokens", "ms a token", "ms a token, watched", "overhead", "low", "high")


class Steps(NamedTuple):
    """Seconds of steps that were watched, and of the one before each, which was not."""

    watched: list[float]
    alone: list[float]


class Alternating(Monitor):
    """A monitor of every second token, which notes when each step ended."""

    is_on = True

    def __init__(self, lm: LanguageModel, settings: Settings | None) -> None:
        super().__init__(lm, settings)
        self.ends: list[float] = []

    def __call__(self, input_ids: Tensor, scores: Tensor, **options: Any) -> Tensor:  # noqa: ANN401 - transformers' own
        """See `Monitor`."""
        found = super().__call__(input_ids, scores, **options) if self.is_on else torch.zeros(1, dtype=torch.bool)
        self.is_on = not self.is_on
        self.ends.append(time.perf_counter())
        return found

    @property
    def steps(self) -> Steps:
        """Those of one answer; the first token ends the prompt, and was watched."""
        taken = [end - begin for begin, end in pairwise(self.ends)]
        pairs = list(zip(taken[::2], taken[1::2], strict=False))
        return Steps([watched for _, watched in pairs], [alone for alone, _ in pairs])

    def _recorder(self, layer: int) -> Around:
        own = super()._recorder(layer)
        return Around(lambda call, *given: own.record(call, *given) if self.is_on else call())

    def _note_logits(self, *given: Any) -> None:  # noqa: ANN401 - transformers' own
        self._if_on(super()._note_logits)(*given)

    def _if_on(self, act: Callable[..., None]) -> Callable[..., None]:
        def acts(*given: Any, **options: Any) -> None:  # noqa: ANN401 - those of `act`
            if self.is_on:
                act(*given, **options)

        return acts


def measure() -> Record:
    """Answers to random prompts of each length, round by round."""
    before = use_threads(1)
    try:
        lm = load_model("smollm2", device="cpu", engine="transformers")
        ways = [(heads, length) for heads in (SELECTED, FIXED) for length in PROMPTS]
        found = {way: Steps([], []) for way in ways}
        for turn in range(ROUNDS):
            tell(f"round {turn + 1} of {ROUNDS}")
            for heads, length in ways:
                steps = steps_of(lm, length, fixed=heads == FIXED)
                found[heads, length].watched.extend(steps.watched)
                found[heads, length].alone.extend(steps.alone)
    finally:
        torch.set_num_threads(before)
    return record_of(found)


def steps_of(lm: LanguageModel, length: int, *, fixed: bool) -> Steps:
    """The steps of one answer."""
    ids = torch.from_numpy(np.random.default_rng(length).integers(100, lm.vocab_size - 100, (1, length)))
    layers = window(Settings(), captured=lm.layers, num_layers=lm.num_layers)
    settings = Settings(heads=tuple((layer, 0) for layer in layers)) if fixed else None
    monitor = Alternating(lm, settings)
    options: Any = {"max_new_tokens": NEW_TOKENS, "min_new_tokens": NEW_TOKENS, "do_sample": False}
    generate: Any = lm.model.generate
    with monitor:
        generate(ids, attention_mask=torch.ones_like(ids), stopping_criteria=[monitor], **options)
    return monitor.steps


def record_of(found: dict[Way, Steps]) -> Record:
    """The table, the bounds, and what it shows."""
    rows, shares = list[tuple[Cell, ...]](), dict[str, Ratio]()
    for (heads, length), steps in found.items():
        share = shares[f"heads {heads}, prompt {length:,}"] = overhead(steps)
        times = (round(1000 * float(np.median(part)), 2) for part in (steps.alone, steps.watched))
        rows.append((heads, length, *times, *(round(end, 4) for end in interval(share))))
    said = "; ".join(f"{100 * share.median:.1f} % ({way})" for way, share in shares.items())
    return measured(
        "monitor",
        title="Watching an answer while it is written",
        about="SmolLM2-135M-Instruct in transformers on one thread: every second token is watched; ratios of "
        f"each to the one before, medians of {ROUNDS} answers of {NEW_TOKENS} tokens with 95 % intervals.",
        columns=COLUMNS,
        rows=rows,
        bounds=[at_most(f"Overhead with {way}", share, MOST) for way, share in shares.items()],
        finding=f"Watching the attention of the layers used by RAUQ, and the probabilities, adds {said}.",
        packages=("torch", "transformers", "numpy"),
    )


def overhead(steps: Steps) -> Ratio:
    """How much longer a watched step takes than the one before it, as a share of that."""
    found = ratio(steps.watched, steps.alone)
    return Ratio(found.median - 1, found.low - 1, found.high - 1, found.pairs)
