"""From a prompt to a trace: decode token by token, or read an answer that is already there."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from rauq.arguments import Sampling
from rauq.capture.cache import NO_PREFIX
from rauq.capture.draws import chooser, each_by_its_own
from rauq.capture.extras import OF_PROMPT, Layout
from rauq.capture.logits import LogitsBuffer, TokenStatistics, chosen_and_entropies, token_statistics
from rauq.capture.session import CaptureSession
from rauq.errors import NonFiniteLogits
from rauq.model.context import Limits, ModelDescription, Prompt
from rauq.model.engines.engine import Budget, Engine, Prefixes
from rauq.model.tokens import TextStream, Tokens
from rauq.scoring.watch import UNWATCHED, Watch
from rauq.trace.extras import Wanted
from rauq.trace.thinking import PROMPT_TOKENS, thinking_span
from rauq.trace.trace import Alternative, StopReason, Trace


def build_trace(
    model: "ModelDescription",
    prompt: "Prompt",
    answer: Sequence[int],
    statistics: "TokenStatistics",
    *,
    dtype: str,
    engine: str,
    attention: np.ndarray,
    extras: Mapping[str, np.ndarray],
    stop_reason: StopReason,
    sampling: Sampling | None = None,
) -> Trace | NonFiniteLogits:
    """One answer's trace, from its statistics (N,), its rows of attention (L, H, n, K), n <= N + 1, and its extras."""
    undefined = (statistics.logprobs.isnan() | statistics.entropies.isnan()).nonzero()
    if len(undefined):
        message = (
            f"The model {model.name} produced NaN or infinite logits at answer token {int(undefined[0])}. "
            "Load it in float32 or bfloat16, or check its weights."
        )
        return NonFiniteLogits(message)
    pieces = tuple(model.tokens.piece(token) for token in answer)
    return Trace(
        prompt=prompt.text,
        model=model.name,
        revision=model.revision,
        dtype=dtype,
        quantisation=model.quantisation,
        adapter=model.adapter,
        engine=engine,
        kind=model.kind,
        chat_applied=prompt.chat_applied,
        prompt_form=prompt.form,
        messages=prompt.messages,
        template_options=prompt.template_options,
        prompt_parts=prompt.parts,
        part_texts=prompt.part_texts,
        stop_reason=stop_reason,
        layers=model.layers,
        num_layers=model.num_layers,
        vocab_size=model.vocab_size,
        prompt_ids=np.array(prompt.ids, dtype=np.int64),
        answer_ids=np.array(answer, dtype=np.int64),
        answer_tokens=model.tokens.texts(answer, silent=model.end_ids),
        pieces=pieces,
        logprobs=statistics.logprobs.numpy().copy(),
        entropies=statistics.entropies.numpy().copy(),
        alternatives=_alternatives(model, statistics),
        attention=_attention_of(attention, len(prompt.ids), len(answer)),
        thinking=_thinking(model.tokens, prompt.ids, pieces),
        sampling=sampling,
        extras={**extras, **statistics.extras()},
    )


def _thinking(tokens: Tokens, prompt: Sequence[int], answer: Sequence[bytes]) -> tuple[int, int] | None:
    return thinking_span([tokens.piece(token) for token in prompt[-PROMPT_TOKENS:]], answer, tokens.thinking_marks)


def _alternatives(model: "ModelDescription", statistics: "TokenStatistics") -> tuple[tuple[Alternative, ...], ...]:
    return tuple(
        tuple(
            Alternative(token, model.tokens.text([token]), logprob)
            for token, logprob in zip(ids, logprobs, strict=True)
        )
        for ids, logprobs in zip(statistics.top_ids.tolist(), statistics.top_logprobs.tolist(), strict=True)
    )


def _attention_of(rows: np.ndarray, num_prompt: int, num_answer: int) -> np.ndarray:
    """Rows (L, H, n, K) of one answer as (L, H, N + 1, K): nan where not captured, and before the sequence."""
    offsets = rows.shape[3]
    attention = np.full((*rows.shape[:2], num_answer + 1, offsets), np.nan, dtype=np.float32)
    attention[:, :, : rows.shape[2]] = rows
    positions = num_prompt - 1 + np.arange(num_answer + 1)
    attention[:, :, positions[:, None] < np.arange(offsets)] = np.nan
    return attention


_READ_LOGITS_BYTES = 256 << 20


@dataclass(frozen=True, eq=False, kw_only=True)
class Decoder:
    """What it takes to generate with a model: its description, what runs it, and what its prompts share."""

    described: ModelDescription
    engine: Engine
    prefixes: Prefixes


@dataclass(eq=False)
class _Answer:
    """One answer while it grows, and how it is drawn, if it is."""

    prompt: Prompt
    watch: Watch
    sampling: Sampling | None
    text: TextStream
    ids: list[int] = field(default_factory=list)
    ending: bytes = b""  # as many of the last bytes as a stop string can need
    stop_reason: StopReason | None = None
    told: Trace | NonFiniteLogits | None = None  # what its watch was told at its end

    @property
    def is_open(self) -> bool:
        """Whether tokens are still to come."""
        return self.stop_reason is None


def generate(
    decoder: Decoder,
    prompts: Sequence[Prompt],
    *,
    limits: Limits,
    wanted: Wanted,
    sampling: Sequence[Sampling | None] = (),
    prefix: Sequence[int] = (),
    watches: Sequence[Watch] = (),
) -> list[Trace | NonFiniteLogits]:
    """Answer a batch of prompts; every answer starts with `prefix`, which is teacher-forced and may end it.

    Of `sampling` and of `watches` there is one for each prompt, or none.

    Returns, in order, a trace, or the error that concerns this prompt alone.
    """
    tail = len(prefix) + 1
    budget = Budget(tokens=_longest(prompts, limits) * len(prompts), cancel=limits.cancel)
    sequences = [(*prompt.ids, *prefix) for prompt in prompts]
    drawn = [None if one is None else _noted(one, first=not prefix) for one in sampling]
    session, ids = _begun(decoder, prompts, sequences, tail=tail, wanted=wanted, budget=budget)
    with closing(session):
        logits = session.feed(ids, tail=tail)
        return _decoded(
            decoder,
            session,
            logits,
            prompts,
            limits=limits,
            wanted=wanted,
            choose=each_by_its_own(sampling, logits.device),
            drawn=drawn or [None] * len(prompts),
            prefix=prefix,
            watches=watches,
        )


def sample(
    decoder: Decoder,
    prompts: Sequence[Prompt],
    *,
    k: int,
    limits: Limits,
    wanted: Wanted,
    sampling: Sequence[Sampling],
    first: int = 0,
) -> list[list[Trace | NonFiniteLogits]]:
    """Draw k answers to each prompt of a batch, whose prefill is run once; each draws from a stream of its own.

    They are answers `first` to `first + k - 1`.
    """
    budget = Budget(tokens=_longest(prompts, limits) * len(prompts) * k, cancel=limits.cancel)
    repeated = [prompt for prompt in prompts for _ in range(k)]
    drawn = [_noted(one, first=first + row == 0) for one in sampling for row in range(k)]
    session, ids = _begun(decoder, prompts, [prompt.ids for prompt in prompts], tail=1, wanted=wanted, budget=budget)
    with closing(session):
        logits = session.feed(ids, tail=1)
        session.repeat(k)
        logits = logits.repeat_interleave(k, dim=0)
        choose = chooser(sampling, k, logits.device, first=first)
        found = _decoded(decoder, session, logits, repeated, limits=limits, wanted=wanted, choose=choose, drawn=drawn)
    return [found[start : start + k] for start in range(0, len(found), k)]


def read(
    decoder: Decoder, prompts: Sequence[Prompt], answers: Sequence[Sequence[int]], *, wanted: Wanted
) -> list[Trace | NonFiniteLogits]:
    """Score answers that are already there, in one forward pass, or in several where the logits would not fit."""
    sequences = [(*prompt.ids, *answer) for prompt, answer in zip(prompts, answers, strict=True)]
    longest = max(map(len, answers))
    budget = Budget(tokens=sum(map(len, sequences)))
    session, ids = _begun(decoder, prompts, sequences, tail=longest + 1, wanted=wanted, budget=budget)
    with closing(session):
        statistics = _read_statistics(decoder, session, ids, longest, wanted=wanted)
        attention = session.band().numpy()
    return [
        build_trace(
            decoder.described,
            prompt,
            answer,
            TokenStatistics(*(column[item, -len(answer) :] for column in statistics)),
            dtype=decoder.engine.dtype,
            engine=decoder.engine.about,
            attention=attention[item, :, :, -len(answer) - 1 :],
            extras=session.kept.cut(item, answer),
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


def all_or_error(results: Sequence[Trace | NonFiniteLogits]) -> list[Trace] | NonFiniteLogits:
    """All traces, or the first error in place of them."""
    errors = [result for result in results if isinstance(result, NonFiniteLogits)]
    return errors[0] if errors else [result for result in results if isinstance(result, Trace)]


def _decoded(
    decoder: Decoder,
    session: CaptureSession,
    logits: Tensor,
    prompts: Sequence[Prompt],
    *,
    limits: Limits,
    wanted: Wanted,
    choose: Callable[[Tensor], Tensor],
    drawn: Sequence[Sampling | None],
    prefix: Sequence[int] = (),
    watches: Sequence[Watch] = (),
) -> list[Trace | NonFiniteLogits]:
    """Go on from the logits (B, len(prefix) + 1, V) of the prefill until every answer has ended.

    `choose`: logits (B, V) to the next tokens (B,); `drawn` is what traces say of it, one for each answer.
    """
    described = decoder.described
    about = zip(prompts, watches or [UNWATCHED] * len(prompts), drawn, strict=True)
    answers = [_Answer(*own, TextStream(described.tokens, described.end_ids)) for own in about]
    extend = partial(_extend, described, answers, limits=limits, num_forced=len(prefix))
    observe = partial(_observe, answers, layers=_begin_monitors(answers))
    buffer = LogitsBuffer(_idf(decoder, wanted), mean="mean_logprob" in wanted.names)
    for place, token in enumerate(prefix):
        forced = torch.full((len(prompts),), token, device=logits.device)
        buffer.add(logits[:, place], forced)
        observe(logits[:, place], forced, partial(_of_row, decoder, session, place))
        extend(forced)
    last_row = limits.last_row or "diagonal" in wanted.names

    def so_far(items: Sequence[int]) -> list[Trace | NonFiniteLogits]:
        found = [(item, answers[item]) for item in items]
        return _traces(decoder, found, buffer.statistics(), session, last_row=limits.last_row)

    while growing := [item for item, answer in enumerate(answers) if answer.is_open]:
        last = logits[:, -1]
        chosen = choose(last)
        observe(last, chosen, session.latest)
        extend(chosen)
        keep, goes_on = partial(buffer.add, last, chosen), any(answer.is_open for answer in answers)
        is_fed = last_row or goes_on
        if is_fed:
            logits = session.feed(chosen[:, None], tail=1, meanwhile=keep)
        if not goes_on:
            session.close()  # others need not wait until the traces are made
        if not is_fed:
            keep()
        for item in growing:
            _tell(answers[item], partial(so_far, [item]))
    left = [item for item, answer in enumerate(answers) if answer.told is None]
    found = dict(zip(left, so_far(left), strict=True))
    return [found[item] if answer.told is None else answer.told for item, answer in enumerate(answers)]


def _tell(answer: _Answer, so_far: Callable[[], list[Trace | NonFiniteLogits]]) -> None:
    """Tell the watch of an answer that it has grown, or that it has ended."""
    watch = answer.watch
    if answer.is_open:
        if watch.on_progress is not None:
            watch.on_progress(lambda: or_raise(so_far()[0]))
    elif watch.on_end is not None:
        answer.told = so_far()[0]
        watch.on_end(answer.told)


def _of_row(decoder: Decoder, session: CaptureSession, row: int, layers: Sequence[int]) -> Tensor:
    """The weights (B, Lw, H) of a row among those that were fed at once, on its own position."""
    return session.band()[:, [decoder.described.layers.index(layer) for layer in layers], :, row, 0]


def _begin_monitors(answers: Sequence[_Answer]) -> list[int]:
    """Let the monitors of these answers begin; the layers that they need, in order."""
    monitors = [(answer.watch.monitor, answer.prompt.ids) for answer in answers if answer.watch.monitor is not None]
    for monitor, prompt in monitors:
        monitor.begin(prompt)
    return sorted({layer for monitor, _ in monitors for layer in monitor.layers})


def _observe(
    answers: Sequence[_Answer],
    logits: Tensor,
    chosen: Tensor,
    weights_of: Callable[[Sequence[int]], Tensor],
    *,
    layers: Sequence[int],
) -> None:
    """Tell the monitors of open answers the tokens (B,) that were chosen from logits (B, V).

    `weights_of` gives the weights (B, Lw, H) in these layers of the queries that led to the logits, on their own
    positions.
    """
    rows = [row for row, answer in enumerate(answers) if answer.is_open and answer.watch.monitor is not None]
    if not rows:
        return
    logprobs, entropies = chosen_and_entropies(logits[rows], chosen[rows])
    weights = weights_of(layers).numpy() if any(answers[row].ids for row in rows) else None
    columns = rows, chosen[rows].tolist(), logprobs.tolist(), entropies.tolist()
    for row, token, logprob, entropy in zip(*columns, strict=True):
        if (monitor := answers[row].watch.monitor) is not None:
            own = None if weights is None else weights[row, [layers.index(layer) for layer in monitor.layers]]
            monitor.take(token, logprob, entropy, own)


def _noted(sampling: Sampling, *, first: bool) -> Sampling:
    """How an answer was drawn, with the seed where it alone leads to it: of the first answer, without a prefix."""
    return sampling if first else replace(sampling, seed=None)


def _traces(
    decoder: Decoder,
    answers: Iterable[tuple[int, _Answer]],
    statistics: TokenStatistics,
    session: CaptureSession,
    *,
    last_row: bool,
) -> list[Trace | NonFiniteLogits]:
    """The traces of these answers, each with its place in the batch."""
    attention, traces = session.band().numpy(), []
    for item, answer in answers:
        num_tokens = len(answer.ids)
        own = TokenStatistics(*(column[item, :num_tokens] for column in statistics))
        # A longer answer in the batch may have run this answer's last token: drop that row unless it was asked for.
        rows = attention[item, :, :, : num_tokens + last_row]
        extras, reason = session.kept.cut(item, answer.ids), answer.stop_reason or "cancelled"
        traces.append(
            build_trace(
                decoder.described,
                answer.prompt,
                answer.ids,
                own,
                dtype=decoder.engine.dtype,
                engine=decoder.engine.about,
                attention=rows,
                extras=extras,
                stop_reason=reason,
                sampling=answer.sampling,
            )
        )
    return traces


def _extend(
    model: ModelDescription, answers: Sequence[_Answer], tokens: Tensor, *, limits: Limits, num_forced: int
) -> None:
    """Append one token to each unfinished answer; the last of the forced tokens is the first that can end one."""
    for answer, token in zip(answers, tokens.tolist(), strict=True):
        if not answer.is_open:
            continue
        answer.ids.append(token)
        num_chosen = len(answer.ids) - num_forced
        reason = _reason_to_stop(model, answer, limits, num_chosen)
        answer.stop_reason = reason if num_chosen >= 0 else None
        if answer.watch.on_token is not None:
            answer.watch.on_token(len(answer.ids) - 1, token, answer.text(token, last=not answer.is_open))
        if num_chosen >= 0:
            of_all: StopReason | None = "cancelled" if limits.cancel is not None and limits.cancel.is_set() else None
            answer.stop_reason = answer.stop_reason or answer.watch.ends or of_all


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


def _begun(
    decoder: Decoder,
    prompts: Sequence[Prompt],
    sequences: Sequence[tuple[int, ...]],
    *,
    tail: int,
    wanted: Wanted,
    budget: Budget,
) -> tuple[CaptureSession, Tensor]:
    """A session that has what the sequences share, and the ids (B, n) that it still has to be fed, n >= tail."""
    ids, padding = _left_padded(sequences, decoder.engine.device)
    prefix = NO_PREFIX if wanted.names & OF_PROMPT else decoder.prefixes.prefix(sequences, tail=tail)
    session = decoder.engine.new_session(_layout(padding, prompts), wanted, prefix, budget)
    return session, ids[:, len(prefix.ids) :]


def _longest(prompts: Sequence[Prompt], limits: Limits) -> int:
    """The most tokens that a prompt with its answer can have; an answer prefix counts as answer."""
    return max(len(prompt.ids) for prompt in prompts) + limits.max_new_tokens + 1


def _left_padded(sequences: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, list[int]]:
    """Ids (B, T), and how many places stand empty before each; what fills them is masked."""
    length = max(map(len, sequences))
    padding = [length - len(sequence) for sequence in sequences]
    rows = [[0] * empty + list(sequence) for empty, sequence in zip(padding, sequences, strict=True)]
    return torch.tensor(rows, device=device), padding


def _layout(padding: Sequence[int], prompts: Sequence[Prompt]) -> Layout:
    answers = tuple(empty + len(prompt.ids) for empty, prompt in zip(padding, prompts, strict=True))
    return Layout(tuple(padding), answers, tuple(prompt.parts for prompt in prompts))


def _idf(decoder: Decoder, wanted: Wanted) -> Tensor | None:
    return None if wanted.idf is None else torch.tensor(wanted.idf, device=decoder.engine.device)


def _read_statistics(
    decoder: Decoder, session: CaptureSession, ids: Tensor, num_tokens: int, *, wanted: Wanted
) -> TokenStatistics:
    """Statistics (B, num_tokens) of the last tokens of ids (B, T), with as many logits at a time as fit."""
    batch, length = ids.shape
    idf, mean = _idf(decoder, wanted), "mean_logprob" in wanted.names
    first_row = length - num_tokens - 1
    size = max(1, _READ_LOGITS_BYTES // (4 * batch * decoder.described.vocab_size))
    blocks = []
    for begin in range(first_row, length, size):
        end = min(begin + size, length)
        logits = session.feed(ids[:, (0 if begin == first_row else begin) : end], tail=end - begin)
        targets = ids[:, begin + 1 : end + 1]  # the very last row predicts nothing that was given
        flat = token_statistics(logits[:, : targets.shape[1]].flatten(0, 1), targets.flatten(), idf, mean=mean)
        blocks.append(TokenStatistics(*(column.unflatten(0, targets.shape) for column in flat)))
    return TokenStatistics(*(torch.cat(column, dim=1) for column in zip(*blocks, strict=True)))
