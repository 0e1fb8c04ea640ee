"""A run read back: its whole shards, their answers as one table, the user's verdicts, and attention as arrays."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd
from safetensors import safe_open

from analysis.answer_sets.heads import pick
from analysis.datasets.example import Example
from analysis.questions import clusters_of, joined
from analysis.runs.corrections import (
    add_correction,
    are_apart,
    corrected,
    correction,
    crc32_of,
    read_corrections,
    remove_correction,
)
from analysis.runs.create import ExamplesFile
from analysis.runs.index import compare_once, has_index, indexed_rows, read_rows, with_answers
from analysis.runs.library import bundled_folder
from analysis.runs.manifest import MANIFEST, Answerer, Manifest, read_manifest
from analysis.runs.shard import (
    ALIGNMENTS,
    OFFSETS,
    UNREADABLE,
    layers_to_store,
    read_added,
    traces_path,
    with_fact,
)
from rauq.errors import InvalidInput, RunError
from rauq.methods.table import METHODS
from rauq.scoring.settings import Settings, window
from rauq.trace.batch import Batch, Blocks, similar_lengths
from rauq.trace.trace import Alignment


@dataclass(frozen=True)
class Shard:
    """A shard that is whole: its number, its row in the run's table, and how many of its answers have a trace."""

    number: int
    start: int
    size: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Run:
    """The answers of a run, A of them, in the order of its data set.

    `answers` has a row for each answered example, `failures` one for each that failed; the columns are those of a shard
    and of the examples, and one of each method that was asked for or added, by its id, whether this version has it or
    not. `quality` is 1 or 0 where the user `corrected` the verdict, and `measured_quality` is what the measure says.
    `reasons` (A x these methods) say why one is nan, "" where it is not. `shards` are those that are whole, and
    `faults` say what is wrong with others. `outdated_corrections`: how many are of answers that are no longer there.
    `is_indexed`: the table is that of an index, and checksums are compared when a shard is read. `whole`: answers and
    shards of the run that this is a sample of; None where it is none. `apart`: the user treats near-duplicate questions
    as different ones.
    """

    folder: Path
    manifest: Manifest
    answerer: Answerer
    examples: tuple[Example, ...] | ExamplesFile
    answers: pd.DataFrame
    reasons: pd.DataFrame
    failures: pd.DataFrame
    shards: tuple[Shard, ...]
    faults: tuple[str, ...]
    outdated_corrections: int = 0
    is_indexed: bool = False
    whole: tuple[int, int] | None = None
    apart: bool = False

    @property
    def methods(self) -> tuple[str, ...]:
        """The ids of the methods whose uncertainties were stored with the answers, as far as this version has them."""
        added = [one for one in self.manifest.added_methods if one in METHODS and one in self.reasons]
        return (*self.manifest.request.known_methods, *added)

    @property
    def stored_layers(self) -> tuple[int, ...]:
        """The layers whose weights are kept token by token."""
        return layers_to_store(self.manifest, self.answerer)

    @property
    def used_layers(self) -> tuple[int, ...]:
        """The layers used by RAUQ in the paper's setting; none where no layer of the window has attention."""
        try:
            return window(Settings(), captured=self.answerer.layers, num_layers=self.answerer.num_layers)
        except InvalidInput:
            return ()

    def uncertainty(self, method: str) -> np.ndarray:
        """What a method gave of each answer (A,); nan where the run was not asked for it."""
        return self.answers.get(method, pd.Series(np.nan, self.answers.index)).to_numpy(dtype=float)

    def frame(self) -> pd.DataFrame:
        """One row an answer: what was asked and answered, its quality, and its uncertainty by each method, by its id.

        The columns are id, group, prompt, references, answer (without thinking), quality, unclear, and the methods. An
        unclear answer has no quality: the rule did not decide, and nobody has read it. `reasons` has the same rows, and
        says why an uncertainty is nan; `failures` are the examples without an answer.
        """
        about = ["id", "group", "prompt", "references", "answer", "quality", "unclear"]
        return self.answers[[*about, *self.manifest.request.methods]]

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each answer (A,), thinking included."""
        return self.answers["num_tokens"].to_numpy(dtype=np.int64)

    @cached_property
    def questions(self) -> tuple[str, ...]:
        """What each answer (A,) was asked, without worked examples."""
        numbers = self.answers["number"]
        if not isinstance(self.examples, ExamplesFile):
            return tuple(self.examples[number].asked for number in numbers)
        parts = (numbers[shard.start : shard.start + shard.size].tolist() for shard in self.shards)
        return tuple(asked for part in parts for asked in self.examples.asked(part))

    @cached_property
    def clusters(self) -> np.ndarray:
        """The question of each answer (A,), as a number: equal for the same question, and for near-duplicates."""
        return clusters_of(self.questions, apart=self.apart)

    @cached_property
    def joined(self) -> tuple[tuple[str, ...], ...]:
        """The near-duplicate questions of this run, the largest groups first, whether they count as one or not."""
        return joined(self.questions)

    @property
    def part_starts(self) -> np.ndarray:
        """The first token after the thinking of each answer (A,), 0 without thinking: where its answer part begins."""
        return self.answers["thinking_stop"].to_numpy(dtype=np.int64)


def open_run(folder: Path | str) -> Run:
    """Read what a run has so far; shards that are missing or broken are left out, and said.

    A large run is read from its index (`analysis.runs.index`); the checksum of a shard is compared at its first use.

    Raises:
        RunError: the folder is no run, its manifest, examples or corrected verdicts are damaged, or no model was
            loaded for it yet.

    Example:
        >>> len(analysis.open_run(analysis.bundled_folder()).answers)
        814
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    answerer = with_answers(folder, manifest)
    examples = ExamplesFile(folder)
    if len(examples) != manifest.request.count:
        message = (
            f"{folder} has {len(examples)} examples, not {manifest.request.count}. Restore them from a copy of the run."
        )
        raise RunError(message)
    is_indexed = has_index(manifest)
    rows = (indexed_rows if is_indexed else read_rows)(folder, manifest, answerer, examples)
    answers, outdated = corrected(rows.answers, read_corrections(folder))
    values, reasons, faults = rows.uncertainties, rows.reasons, list(rows.faults)
    for method in manifest.added_methods:
        try:
            values[method], reasons[method] = _added(folder, method, answers)
        except RunError as error:
            faults.append(str(error))
    if taken := set(values) & set(answers):
        message = (
            f"{folder / MANIFEST} is damaged (a method is called {min(taken)}). Restore it from a copy of the run."
        )
        raise RunError(message)
    return Run(
        folder=folder,
        manifest=manifest,
        answerer=answerer,
        examples=examples if is_indexed else examples.read(range(len(examples))),
        answers=answers.join(values.astype(float)),
        reasons=reasons,
        failures=rows.failures,
        shards=_placed(rows.shards),
        faults=tuple(faults),
        outdated_corrections=outdated,
        is_indexed=is_indexed,
        apart=are_apart(folder),
    )


def _placed(sizes: Iterable[tuple[int, int]]) -> tuple[Shard, ...]:
    """Shards of these numbers and sizes, one after the other in a run's table."""
    numbers_and_sizes = list(sizes)
    starts = accumulate((size for _, size in numbers_and_sizes), initial=0)
    return tuple(Shard(number, start, size) for (number, size), start in zip(numbers_and_sizes, starts, strict=False))


MOST_SAMPLED, MOST_RANKED = 20_000, 200_000
"""Answers that a view uses: of their attention, and of their stored uncertainties alone."""


def sampled(run: Run, *, most: int = MOST_SAMPLED, seed: int = 0) -> Run:
    """The run itself, or one of whole shards of it, drawn by the seed, with about `most` answers.

    What needs the attention of all answers is computed from such a sample: reading all shards of a large run takes
    minutes. Answers of a shard follow each other in the data set.
    """
    if len(run.answers) <= most:
        return run
    order = np.random.default_rng(seed).permutation(len(run.shards))
    ends = np.cumsum([run.shards[place].size for place in order])
    chosen = np.sort(order[: max(1, int(np.searchsorted(ends, most, side="right")))])
    return part_of(run, tuple(run.shards[place] for place in chosen))


def part_of(run: Run, shards: tuple[Shard, ...]) -> Run:
    """The answers of some of the shards of a run, as a run of its own."""
    rows = np.concatenate([np.arange(0), *(np.arange(shard.start, shard.start + shard.size) for shard in shards)])
    return replace(
        run,
        answers=run.answers.iloc[rows].reset_index(drop=True),
        reasons=run.reasons.iloc[rows].reset_index(drop=True),
        shards=_placed((shard.number, shard.size) for shard in shards),
        whole=run.whole or (len(run.answers), len(run.shards)),
    )


def about_sample(run: Run) -> str:
    """Which of the answers of a large run are used, as a sentence; empty where all of them are."""
    if run.whole is None:
        return ""
    answers, shards = run.whole
    return (
        f"A seeded sample of {len(run.answers):,} of the run's {answers:,} answers: {len(run.shards):,} of its "
        f"{shards:,} shards, each of successive answers."
    )


_OTHER_ANSWER = "it was computed for another answer to this example: delete the method's file, and add it again"


def _added(folder: Path, method: str, answers: pd.DataFrame) -> tuple[list[float], list[str]]:
    """What a method that was added later gave of each answer (A,), and the reasons where it gave nothing.

    Raises:
        RunError: its file is missing or damaged.
    """
    try:
        found = read_added(folder, method).to_pandas().set_index("number").reindex(answers["number"])
    except UNREADABLE as error:
        message = f"The method {method} of {folder.name} is left out: its file cannot be read ({error}). Add it again."
        raise RunError(message) from error
    same = found["answer_crc32"].to_numpy() == [crc32_of(text) for text in answers["answer"]]
    reasons = [reason if own else _OTHER_ANSWER for reason, own in zip(found["reason"], same, strict=True)]
    return found["value"].where(same).tolist(), reasons


def why_fixed(run: Run) -> str:
    """Why the verdicts of a run cannot be corrected; empty where they can."""
    if run.folder == bundled_folder():
        return (
            "The run that came with the app cannot be changed. To correct its verdicts, export it on the page Runs and "
            "import the archive under another name."
        )
    quality = run.answers["measured_quality"].to_numpy(dtype=float)
    known = quality[np.isfinite(quality)]
    if run.manifest.request.quality == "given" and ((known < 0) | (known > 1)).any():
        return (
            "The quality that came with these answers is not on a scale from 0 to 1, so a verdict of 1 or 0 does not "
            "fit. Correct it in the file, and score the file again."
        )
    return ""


def correct_verdict(run: Run, number: int, *, correct: bool | None) -> None:
    """Correct the verdict on the answer to the example `number`; None undoes the correction.

    Raises:
        InvalidInput: there is no such answer, or the verdicts of this run cannot be corrected.
        RunError: the corrections are damaged, or cannot be written.
    """
    if correct is None:
        _correctable(run, number)
        remove_correction(run.folder, number)
    else:
        add_correction(run.folder, correction(number, _correctable(run, number), correct=correct))


def leave_out(run: Run, number: int) -> None:
    """Leave the answer to the example `number` out of every figure: nobody can say whether it is correct.

    Raises:
        InvalidInput, RunError: as `correct_verdict`.
    """
    add_correction(run.folder, correction(number, _correctable(run, number), correct=None))


def _correctable(run: Run, number: int) -> str:
    """The answer to the example `number`, if its verdict can be corrected."""
    rows = np.flatnonzero(run.answers["number"] == number)
    if reason := why_fixed(run) or ("" if rows.size else f"There is no answer {number} in this run."):
        raise InvalidInput(reason)
    return str(run.answers["answer"].iloc[rows[0]])


def about_corrections(run: Run) -> str:
    """How many verdicts were corrected, as a sentence; empty where none was."""
    count = int(run.answers["corrected"].sum())
    said = f"{count:,} verdict{'' if count == 1 else 's'} corrected by hand." if count else ""
    if run.outdated_corrections:
        left = run.outdated_corrections
        said += (
            f" {left:,} correction{' is' if left == 1 else 's are'} not used: the answer has changed since, or is "
            "missing."
        )
    return said.strip()


def about_machines(run: Run) -> str:
    """A sentence where shards of a run were answered on machines that round differently; empty where none was."""
    if not run.manifest.mixed:
        return ""
    return "Shards were answered on machines that round differently, so near ties may have given other tokens."


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
