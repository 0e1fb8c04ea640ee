"""From a prompt to a trace: decode token by token, or read an answer that is already there.

Everything here works on a batch; a single prompt is a batch of one.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import torch
from torch import Tensor

from rauq.assemble import build_trace
from rauq.capture.extras import Layout
from rauq.capture.feed import Feed
from rauq.capture.logits import LogitsBuffer, TokenStatistics, token_statistics
from rauq.context import Limits, ModelDescription
from rauq.drawing import chooser
from rauq.errors import NonFiniteLogits
from rauq.extras import Wanted
from rauq.prompts import Prompt
from rauq.sampling import Sampling
from rauq.tokens import TextStream
from rauq.trace import Extra, StopReason, Trace

OnToken = Callable[[int, int, str], None]
_READ_LOGITS_BYTES = 256 << 20


@dataclass(frozen=True, eq=False, kw_only=True)
class Decoder:
    """What it takes to generate with a model: its description, what it computes in and where, and how to feed it.

    `new_feed` gives a fresh cache and recorder for one batch.
    """

    described: ModelDescription
    dtype: str
    device: torch.device
    new_feed: Callable[[Layout, Collection[Extra]], Feed]


@dataclass(eq=False)
class _Answer:
    """One answer while it grows."""

    text: TextStream
    ids: list[int] = field(default_factory=list)
    ending: bytes = b""  # as many of the last bytes as a stop string can need
    stop_reason: StopReason | None = None


def generate(
    decoder: Decoder,
    prompts: Sequence[Prompt],
    *,
    limits: Limits,
    wanted: Wanted,
    sampling: Sampling | None = None,
    prefix: Sequence[int] = (),
    on_token: OnToken | None = None,
) -> list[Trace | NonFiniteLogits]:
    """Answer a batch of prompts; every answer starts with `prefix`, which is teacher-forced and may end it.

    Returns, in order, a trace, or the error that concerns this prompt alone.
    """
    ids, padding = _left_padded([(*prompt.ids, *prefix) for prompt in prompts], decoder.device)
    feed = decoder.new_feed(_layout(padding, prompts), wanted.names)
    logits = feed.feed(ids, tail=len(prefix) + 1)
    return _decoded(
        decoder,
        feed,
        logits,
        prompts,
        limits=limits,
        wanted=wanted,
        sampling=sampling,
        prefix=prefix,
        on_token=on_token,
    )


def sample(
    decoder: Decoder, prompt: Prompt, *, k: int, limits: Limits, wanted: Wanted, sampling: Sampling
) -> list[Trace | NonFiniteLogits]:
    """Draw k answers to one prompt, which is fed once; each draws from a stream of its own."""
    feed = decoder.new_feed(_layout([0], [prompt]), wanted.names)
    logits = feed.feed(torch.tensor([prompt.ids], device=decoder.device), tail=1)
    feed.repeat(k)
    logits = logits.repeat_interleave(k, dim=0)
    return _decoded(decoder, feed, logits, [prompt] * k, limits=limits, wanted=wanted, sampling=sampling)


def read(
    decoder: Decoder, prompts: Sequence[Prompt], answers: Sequence[Sequence[int]], *, wanted: Wanted
) -> list[Trace | NonFiniteLogits]:
    """Score answers that are already there, in one forward pass, or in several where the logits would not fit."""
    sequences = [(*prompt.ids, *answer) for prompt, answer in zip(prompts, answers, strict=True)]
    ids, padding = _left_padded(sequences, decoder.device)
    feed = decoder.new_feed(_layout(padding, prompts), wanted.names)
    statistics = _read_statistics(decoder, feed, ids, max(map(len, answers)), idf=_idf(decoder, wanted))
    attention = feed.band().numpy()
    return [
        build_trace(
            decoder.described,
            prompt,
            answer,
            TokenStatistics(*(column[item, -len(answer) :] for column in statistics)),
            dtype=decoder.dtype,
            attention=attention[item, :, :, -len(answer) - 1 :],
            extras=feed.kept.cut(item, len(answer)),
            stop_reason="eos" if answer[-1] in decoder.described.end_ids else "given",
        )
        for item, (prompt, answer) in enumerate(zip(prompts, answers, strict=True))
    ]


def or_raise(result: Trace | NonFiniteLogits) -> Trace:
    """The trace.

    Raises:
        NonFiniteLogits: there is none.
    """
    if isinstance(result, NonFiniteLogits):
        raise result
    return result


def _decoded(
    decoder: Decoder,
    feed: Feed,
    logits: Tensor,
    prompts: Sequence[Prompt],
    *,
    limits: Limits,
    wanted: Wanted,
    sampling: Sampling | None,
    prefix: Sequence[int] = (),
    on_token: OnToken | None = None,
) -> list[Trace | NonFiniteLogits]:
    """Go on from the logits (B, len(prefix) + 1, V) of the prefill until every answer has ended."""
    answers = [_Answer(TextStream(decoder.described.tokens, decoder.described.end_ids)) for _ in prompts]
    extend = partial(_extend, decoder.described, answers, limits=limits, num_forced=len(prefix), on_token=on_token)
    buffer = LogitsBuffer(_idf(decoder, wanted))
    for place, token in enumerate(prefix):
        forced = torch.full((len(prompts),), token, device=logits.device)
        buffer.add(logits[:, place], forced)
        extend(forced)
    choose = chooser(sampling, len(prompts), logits.device)
    last_row = limits.last_row or "diagonal" in wanted.names
    while any(answer.stop_reason is None for answer in answers):
        chosen = choose(logits[:, -1])
        buffer.add(logits[:, -1], chosen)
        extend(chosen)
        if last_row or any(answer.stop_reason is None for answer in answers):
            logits = feed.feed(chosen[:, None], tail=1)
    if sampling is not None and prefix:
        sampling = replace(sampling, seed=None)  # the seed leads to other tokens without the prefix
    return _traces(decoder, prompts, answers, buffer.statistics(), feed, last_row=limits.last_row, sampling=sampling)


def _traces(
    decoder: Decoder,
    prompts: Sequence[Prompt],
    answers: Sequence[_Answer],
    statistics: TokenStatistics,
    feed: Feed,
    *,
    last_row: bool,
    sampling: Sampling | None,
) -> list[Trace | NonFiniteLogits]:
    attention, traces = feed.band().numpy(), []
    for item, (prompt, answer) in enumerate(zip(prompts, answers, strict=True)):
        num_tokens = len(answer.ids)
        own = TokenStatistics(*(column[item, :num_tokens] for column in statistics))
        # A longer neighbour in the batch may have fed this answer's last token: drop that row unless it was asked for.
        rows = attention[item, :, :, : num_tokens + last_row]
        extras, reason = feed.kept.cut(item, num_tokens), answer.stop_reason or "length"
        drawn = sampling if item == 0 or sampling is None else replace(sampling, seed=None)
        traces.append(
            build_trace(
                decoder.described,
                prompt,
                answer.ids,
                own,
                dtype=decoder.dtype,
                attention=rows,
                extras=extras,
                stop_reason=reason,
                sampling=drawn,
            )
        )
    return traces


def _extend(
    model: ModelDescription,
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
        reason = _reason_to_stop(model, answer, limits, num_chosen)
        answer.stop_reason = reason if num_chosen >= 0 else None
        if on_token is not None:
            on_token(len(answer.ids) - 1, token, answer.text(token, last=answer.stop_reason is not None))
        if num_chosen >= 0 and limits.cancel is not None and limits.cancel.is_set():
            answer.stop_reason = answer.stop_reason or "cancelled"


def _reason_to_stop(model: ModelDescription, answer: _Answer, limits: Limits, num_chosen: int) -> StopReason | None:
    if answer.ids[-1] in model.end_ids:
        return "eos"
    if limits.stop:
        longest = max(len(stop.encode()) for stop in limits.stop)
        piece = model.tokens.piece(answer.ids[-1])
        answer.ending = (answer.ending + piece)[-(longest - 1 + len(piece)) :]
        if any(stop.encode() in answer.ending for stop in limits.stop):
            return "stop"
    return "length" if num_chosen >= limits.max_new_tokens else None


def _left_padded(sequences: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, list[int]]:
    """Ids (B, T), and how many places stand empty before each; what fills them is masked."""
    length = max(map(len, sequences))
    padding = [length - len(sequence) for sequence in sequences]
    rows = [[0] * empty + list(sequence) for empty, sequence in zip(padding, sequences, strict=True)]
    return torch.tensor(rows, device=device), padding


def _layout(padding: Sequence[int], prompts: Sequence[Prompt]) -> Layout:
    answers = tuple(empty + len(prompt.ids) for empty, prompt in zip(padding, prompts, strict=True))
    return Layout(tuple(padding), answers)


def _idf(decoder: Decoder, wanted: Wanted) -> Tensor | None:
    return None if wanted.idf is None else torch.tensor(wanted.idf, device=decoder.device)


def _read_statistics(
    decoder: Decoder, feed: Feed, ids: Tensor, num_tokens: int, *, idf: Tensor | None
) -> TokenStatistics:
    """Statistics (B, num_tokens) of the last tokens of ids (B, T), fed with as many logits at a time as fit."""
    batch, length = ids.shape
    first_row = length - num_tokens - 1
    size = max(1, _READ_LOGITS_BYTES // (4 * batch * decoder.described.vocab_size))
    blocks = []
    for begin in range(first_row, length, size):
        end = min(begin + size, length)
        logits = feed.feed(ids[:, (0 if begin == first_row else begin) : end], tail=end - begin)
        targets = ids[:, begin + 1 : end + 1]  # the very last row predicts nothing that was given
        flat = token_statistics(logits[:, : targets.shape[1]].flatten(0, 1), targets.flatten(), idf)
        blocks.append(TokenStatistics(*(column.unflatten(0, targets.shape) for column in flat)))
    return TokenStatistics(*(torch.cat(column, dim=1) for column in zip(*blocks, strict=True)))
