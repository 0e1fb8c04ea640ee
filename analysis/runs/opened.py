"""A run read back: its whole shards, and their answers as one table with the user's verdicts; or a sample of them."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.datasets.example import Example
from analysis.questions import clusters_of, joined
from analysis.runs.files.arrays import layers_to_store
from analysis.runs.files.corrections import are_apart, corrected, crc32_of, read_corrections
from analysis.runs.files.examples import ExamplesFile
from analysis.runs.files.index import has_index, indexed_rows, read_rows, with_answers
from analysis.runs.files.shards import UNREADABLE
from analysis.runs.files.tables import read_added
from analysis.runs.manifest import MANIFEST, Answerer, Manifest, read_manifest
from rauq.errors import InvalidInput, RunError
from rauq.methods.table import METHODS
from rauq.scoring.settings import Settings, window


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

    A large run is read from its index (`analysis.runs.files.index`); the checksum of a shard is compared at its first
    use.

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


def about_machines(run: Run) -> str:
    """A sentence where shards of a run were answered on machines that round differently; empty where none was."""
    if not run.manifest.mixed:
        return ""
    return "Shards were answered on machines that round differently, so near ties may have given other tokens."
