"""Rows of a table, or of a DataFrame, as examples; every row that cannot be used is rejected with its reason."""

import json
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd

from analysis.datasets.cells import (
    conversation_of,
    joined,
    marked_spans,
    marked_texts,
    result_of,
    structure_of,
    texts,
    verdict,
)
from analysis.datasets.choices import LETTERS, Choices, Naming, choices_of, letter_of, naming_of
from analysis.datasets.columns import Columns
from analysis.datasets.example import DataSet, Example, Rejected, default_quality, not_empty
from analysis.datasets.own_files import MOST_IN_A_FILE
from analysis.datasets.reading import reading_of
from analysis.datasets.table import Table, cut_note, filled, make_table, number, with_whole_numbers
from analysis.datasets.understood import known_columns
from rauq.errors import InvalidInput
from rauq.trace.messages import messages_of

Row = Mapping[str, Any]


def examples_from(table: Table, columns: Columns, *, name: str | None = None, quality: str | None = None) -> DataSet:
    """The rows as examples; every row that cannot be used is rejected with its reason.

    `name` is the file's if none is given. `quality` is the measure's id; without one, "given" where a column says how
    good the answers are, else what `default_quality` chooses.

    Raises:
        InvalidInput: a column that the table does not have, two columns that judge the answers, or one without
            answers.
    """
    _check(table, columns)
    table = with_whole_numbers(table, columns.references)
    naming = _naming(table, columns)
    examples: dict[str, Example] = {}
    rejected = list(table.rejected)
    for row_number, *values in table.rows.itertuples(name=None):
        row = dict(zip(table.columns, values, strict=True))
        try:
            example = _example(row_number, row, columns, naming)
            _check_new(example.id, examples)
        except InvalidInput as reason:
            rejected.append(Rejected(row_number, str(reason)))
        else:
            examples[example.id] = example
    found = tuple(examples.values())
    chosen, why = (quality, "") if quality else _measure(table, columns, found)
    return DataSet(
        name=name or table.name,
        examples=found,
        rejected=tuple(sorted(rejected, key=lambda row: row.row)),
        notes=table.notes,
        understood=reading_of(table, columns, found),
        quality=chosen,
        quality_reason=why,
    )


def correct_and_incorrect(correct: Table, incorrect: Table, columns: Columns) -> DataSet:
    """One data set from two files that share their columns: the first of correct, the second of incorrect answers.

    Ids begin with "correct" and "incorrect", since both files often answer the same questions.

    Raises:
        InvalidInput: no answer column, or a column that one of the files does not have.
    """
    columns = replace(columns, quality=None, correct=None, incorrect=None)
    sides = [
        _judged(examples_from(correct, columns), "correct", 1.0),
        _judged(examples_from(incorrect, columns), "incorrect", 0.0),
    ]
    if any(example.answer is None for side in sides for example in side.examples):
        message = "Two files, one of correct and one of incorrect answers, need a column with the answer. Name it."
        raise InvalidInput(message)
    return DataSet(
        name=f"{correct.name}, {incorrect.name}",
        examples=tuple(example for side in sides for example in side.examples),
        rejected=tuple(row for side in sides for row in side.rejected),
        notes=tuple(note for side in sides for note in side.notes),
        understood=sides[0].understood,
        quality="given",
    )


def _judged(side: DataSet, what: str, quality: float) -> DataSet:
    return replace(
        side,
        examples=tuple(replace(example, id=f"{what} {example.id}", quality=quality) for example in side.examples),
        rejected=tuple(Rejected(row.row, f"{side.name}: {row.reason}") for row in side.rejected),
        notes=tuple(f"{side.name}: {note}" for note in side.notes),
    )


def _check(table: Table, columns: Columns) -> None:
    if missing := [column for _, column in columns.pairs if column not in table.columns]:
        known = ", ".join(map(repr, table.columns))
        message = f"{table.name} has no column {missing[0]!r}. It has {known}."
        raise InvalidInput(message)
    judging = [column for column in (columns.quality, columns.correct, columns.incorrect) if column]
    if len(judging) > 1:
        message = f"{' and '.join(map(repr, judging))} each say how good an answer is. Choose one."
        raise InvalidInput(message)
    if not columns.prompts:
        message = "No column holds the prompts. Name one."
        raise InvalidInput(message)
    answers = columns.answer or _has_answered(table, columns)
    if judging and not answers:
        message = f"{judging[0]!r} says how good answers are, but no column holds the answers. Name that column too."
        raise InvalidInput(message)
    if columns.wrong and not answers:
        message = f"{columns.wrong!r} marks texts in answers, but no column holds the answers. Name that column too."
        raise InvalidInput(message)
    if columns.choices and len(columns.references) != 1:
        message = "Choices need one column of references, which names the right choice."
        raise InvalidInput(message)


def _has_answered(table: Table, columns: Columns) -> bool:
    cells = table.rows[columns.prompts[0]]
    found = (conversation_of(cell) for cell in cells if structure_of(cell) is not None)
    return any(messages is not None and messages[-1]["role"] == "assistant" for messages in found)


def _check_new(name: str, examples: Mapping[str, Example]) -> None:
    if name in examples:
        message = f"the id {name[:40]!r} is used by an earlier row. Give every row its own id."
        raise InvalidInput(message)


def _example(row_number: int, row: Row, columns: Columns, naming: Naming) -> Example:
    prompt, conversation, said = _asked(row, columns)
    answer = said if columns.answer is None else filled(row[columns.answer], columns.answer)
    if answer is None and columns.judged:
        message = f"the row has a verdict ({columns.judged!r}), but no answer."
        raise InvalidInput(message)
    references: tuple[str, ...] = ()
    for column in columns.references:
        references += texts(row[column], column, separator=columns.separator)
    if columns.choices:
        choices = choices_of([row[column] for column in columns.choices], columns.choices)
        prompt = "\n".join([prompt, *map("{}. {}".format, LETTERS, choices.texts), "Answer:"])
        right = columns.references[0]
        references = (letter_of(row[right], right, choices=choices, naming=naming),)
    return Example(
        id=str(row_number) if columns.id is None else filled(row[columns.id], columns.id),
        prompt=prompt,
        conversation=conversation,
        references=tuple(dict.fromkeys(references)),
        source=_text(row, columns.source),
        question=_text(row, columns.question) or prompt,
        answer=answer,
        quality=_quality(row, columns),
        group=_text(row, columns.group),
        stratum=_text(row, columns.stratum),
        error_label=_text(row, columns.error_label),
        facts=texts(row[columns.facts], columns.facts) if columns.facts else (),
        wrong=marked_texts(row[columns.wrong], columns.wrong, answer=answer) if columns.wrong else (),
        wrong_spans=marked_spans(row[columns.wrong], answer=answer) if columns.wrong else (),
    )


def _asked(row: Row, columns: Columns) -> tuple[str, str, str | None]:
    """The prompt, the conversation that it ends as JSON, and the answer that is in it, if there is one."""
    messages = conversation_of(row[columns.prompts[0]]) if len(columns.prompts) == 1 else None
    if messages is None:
        parts = [filled(row[columns.prompts[0]], columns.prompts[0])] if len(columns.prompts) == 1 else []
        parts = parts or [joined(row[column], column).strip() for column in columns.prompts]
        prompt = parts[0] if len(columns.prompts) == 1 else "\n\n".join(filter(None, parts))
        return filled(prompt, columns.prompts[-1]), "", None
    answer = messages.pop()["content"] if messages[-1]["role"] == "assistant" else None
    if answer is not None:
        answer = filled(answer, columns.prompts[0])
    last = messages_of(messages)[-1]
    is_one_text = len(messages) == 1 and set(messages[0]) == {"role", "content"}
    return last.content, "" if is_one_text else json.dumps(messages, ensure_ascii=False), answer


def _naming(table: Table, columns: Columns) -> Naming:
    """How the right choices are named, from the first rows whose choices can be read."""
    if not columns.choices:
        return Naming()
    rows = zip(table.rows[columns.references[0]], *(table.rows[column] for column in columns.choices), strict=True)
    return naming_of([found for row in islice(rows, 2_000) if (found := _read_choices(row, columns)) is not None])


def _read_choices(row: tuple[Any, ...], columns: Columns) -> tuple[Any, Choices] | None:
    try:
        return row[0], choices_of(row[1:], columns.choices)
    except InvalidInput:
        return None


def _text(row: Row, column: str | None) -> str:
    return "" if column is None else joined(row[column], column)


def _quality(row: Row, columns: Columns) -> float | None:
    if columns.quality:
        return number(row[columns.quality], columns.quality)
    if columns.incorrect:
        return verdict(row[columns.incorrect], columns.incorrect, incorrect=True)
    return verdict(row[columns.correct], columns.correct) if columns.correct else None


def _measure(table: Table, columns: Columns, examples: tuple[Example, ...]) -> tuple[str, str]:
    """The measure that fits the rows, and why."""
    if columns.judged:
        return "given", f"The column {columns.judged!r} gives the quality of the answers."
    if columns.choices:
        return "accuracy", "The reference is the letter of a choice."
    if any(result_of(cell) for column in columns.references for cell in table.rows[column].head(50)):
        return "accuracy", "The references are solutions, of which the marked result counts."
    return default_quality(examples)


def data_set(
    frame: pd.DataFrame, columns: Columns | None = None, *, name: str = "data frame", quality: str | None = None
) -> DataSet:
    """The rows of a DataFrame as examples; `rejected` has those that cannot be used, with the reason.

    `columns` says which columns hold the prompt, the references and so on; by default their names and cells tell. A
    missing value is an empty cell. Whole numbers that pandas holds as floats, because some are missing, are read as
    whole numbers. `quality`: the id of a measure; by default "given" where a column holds it, else the one that fits
    the references.

    Raises:
        InvalidInput: no DataFrame, none of whose rows can be used, or a column that it does not have.
        UnclearColumns: no `columns`, and those of the frame can be read in several ways.

    Example:
        >>> frame = pandas.DataFrame({"question": ["Who wrote Emma?"], "author": ["Jane Austen"]})
        >>> data = analysis.data_set(frame, analysis.Columns(prompt="question", references=("author",)))
        >>> data.examples[0].references, data.quality
        (('Jane Austen',), 'contains')
    """
    table = table_of(frame, name)
    return not_empty(examples_from(table, columns or known_columns(table), quality=quality))


def table_of(frame: pd.DataFrame, name: str) -> Table:
    """The rows of a DataFrame as those of a file, numbered from 1.

    Raises:
        InvalidInput: no DataFrame, or one without rows.
    """
    if not isinstance(frame, pd.DataFrame):
        message = f"Got a {type(frame).__name__}; give a pandas DataFrame."
        raise InvalidInput(message)
    most = MOST_IN_A_FILE
    columns = [_cells(frame.iloc[:most, place]) for place in range(frame.shape[1])]
    rows = dict(enumerate(zip(*columns, strict=True), 1))
    return make_table(name, list(frame.columns), rows, notes=cut_note(max(0, len(frame) - most), rows=most))


def _cells(column: pd.Series) -> list[Any]:
    """The cells of a column, None where one is missing; pandas makes floats of whole numbers if some are missing."""
    there = zip(column.tolist(), column.notna().tolist(), strict=True)
    cells = [_without_numpy(cell) if is_there else None for cell, is_there in there]
    if all(cell is None or (isinstance(cell, float) and cell.is_integer()) for cell in cells):
        return [None if cell is None else int(cell) for cell in cells]
    return cells


def _without_numpy(cell: Any) -> Any:  # noqa: ANN401 - a cell of the user's frame
    """The cell without numpy's types, which lists and objects read from Parquet have."""
    if isinstance(cell, np.generic | np.ndarray):
        cell = cell.tolist()
    if isinstance(cell, list | tuple):
        return [_without_numpy(part) for part in cell]
    return {key: _without_numpy(part) for key, part in cell.items()} if isinstance(cell, dict) else cell
