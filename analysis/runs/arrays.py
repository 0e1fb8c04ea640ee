"""The attention of a run as arrays over all of its answers: what figures and scores are made of."""

from collections.abc import Iterator
from typing import Literal, NamedTuple, get_args

import numpy as np
from safetensors import safe_open

from analysis.runs.opened import UNREADABLE, Run, Shard
from analysis.runs.shard import ALIGNMENTS, NUM_BANDS, OFFSETS, traces_path
from rauq.batch import Batch
from rauq.errors import InvalidInput, RunError
from rauq.trace import Alignment

TokenChoice = Literal["all", "fact", "other"]


class Arrays(NamedTuple):
    """One answer of N tokens: weights 0 and 1 keys back (2, L', H, N + 1), and what was put out (N,), in nats."""

    bands: np.ndarray
    logprobs: np.ndarray
    entropies: np.ndarray


def means(run: Run, alignment: Alignment = "predicting", *, tokens: TokenChoice = "all", offset: int = 1) -> np.ndarray:
    """Mean weight on the `offset`-th preceding token over some tokens of each answer: (A, L, H), of all layers.

    `fact` are the tokens that carry the fact, `other` the rest. nan where an answer has no such token.

    Raises:
        InvalidInput: an alignment, a choice of tokens or an offset that a run does not have.
    """
    _check_choice(alignment, tokens, offset)
    place = (ALIGNMENTS.index(alignment), OFFSETS.index(offset))
    whole = _gathered(run, "means", place)
    if tokens == "all":
        return whole
    fact = _gathered(run, "fact_means", place)
    if tokens == "fact":
        return fact
    num_all = np.maximum(run.lengths - run.part_starts - offset, 0)[:, None, None]
    num_fact = _fact_counts(run, place[1])[:, None, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        rest = (whole * num_all - np.where(num_fact, fact, 0) * num_fact) / (num_all - num_fact)
    return np.where(num_all > num_fact, np.clip(rest, 0, 1), np.nan).astype(np.float32)


def batch(run: Run, alignment: Alignment = "predicting") -> Batch:
    """Everything that scoring the answer parts needs, at once; the weights (A, L', H, N - 1) stay in half precision.

    Raises:
        RunError: there is no answer yet.
    """
    if run.answers.empty:
        message = f"{run.folder} has no answers yet. Resume the run."
        raise RunError(message)
    starts, stored = run.part_starts, run.stored_layers
    empty, lengths = starts == run.lengths, np.maximum(run.lengths - starts, 1)
    longest = int(lengths.max())
    attention = np.full((len(run.answers), len(stored), run.answerer.num_heads, longest - 1), np.nan, np.float16)
    logprobs, entropies = np.full((2, len(run.answers), longest), np.nan)
    first_row, band = (1, 0) if alignment == "predicting" else (2, 1)
    for row, (bands, logprob, entropy) in enumerate(answers_of(run, run.shards)):
        if empty[row]:
            continue
        start, length = starts[row], lengths[row]
        first = first_row + start
        attention[row, ..., : length - 1] = bands[band, :, :, first : first + length - 1]
        logprobs[row, :length] = logprob[start:]
        entropies[row, :length] = entropy[start:]
    return Batch(
        attention=attention,
        logprobs=logprobs,
        entropies=entropies,
        lengths=lengths,
        alignment=alignment,
        kind=run.answerer.kind,
        vocab_size=run.answerer.vocab_size,
        layers=stored,
        num_layers=run.answerer.num_layers,
        empty=empty,
    )


def answers_of(run: Run, shards: tuple[Shard, ...]) -> Iterator[Arrays]:
    """The arrays of every answer of these shards, in order.

    Raises:
        RunError: a shard can no longer be read.
    """
    for shard in shards:
        yield from _in_shard(run, shard)


def _in_shard(run: Run, shard: Shard) -> Iterator[Arrays]:
    lengths = run.lengths[shard.start : shard.start + shard.size]
    flat = [_read(run, shard, name) for name in ("bands", "logprobs", "entropies")]
    shape = (NUM_BANDS, len(run.stored_layers), run.answerer.num_heads)
    ends = np.cumsum(lengths)
    band_ends = np.cumsum((lengths + 1) * int(np.prod(shape)))
    bands = np.split(flat[0], band_ends[:-1])
    for weights, logprobs, entropies in zip(bands, *(np.split(each, ends[:-1]) for each in flat[1:]), strict=True):
        yield Arrays(weights.reshape(*shape, -1), logprobs, entropies)  # flat -> (2, L', H, N + 1)


def _gathered(run: Run, name: str, place: tuple[int, int]) -> np.ndarray:
    """One alignment and offset of the means of all answers: (A, L, H); nan for shards that have none."""
    gathered = np.full((len(run.answers), len(run.answerer.layers), run.answerer.num_heads), np.nan, np.float32)
    for shard in run.shards:
        found = _read(run, shard, name, place)
        if found.size:
            gathered[shard.start : shard.start + shard.size] = found
    return gathered


def _fact_counts(run: Run, offset: int) -> np.ndarray:
    """(A,): tokens that carry the fact and have a token `OFFSETS[offset]` before them in the answer."""
    counts = np.zeros(len(run.answers), dtype=np.int64)
    for shard in run.shards:
        found = _read(run, shard, "fact_counts", (offset,))
        if found.size:
            counts[shard.start : shard.start + shard.size] = found
    return counts


def _read(run: Run, shard: Shard, name: str, place: tuple[int, ...] = ()) -> np.ndarray:
    """One array of a shard, or a part of it; empty if the shard has no such array."""
    try:
        with safe_open(traces_path(run.folder, shard.number), framework="np") as arrays:
            return arrays.get_slice(name)[(*place, ...)] if name in arrays.keys() else np.zeros(0)  # noqa: SIM118 - no dict
    except UNREADABLE as error:
        message = f"Shard {shard.number} of {run.folder.name} can no longer be read ({error}). Open the run again."
        raise RunError(message) from error


def _check_choice(alignment: str, tokens: str, offset: int) -> None:
    for option, got, allowed in (
        ("alignment", alignment, ALIGNMENTS),
        ("tokens", tokens, get_args(TokenChoice)),
        ("offset", offset, OFFSETS),
    ):
        if got not in allowed:
            message = f"Unknown {option} {got!r}; choose one of {', '.join(map(str, allowed))}."
            raise InvalidInput(message)
