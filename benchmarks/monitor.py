"""What it costs to watch an answer while transformers generates it: the time inside the monitor, against the rest.

By the clock on smollm2, in one thread, with short and long prompts: whatever else a machine does at the moment, both
parts of a step are measured in the same step.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from analysis.evidence.record import Cell, Record
from benchmarks.support.recording import at_most, measured, tell
from rauq.model.language_model import LanguageModel
from rauq.model.loading import load_model, use_threads
from rauq.model.monitor import Monitor
from rauq.scoring.settings import Settings, window

Way = tuple[str, int]  # which heads, and tokens of the prompt

SELECTED, FIXED = "selected so far", "fixed"
PROMPTS, NEW_TOKENS, ROUNDS = (32, 512, 2048), 48, 5
MOST = 0.03  # of the rest of the time
COLUMNS = ("heads", "prompt tokens", "ms a token", "of it in the monitor, ms", "overhead", "lowest", "highest")


class Timed(Monitor):
    """A monitor that adds up the seconds spent in it."""

    seconds = 0.0

    def __call__(self, *given: Any, **options: Any) -> Any:  # noqa: ANN401 - transformers' own
        """See `Monitor`."""
        return self._timed(super().__call__)(*given, **options)

    def _recorder(self, layer: int) -> Any:  # noqa: ANN401 - what it is there
        return self._timed(super()._recorder(layer))

    def _note_logits(self, *given: Any) -> None:  # noqa: ANN401 - transformers' own
        self._timed(super()._note_logits)(*given)

    def _timed(self, act: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*given: Any, **options: Any) -> Any:  # noqa: ANN401 - those of `act`
            begin = time.perf_counter()
            try:
                return act(*given, **options)
            finally:
                self.seconds += time.perf_counter() - begin

        return timed


def measure() -> Record:
    """Answers to random prompts of each length, round by round."""
    before = use_threads(1)
    try:
        lm = load_model("smollm2", device="cpu", engine="transformers")
        ways = [(heads, length) for heads in (SELECTED, FIXED) for length in PROMPTS]
        found: dict[Way, list[tuple[float, float]]] = {way: [] for way in ways}
        for turn in range(ROUNDS):
            tell(f"round {turn + 1} of {ROUNDS}")
            for heads, length in ways:
                found[heads, length].append(seconds_of(lm, length, fixed=heads == FIXED))
    finally:
        torch.set_num_threads(before)
    return record_of(found)


def seconds_of(lm: LanguageModel, length: int, *, fixed: bool) -> tuple[float, float]:
    """Seconds of one answer after its first token, and how many of them inside the monitor."""
    ids = torch.from_numpy(np.random.default_rng(length).integers(100, lm.vocab_size - 100, (1, length)))
    start: list[float] = []
    layers = window(Settings(), captured=lm.layers, num_layers=lm.num_layers)
    settings = Settings(heads=tuple((layer, 0) for layer in layers)) if fixed else None
    monitor = Timed(lm, settings)

    def first(_token: object) -> None:
        if not start:
            monitor.seconds = 0.0
            start.append(time.perf_counter())

    monitor.on_token = first
    options: Any = {"max_new_tokens": NEW_TOKENS, "min_new_tokens": NEW_TOKENS, "do_sample": False}
    generate: Any = lm.model.generate
    with monitor:
        generate(ids, attention_mask=torch.ones_like(ids), stopping_criteria=[monitor], **options)
    return time.perf_counter() - start[0], monitor.seconds


def record_of(found: dict[Way, list[tuple[float, float]]]) -> Record:
    """The table, the bounds, and what it shows."""
    rows, shares = list[tuple[Cell, ...]](), dict[str, float]()
    for (heads, length), rounds in found.items():
        whole, inside = np.array(rounds).T * 1000 / (NEW_TOKENS - 1)
        own = inside / (whole - inside)
        share = shares[f"heads {heads}, prompt {length:,}"] = float(np.median(own))
        times = (round(float(np.median(part)), 2) for part in (whole, inside))
        rows.append((heads, length, *times, *(round(float(end), 4) for end in (share, own.min(), own.max()))))
    said = "; ".join(f"{100 * share:.1f} % ({way})" for way, share in shares.items())
    return measured(
        "monitor",
        title="Watching an answer while it is written",
        about=f"SmolLM2-135M-Instruct in transformers on one thread: time inside the monitor against the rest of a "
        f"decoding step, medians and range of {ROUNDS} answers of {NEW_TOKENS} tokens.",
        columns=COLUMNS,
        rows=rows,
        bounds=[at_most(f"Overhead with {way}", share, MOST) for way, share in shares.items()],
        finding=f"Watching the attention of the layers used by RAUQ, and the probabilities, adds {said}.",
        packages=("torch", "transformers", "numpy"),
    )
