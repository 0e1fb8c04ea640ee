"""Labelled answers of a run, or of a table of the user, and their signals."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

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
from analysis.survival.labelled import LabelledUnits, Signal, checked
from rauq.errors import InvalidInput
from rauq.scoring.settings import Settings


def of_run(
    run: Run, rows: np.ndarray | None = None, *, thresholds: Thresholds | None = None
) -> tuple[LabelledUnits, np.ndarray]:
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
    found = LabelledUnits(
        name=run.folder.name,
        incorrect=quality[kept] <= limits.roc,
        groups=tuple(answers["group"]),
        clusters=run.clusters[kept],
        lengths=run.lengths[kept],
        answer=np.arange(len(kept)),
        place=np.zeros(len(kept), dtype=np.int64),
        measured_in="tokens",
        questions=tuple(questions[row] for row in kept),
        texts=tuple(answers["answer"]),
        references=tuple(example.references for example in examples),
        sources=tuple(example.source for example in examples),
        unjudged=len(asked) - len(kept),
    )
    return checked(found), kept


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
) -> tuple[LabelledUnits, list[Signal]]:
    """The judged rows of a table, and the numbers of some of its columns as signals; no model is needed.

    `columns`: which columns hold what; None: their names tell. A row without a number lacks the signal.

    Raises:
        InvalidInput: the table has no such column, no answers, no verdicts, or a signal that is not a number.
    """
    check_columns(table, signals)
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
    values = {name: numbers_of(table, name).loc[rows].to_numpy() for name in signals}
    return found, [Signal(name=name, values=own, replaced={}) for name, own in values.items()]


def _of_examples(name: str, judged: list[Example], *, unjudged: int) -> LabelledUnits:
    limits = measure("given").thresholds
    questions, answers = ([str(getattr(one, name)) for one in judged] for name in ("question", "answer"))
    found = LabelledUnits(
        name=name,
        incorrect=np.array([(example.quality or 0.0) <= limits.roc for example in judged], dtype=bool),
        groups=tuple(example.group for example in judged),
        clusters=clusters_of(questions) if questions else np.zeros(0, dtype=np.int64),
        lengths=np.array([num_words(text) for text in answers], dtype=np.int64),
        answer=np.arange(len(judged)),
        place=np.zeros(len(judged), dtype=np.int64),
        measured_in="words",
        questions=tuple(questions),
        texts=tuple(answers),
        references=tuple(example.references for example in judged),
        sources=tuple(example.source for example in judged),
        unjudged=unjudged,
    )
    return checked(found)


def numbers_of(table: Table, column: str) -> pd.Series:
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


def number_columns(table: Table) -> tuple[str, ...]:
    """The columns that can be a signal: numbers alone, apart from empty cells, and at least two different ones."""
    return tuple(name for name in table.columns if _is_of_numbers(table, name))


def _is_of_numbers(table: Table, column: str) -> bool:
    try:
        return len(numbers_of(table, column).dropna().unique()) > 1
    except InvalidInput:
        return False


def check_columns(table: Table, names: Sequence[str]) -> None:
    """Require columns of these names.

    Raises:
        InvalidInput: the table lacks one.
    """
    if missing := [name for name in names if name not in table.columns]:
        message = f"{table.name} has no column {missing[0]!r}. It has {', '.join(map(repr, table.columns))}."
        raise InvalidInput(message)
