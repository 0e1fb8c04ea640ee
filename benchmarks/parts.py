"""One answer taken apart: the model's decoding steps, and what capturing and scoring add to them.

Seconds are CPU time of this process, or on a GPU the time between two of its events.
"""

from collections.abc import Callable, Sequence
from functools import partial
from time import process_time
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor

from benchmarks.support.paired import Ratio, ratio
from rauq import LanguageModel, Trace, score
from rauq.capture.logits import LogitsBuffer, TokenStatistics
from rauq.capture.session import TappedSession
from rauq.model.generation import build_trace

T = TypeVar("T")


class Parts(NamedTuple):
    """Seconds of one answer after its prefill: the model's steps, and what is done besides."""

    steps: float
    statistics: float
    band: float
    score: float

    @property
    def added(self) -> float:
        """The statistics of the logits, the band of attention, and the trace with its score."""
        return self.statistics + self.band + self.score


@torch.inference_mode()
def parts(lm: LanguageModel, ids: Sequence[int], *, new_tokens: int) -> Parts:
    """Answer a prompt greedily, as `LanguageModel.generate` does, and score the answer."""
    clock = partial(timed, device=lm.device)
    feed, buffer, answer = TappedSession(lm.model, [0]), LogitsBuffer(), []
    steps = statistics = 0.0
    logits = feed.feed(torch.tensor([ids], device=lm.device), tail=1)
    for place in range(new_tokens):
        chosen = logits[:, -1].argmax(dim=-1)
        answer.append(int(chosen))
        statistics += clock(partial(buffer.add, logits[:, -1], chosen))[1]
        if place < new_tokens - 1:
            logits, seconds = clock(partial(feed.feed, chosen[:, None], tail=1))
            steps += seconds
    found, reduced = clock(buffer.statistics)
    band, finished = clock(feed.band)
    scored = clock(lambda: score(_trace(lm, ids, answer, found, band)))[1]
    return Parts(steps, statistics + reduced, finished, scored)


@torch.inference_mode()
def recorder(lm: LanguageModel, ids: Sequence[int], *, pairs: int) -> Ratio:
    """Steps of one generation in pairs, one of each with the recorder on, in random order: on / off."""
    feed, token = TappedSession(lm.model, [0]), torch.tensor([[7]], device=lm.device)
    feed.feed(torch.tensor([ids], device=lm.device), tail=1)
    step: dict[bool, Callable[..., object]] = {True: feed.feed, False: feed.cached.forward}
    seconds: dict[bool, list[float]] = {True: [], False: []}
    random = np.random.default_rng(0)
    for on in (way for _ in range(pairs) for way in random.permutation([True, False]).tolist()):
        seconds[on].append(timed(partial(step[on], token, tail=1), device=lm.device)[1])
    return ratio(seconds[True], seconds[False])


def timed(run: Callable[[], T], *, device: torch.device) -> tuple[T, float]:
    """What a call returns, and its seconds."""
    if device.type != "cuda":
        begin = process_time()
        return run(), process_time() - begin
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    first.record()
    result = run()
    last.record()
    last.synchronize()
    return result, first.elapsed_time(last) / 1000


def _trace(
    lm: LanguageModel, ids: Sequence[int], answer: Sequence[int], statistics: TokenStatistics, band: Tensor
) -> Trace:
    own = TokenStatistics(*(column[0] for column in statistics))
    made = build_trace(
        lm,
        lm.encode(ids),
        answer,
        own,
        attention=band[0].numpy(),
        dtype=lm.dtype,
        engine=lm.engine.about,
        extras={},
        stop_reason="length",
    )
    if not isinstance(made, Trace):
        raise made
    return made
