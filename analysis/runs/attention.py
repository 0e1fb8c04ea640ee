"""The attention of a run as arrays over its answers, and all that scoring them needs."""

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from safetensors import safe_open

from analysis.answer_sets.heads import pick
from analysis.runs.files.arrays import ALIGNMENTS, OFFSETS, with_fact
from analysis.runs.files.index import compare_once
from analysis.runs.files.shards import UNREADABLE
from analysis.runs.manifest import traces_path
from analysis.runs.opened import Run, Shard
from rauq.errors import InvalidInput, RunError
from rauq.trace.batch import Batch, Blocks, similar_lengths
from rauq.trace.trace import Alignment

TokenChoice = Literal["all", "fact", "other"]


class Arrays(NamedTuple):
    """One answer of N tokens: weights 0 to K - 1 keys back (K, L', H, N + 1), logprobs and entropies (N,) in nats."""

    bands: np.ndarray
    logprobs: np.ndarray
    entropies: np.ndarray


class Picks(NamedTuple):
    """The head that each answer picks in each layer (A, L), -1 where it picks none, and which were `stored` (A,).

    Runs written before picks were stored have means in half precision alone: picks from these may differ in near-ties.
    """

    heads: np.ndarray
    stored: np.ndarray


def picks(run: Run, alignment: Alignment = "predicting") -> Picks:
    """The heads that scoring picked, from weights in full precision; where they were not stored, from the means.

    Raises:
        InvalidInput: an unknown alignment.
        RunError: a shard can no longer be read.
    """
    heads, stored = pick(means(run, alignment)), np.zeros(len(run.answers), dtype=bool)
    for shard in run.shards:
        found = _read(run, shard, "picks", (ALIGNMENTS.index(alignment),))
        if found.size:
            rows = slice(shard.start, shard.start + shard.size)
            heads[rows], stored[rows] = found, True
    return Picks(heads, stored)


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


def batch(run: Run, alignment: Alignment = "predicting") -> Blocks:
    """Everything that scoring the answer parts needs, in batches of similar length; weights stay in half precision.

    Raises:
        RunError: there is no answer yet, or a shard can no longer be read.
    """
    if run.answers.empty:
        message = f"{run.folder} has no answers yet. Resume the run."
        raise RunError(message)
    starts = run.part_starts
    empty, lengths = starts == run.lengths, np.maximum(run.lengths - starts, 1)
    about: Any = {
        "alignment": alignment,
        "kind": run.answerer.kind,
        "vocab_size": run.answerer.vocab_size,
        "layers": run.stored_layers,
        "num_layers": run.answerer.num_layers,
    }
    places = similar_lengths(lengths)
    batches = tuple(_blank(run.answerer.num_heads, lengths[own], empty[own], about) for own in places)
    place_of = {place: (one, row) for own, one in zip(places, batches, strict=True) for row, place in enumerate(own)}
    for place, arrays in enumerate(answers_of(run, run.shards)):
        if not empty[place]:
            _fill(*place_of[place], arrays, starts[place])
    return Blocks(batches=batches, places=places, **about)


def _blank(num_heads: int, lengths: np.ndarray, empty: np.ndarray, about: Any) -> Batch:  # noqa: ANN401 - keywords
    """A batch of nan, to be filled."""
    count, longest = len(lengths), int(lengths.max())
    logprobs, entropies = np.full((2, count, longest), np.nan)
    attention = np.full((count, len(about["layers"]), num_heads, longest - 1), np.nan, np.float16)
    return Batch(attention=attention, logprobs=logprobs, entropies=entropies, lengths=lengths, empty=empty, **about)


def _fill(one: Batch, row: int, arrays: Arrays, start: int) -> None:
    """Write the part of an answer that begins at token `start` into a row of a batch."""
    length = one.lengths[row]
    band, first = (0, start + 1) if one.alignment == "predicting" else (1, start + 2)
    one.attention[row, ..., : length - 1] = arrays.bands[band, :, :, first : first + length - 1]
    one.logprobs[row, :length] = arrays.logprobs[start:]
    one.entropies[row, :length] = arrays.entropies[start:]


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
    shape = (run.manifest.request.offsets, len(run.stored_layers), run.answerer.num_heads)
    ends = np.cumsum(lengths)
    band_ends = np.cumsum((lengths + 1) * int(np.prod(shape)))
    bands = np.split(flat[0], band_ends[:-1])
    for weights, logprobs, entropies in zip(bands, *(np.split(each, ends[:-1]) for each in flat[1:]), strict=True):
        yield Arrays(weights.reshape(*shape, -1), logprobs, entropies)  # flat -> (K, L', H, N + 1)


def _gathered(run: Run, name: str, place: tuple[int, int]) -> np.ndarray:
    """One alignment and offset of the means of all answers: (A, L, H); nan for answers that have none."""
    gathered = np.full((len(run.answers), len(run.answerer.layers), run.answerer.num_heads), np.nan, np.float32)
    for shard in run.shards:
        found = _read(run, shard, name, place)
        if found.size:
            every = len(found) == shard.size
            rows = np.arange(shard.size) if every else with_fact(_read(run, shard, "fact_counts"))
            gathered[shard.start + rows] = found
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
        if run.is_indexed:
            compare_once(run.folder, run.manifest, run.answerer, shard.number)
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
