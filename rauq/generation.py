"""From a prompt to a trace: decode token by token, or read an answer that is already there.

Everything here works on a batch; a single prompt is a batch of one.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from torch import Tensor
from transformers import LogitsProcessorList, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from rauq.assemble import build_trace
from rauq.capture.feed import Feed
from rauq.capture.logits import LogitsBuffer, TokenStatistics, token_statistics
from rauq.errors import InvalidInput, NonFiniteLogits
from rauq.prompts import Prompt
from rauq.tokens import TextStream, check_unicode
from rauq.trace import StopReason, Trace

if TYPE_CHECKING:
    from rauq.language_model import LanguageModel

OnToken = Callable[[int, int, str], None]
_READ_LOGITS_BYTES = 256 << 20


class Cancel(Protocol):
    """Anything that can say that it is enough, such as a `threading.Event`."""

    def is_set(self) -> bool:
        """Whether to stop after the current token."""


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How the next token is drawn; `None` in its place means greedy."""

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 50
    seed: int | None = None

    def __post_init__(self) -> None:
        whole = is_whole(self.top_k) and is_whole(0 if self.seed is None else self.seed)
        numbers = whole and _is_number(self.temperature) and _is_number(self.top_p)
        ranges = numbers and 0 < self.temperature < math.inf and 0 < self.top_p <= 1
        if not (ranges and self.top_k >= 0 and 0 <= (self.seed or 0) < 2**64):
            message = (
                f"Got temperature={self.temperature!r}, top_p={self.top_p!r}, top_k={self.top_k!r}, "
                f"seed={self.seed!r}; allowed are temperature > 0, 0 < top_p <= 1, and whole numbers "
                "top_k >= 0 (0 keeps all tokens) and 0 <= seed < 2^64."
            )
            raise InvalidInput(message)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """When an answer ends; `last_row` feeds the last token once more, to have its own attention."""

    max_new_tokens: int = 128
    stop: tuple[str, ...] = ()
    last_row: bool = False
    cancel: Cancel | None = None

    def __post_init__(self) -> None:
        if not (is_whole(self.max_new_tokens) and self.max_new_tokens >= 1):
            message = f"Got max_new_tokens={self.max_new_tokens!r}; it must be a whole number, at least 1."
            raise InvalidInput(message)
        for stop in self.stop:
            _check_stop(stop)


def is_whole(number: object) -> bool:
    """Whether something is a whole number, of whatever type."""
    return isinstance(number, Real) and number % 1 == 0


def _is_number(number: object) -> bool:
    return isinstance(number, Real)


def _check_stop(stop: object) -> None:
    if not isinstance(stop, str):
        message = f"Got {stop!r} as a stop string; give one text, or a sequence of texts."
        raise InvalidInput(message)
    if not stop:
        message = "A stop string is empty; leave it out, or pass stop=() for none."
        raise InvalidInput(message)
    check_unicode(stop)


@dataclass(eq=False)
class _Answer:
    """One answer while it grows."""

    text: TextStream
    ids: list[int] = field(default_factory=list)
    ending: bytes = b""  # as many of the last bytes as a stop string can need
    stop_reason: StopReason | None = None


def generate(
    lm: "LanguageModel",
    prompts: Sequence[Prompt],
    *,
    limits: Limits,
    sampling: Sampling | None = None,
    prefix: Sequence[int] = (),
    on_token: OnToken | None = None,
) -> list[Trace | NonFiniteLogits]:
    """Answer a batch of prompts; every answer starts with `prefix`, which is teacher-forced and may end it.

    Returns, in order, a trace, or the error that concerns this prompt alone.
    """
    ids, padding = _left_padded([(*prompt.ids, *prefix) for prompt in prompts], lm.device)
    feed = lm.new_feed(padding)
    logits = feed.feed(ids, tail=len(prefix) + 1)
    return _decoded(lm, feed, logits, prompts, limits=limits, sampling=sampling, prefix=prefix, on_token=on_token)


def sample(
    lm: "LanguageModel", prompt: Prompt, *, k: int, limits: Limits, sampling: Sampling
) -> list[Trace | NonFiniteLogits]:
    """Draw k answers to one prompt, which is fed once."""
    feed = lm.new_feed([0])
    logits = feed.feed(torch.tensor([prompt.ids], device=lm.device), tail=1)
    feed.repeat(k)
    return _decoded(lm, feed, logits.repeat_interleave(k, dim=0), [prompt] * k, limits=limits, sampling=sampling)


def read(
    lm: "LanguageModel", prompts: Sequence[Prompt], answers: Sequence[Sequence[int]]
) -> list[Trace | NonFiniteLogits]:
    """Score answers that are already there, in one forward pass, or in several where the logits would not fit."""
    sequences = [(*prompt.ids, *answer) for prompt, answer in zip(prompts, answers, strict=True)]
    ids, padding = _left_padded(sequences, lm.device)
    feed = lm.new_feed(padding)
    statistics = _read_statistics(lm, feed, ids, max(map(len, answers)))
    attention = feed.band().numpy()
    return [
        build_trace(
            lm,
            prompt,
            answer,
            TokenStatistics(*(column[item, -len(answer) :] for column in statistics)),
            attention=attention[item, :, :, -len(answer) - 1 :],
            stop_reason="eos" if answer[-1] in lm.end_ids else "given",
        )
        for item, (prompt, answer) in enumerate(zip(prompts, answers, strict=True))
    ]


def _decoded(
    lm: "LanguageModel",
    feed: Feed,
    logits: Tensor,
    prompts: Sequence[Prompt],
    *,
    limits: Limits,
    sampling: Sampling | None,
    prefix: Sequence[int] = (),
    on_token: OnToken | None = None,
) -> list[Trace | NonFiniteLogits]:
    """Go on from the logits (B, len(prefix) + 1, V) of the prefill until every answer has ended."""
    answers = [_Answer(TextStream(lm.tokens, lm.end_ids)) for _ in prompts]
    extend = partial(_extend, lm, answers, limits=limits, num_forced=len(prefix), on_token=on_token)
    buffer = LogitsBuffer()
    for place, token in enumerate(prefix):
        forced = torch.full((len(prompts),), token, device=logits.device)
        buffer.add(logits[:, place], forced)
        extend(forced)
    choose = _chooser(sampling, logits.device)
    while any(answer.stop_reason is None for answer in answers):
        chosen = choose(logits[:, -1])
        buffer.add(logits[:, -1], chosen)
        extend(chosen)
        if limits.last_row or any(answer.stop_reason is None for answer in answers):
            logits = feed.feed(chosen[:, None], tail=1)
    return _traces(lm, prompts, answers, buffer.statistics(), feed.band().numpy(), last_row=limits.last_row)


def _traces(
    lm: "LanguageModel",
    prompts: Sequence[Prompt],
    answers: Sequence[_Answer],
    statistics: TokenStatistics,
    attention: np.ndarray,
    *,
    last_row: bool,
) -> list[Trace | NonFiniteLogits]:
    traces = []
    for item, (prompt, answer) in enumerate(zip(prompts, answers, strict=True)):
        num_tokens = len(answer.ids)
        own = TokenStatistics(*(column[item, :num_tokens] for column in statistics))
        # A longer neighbour in the batch may have fed this answer's last token: drop that row unless it was asked for.
        rows = attention[item, :, :, : num_tokens + last_row]
        reason = answer.stop_reason or "length"
        traces.append(build_trace(lm, prompt, answer.ids, own, attention=rows, stop_reason=reason))
    return traces


def _extend(
    lm: "LanguageModel",
    answers: Sequence[_Answer],
    tokens: Tensor,
    *,
    limits: Limits,
    num_forced: int,
    on_token: OnToken | None,
) -> None:
    """Append one token to each unfinished answer; the last of the forced tokens is the first that can end one."""
    for answer, token in zip(answers, tokens.tolist(), strict=True):
        if answer.stop_reason is not None:
            continue
        answer.ids.append(token)
        num_chosen = len(answer.ids) - num_forced
        reason = _reason_to_stop(lm, answer, limits, num_chosen)
        answer.stop_reason = reason if num_chosen >= 0 else None
        if on_token is not None:
            on_token(len(answer.ids) - 1, token, answer.text(token, last=answer.stop_reason is not None))
        if num_chosen >= 0 and limits.cancel is not None and limits.cancel.is_set():
            answer.stop_reason = answer.stop_reason or "cancelled"


def _reason_to_stop(lm: "LanguageModel", answer: _Answer, limits: Limits, num_chosen: int) -> StopReason | None:
    if answer.ids[-1] in lm.end_ids:
        return "eos"
    if limits.stop:
        longest = max(len(stop.encode()) for stop in limits.stop)
        piece = lm.tokens.piece(answer.ids[-1])
        answer.ending = (answer.ending + piece)[-(longest - 1 + len(piece)) :]
        if any(stop.encode() in answer.ending for stop in limits.stop):
            return "stop"
    return "length" if num_chosen >= limits.max_new_tokens else None


def _chooser(sampling: Sampling | None, device: torch.device) -> Callable[[Tensor], Tensor]:
    """Logits (B, V) to the next tokens (B,)."""
    if sampling is None:
        return lambda logits: logits.argmax(dim=-1)
    generator = torch.Generator(device)
    if sampling.seed is None:
        generator.seed()
    else:
        generator.manual_seed(int(sampling.seed))
    temperature = max(float(sampling.temperature), torch.finfo(torch.float32).tiny)
    warp = LogitsProcessorList([TemperatureLogitsWarper(temperature)])
    if sampling.top_k:
        warp.append(TopKLogitsWarper(int(sampling.top_k)))
    if sampling.top_p < 1:
        warp.append(TopPLogitsWarper(float(sampling.top_p)))

    no_ids: Any = None  # these three look at the scores alone

    def draw(logits: Tensor) -> Tensor:
        # An undefined row draws token 0 here, and is reported with its place when the statistics are in.
        scores = logits.float() - logits.max(dim=-1, keepdim=True).values  # a low temperature must not overflow
        probabilities = warp(no_ids, scores).softmax(dim=-1)
        undefined = probabilities.isnan().any(dim=-1, keepdim=True)
        probabilities = probabilities.masked_fill(undefined, 1.0)
        return torch.multinomial(probabilities, 1, generator=generator)[:, 0]

    return draw


def _left_padded(sequences: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, list[int]]:
    """Ids (B, T), and how many places stand empty before each; what fills them is masked."""
    length = max(map(len, sequences))
    padding = [length - len(sequence) for sequence in sequences]
    rows = [[0] * empty + list(sequence) for empty, sequence in zip(padding, sequences, strict=True)]
    return torch.tensor(rows, device=device), padding


def _read_statistics(lm: "LanguageModel", feed: Feed, ids: Tensor, num_tokens: int) -> TokenStatistics:
    """Statistics (B, num_tokens) of the last tokens of ids (B, T), fed with as many logits at a time as fit."""
    batch, length = ids.shape
    first_row = length - num_tokens - 1
    size = max(1, _READ_LOGITS_BYTES // (4 * batch * lm.vocab_size))
    blocks = []
    for begin in range(first_row, length, size):
        end = min(begin + size, length)
        logits = feed.feed(ids[:, (0 if begin == first_row else begin) : end], tail=end - begin)
        targets = ids[:, begin + 1 : end + 1]  # the very last row predicts nothing that was given
        flat = token_statistics(logits[:, : targets.shape[1]].flatten(0, 1), targets.flatten())
        blocks.append(TokenStatistics(*(column.unflatten(0, targets.shape) for column in flat)))
    return TokenStatistics(*(torch.cat(column, dim=1) for column in zip(*blocks, strict=True)))
