"""Labelled answers, and a signal that claims to find the incorrect ones: of a run, or of a file of the user."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from analysis.answer_sets.sides import Sides
from analysis.datasets.columns import Columns
from analysis.datasets.example import Example
from analysis.datasets.rows import examples_from
from analysis.datasets.table import Table, number
from analysis.datasets.understood import known_columns
from analysis.methods.attention_permutation import EXCHANGES, control_of_groups
from analysis.methods.comparison import RAUQ, name_of
from analysis.normalisation import num_words
from analysis.quality.judgement import Thresholds
from analysis.quality.measures import measure
from analysis.questions import clusters_of
from analysis.runs.attention import batch
from analysis.runs.opened import Run
from rauq.errors import InvalidInput
from rauq.scoring.settings import Settings


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelledAnswers:
    """A answers with a verdict: what was asked and said, and which are incorrect (A,).

    `lengths` (A,): in `unit`s, "tokens" or "words". `clusters` (A,): the question of each, near-duplicates as one.
    `references` and `sources`: texts that the answers were judged by, and documents that they are about, "" where there
    is none. `unjudged` answers are left out, as they have no verdict.
    """

    name: str
    incorrect: np.ndarray
    groups: tuple[str, ...]
    clusters: np.ndarray
    lengths: np.ndarray
    unit: str
    questions: tuple[str, ...]
    answers: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]
    sources: tuple[str, ...]
    unjudged: int = 0

    @cached_property
    def sides(self) -> Sides:
        """The sides (A,) of the answers."""
        return Sides(~self.incorrect, self.incorrect)

    @property
    def num_groups(self) -> int:
        """How many groups there are."""
        return len(set(self.groups))

    def among(self, kept: np.ndarray) -> "LabelledAnswers":
        """Those of the answers that are `kept` (A,)."""
        rows = np.flatnonzero(kept).tolist()
        return replace(
            self,
            incorrect=self.incorrect[rows],
            groups=tuple(self.groups[row] for row in rows),
            clusters=self.clusters[rows],
            lengths=self.lengths[rows],
            questions=tuple(self.questions[row] for row in rows),
            answers=tuple(self.answers[row] for row in rows),
            references=tuple(self.references[row] for row in rows),
            sources=tuple(self.sources[row] for row in rows),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Signal:
    """A number of each answer (A,), higher where it is expected to be incorrect; nan where there is none.

    `replaced` (S, A): the same with another attention in place of the answer's own, by what stands in for it; empty
    where no attention is known to be in the signal.
    """

    name: str
    values: np.ndarray
    replaced: Mapping[str, np.ndarray]

    def among(self, kept: np.ndarray) -> "Signal":
        """The signal of the answers that are `kept`, which may be a mask or rows."""
        return Signal(
            name=self.name,
            values=self.values[kept],
            replaced={name: values[:, kept] for name, values in self.replaced.items()},
        )


def of_run(
    run: Run, rows: np.ndarray | None = None, *, thresholds: Thresholds | None = None
) -> tuple[LabelledAnswers, np.ndarray]:
    """The judged answers of a run, among some of its `rows`, and their rows (A,) in its table.

    Incorrect is a quality of at most the threshold of ROC-AUC.

    Raises:
        InvalidInput: no answer has a quality.
    """
    limits = thresholds or measure(run.manifest.request.quality).thresholds
    quality = run.answers["quality"].to_numpy(dtype=float)
    asked = np.arange(len(quality)) if rows is None else rows
    kept = asked[np.isfinite(quality[asked])]
    answers, questions = run.answers.iloc[kept], run.questions
    examples = [run.examples[number] for number in answers["number"].tolist()]
    found = LabelledAnswers(
        name=run.folder.name,
        incorrect=quality[kept] <= limits.roc,
        groups=tuple(answers["group"]),
        clusters=run.clusters[kept],
        lengths=run.lengths[kept],
        unit="tokens",
        questions=tuple(questions[row] for row in kept),
        answers=tuple(answers["answer"]),
        references=tuple(example.references for example in examples),
        sources=tuple(example.source for example in examples),
        unjudged=len(asked) - len(kept),
    )
    return _checked(found), kept


def signal_of_run(run: Run, method: str, rows: np.ndarray) -> Signal:
    """The stored uncertainty of a method for some of the rows (A,) of a run.

    Raises:
        InvalidInput: the run has no such method.
    """
    if method not in run.answers or method not in run.reasons:
        message = (
            f"The run {run.folder.name} has no method {method!r}; it has {', '.join(run.methods)}. `rauq add-methods` "
            "computes others on the stored answers."
        )
        raise InvalidInput(message)
    return Signal(name=name_of(method), values=run.uncertainty(method)[rows], replaced=_replaced(run, method, rows))


def _replaced(run: Run, method: str, rows: np.ndarray) -> Mapping[str, np.ndarray]:
    """RAUQ with the attention of another answer of the group, and with the mean of each layer; in the paper's setting.

    Empty for other methods, and for a run without attention.
    """
    if method != RAUQ or not run.used_layers:
        return {}
    answers = batch(run, "predicting").take(rows)
    found = control_of_groups(answers, Settings(), run.answers["group"].iloc[rows].tolist())
    return {EXCHANGES["shuffled"]: found.shuffled, EXCHANGES["constant"]: found.constant[None]}


def of_table(
    table: Table, signals: Sequence[str], columns: Columns | None = None
) -> tuple[LabelledAnswers, list[Signal]]:
    """The judged rows of a table, and the numbers of some of its columns as signals; no model is needed.

    `columns`: which columns hold what; None: their names tell. A row without a number lacks the signal.

    Raises:
        InvalidInput: the table has no such column, no answers, no verdicts, or a signal that is not a number.
    """
    if missing := [name for name in signals if name not in table.columns]:
        message = f"{table.name} has no column {missing[0]!r}. It has {', '.join(map(repr, table.columns))}."
        raise InvalidInput(message)
    others = replace(table, rows=table.rows.drop(columns=list(signals)))
    chosen = replace(columns or known_columns(others), id=None)  # so that the id of an example is the number of its row
    if not chosen.judged:
        message = (
            f"No column of {table.name} says which answers are incorrect. Name it: --columns "
            "prompt=...,answer=...,incorrect=... (or correct=, or quality=)."
        )
        raise InvalidInput(message)
    examples = examples_from(others, chosen).examples
    judged = [example for example in examples if example.quality is not None]
    found = _of_examples(table.name, judged, unjudged=len(table.rows) - len(judged))
    rows = [int(example.id) for example in judged]
    values = {name: _numbers(table, name).loc[rows].to_numpy() for name in signals}
    return found, [Signal(name=name, values=own, replaced={}) for name, own in values.items()]


def _of_examples(name: str, judged: list[Example], *, unjudged: int) -> LabelledAnswers:
    limits = measure("given").thresholds
    questions, answers = ([str(getattr(one, name)) for one in judged] for name in ("question", "answer"))
    found = LabelledAnswers(
        name=name,
        incorrect=np.array([(example.quality or 0.0) <= limits.roc for example in judged], dtype=bool),
        groups=tuple(example.group for example in judged),
        clusters=clusters_of(questions) if questions else np.zeros(0, dtype=np.int64),
        lengths=np.array([num_words(text) for text in answers], dtype=np.int64),
        unit="words",
        questions=tuple(questions),
        answers=tuple(answers),
        references=tuple(example.references for example in judged),
        sources=tuple(example.source for example in judged),
        unjudged=unjudged,
    )
    return _checked(found)


def _numbers(table: Table, column: str) -> pd.Series:
    """The number of each row by its number, nan where its cell is empty."""
    found: dict[int, float] = {}
    for row, cell in zip(table.rows.index.tolist(), table.rows[column].tolist(), strict=True):
        try:
            value = number(cell, column)
        except InvalidInput as error:
            message = f"Row {row} of {table.name}: {error}"
            raise InvalidInput(message) from error
        found[row] = math.nan if value is None else value
    return pd.Series(found, dtype=float)


def drawn(given: LabelledAnswers, most: int, *, seed: int) -> np.ndarray:
    """Which answers (A,) are used of more than `most`: those of questions drawn by the seed; of fewer, all."""
    if len(given.clusters) <= most:
        return np.ones(len(given.clusters), dtype=bool)
    sizes = np.bincount(given.clusters)
    order = np.random.default_rng(seed).permutation(len(sizes))
    used = order[np.cumsum(sizes[order]) <= most]
    return np.isin(given.clusters, used)


def _checked(found: LabelledAnswers) -> LabelledAnswers:
    if not len(found.incorrect):
        message = f"{found.name} has no answer with a verdict. Judge its answers first."
        raise InvalidInput(message)
    return found
