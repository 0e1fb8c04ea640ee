"""Rows of the user as data sets: CSV, JSONL, JSON or Parquet as a table, or a DataFrame, and its rows as examples."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from analysis.datasets import table as dataset_table
from analysis.datasets.example import DataSet, Example, Rejected, default_quality, not_empty
from analysis.datasets.formats import read_csv, read_json, read_jsonl, read_parquet
from analysis.datasets.table import MOST_ROWS, Table, cut_note, make_table
from rauq.errors import InvalidInput
from rauq.labels import size

LARGEST_UPLOAD = 64 * 2**20  # bytes
LARGEST_FILE = 16 * 2**30
MOST_IN_A_FILE = 10_000_000  # rows of a file that a command names; all of them are in memory

_PARQUET = b"PAR1"
_FOREIGN = (
    (b"PK\x03\x04", "a zip archive or an Excel file"),
    (b"\xd0\xcf\x11\xe0", "an old Excel file"),
    (b"\x1f\x8b", "compressed with gzip"),
    (b"%PDF", "a PDF"),
)
_READERS: MappingProxyType[str, Callable[..., Table]] = MappingProxyType(
    {
        ".csv": read_csv,
        ".tsv": read_csv,
        ".jsonl": read_jsonl,
        ".ndjson": read_jsonl,
        ".json": read_json,
        ".parquet": read_parquet,
    }
)
ENDINGS = tuple(_READERS)


def read_table(content: bytes, name: str, *, rows: int = MOST_ROWS) -> Table:
    """The first `rows` rows of an upload of at most 64 MiB; `name` is the file's name.

    Raises:
        InvalidInput: too large, empty, or not what its name says; the message says what to do.
    """
    return _read(content, name, largest=LARGEST_UPLOAD, rows=rows)


def read_file(path: Path) -> Table:
    """The first ten million rows of a file of at most 16 GiB.

    Raises:
        InvalidInput: not readable, too large, empty, or not what its name says.
    """
    try:
        num_bytes = path.stat().st_size
        content = b"" if num_bytes > LARGEST_FILE else path.read_bytes()
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror}. Give the path of a file."
        raise InvalidInput(message) from error
    _check_size(num_bytes, path.name, LARGEST_FILE)
    return _read(content, path.name, largest=LARGEST_FILE, rows=MOST_IN_A_FILE)


def _read(content: bytes, name: str, *, largest: int, rows: int) -> Table:
    _check_size(len(content), name, largest)
    ending = Path(name).suffix.lower()
    if ending not in _READERS:
        message = f"Got {name}; the name must end in one of {', '.join(ENDINGS)}."
        raise InvalidInput(message)
    foreign = next((what for mark, what in _FOREIGN if content.startswith(mark)), None)
    if not foreign and content.startswith(_PARQUET) != (ending == ".parquet"):
        foreign = "not a Parquet file" if ending == ".parquet" else "a Parquet file"
    if foreign:
        message = f"{name} is {foreign}, despite its name. Save the table as CSV, JSONL or Parquet."
        raise InvalidInput(message)
    return _READERS[ending](content, name, rows=rows)


def _check_size(num_bytes: int, name: str, largest: int) -> None:
    if not num_bytes:
        message = f"{name} is empty. Give a file with a header and at least one row below it."
        raise InvalidInput(message)
    if num_bytes > largest:
        message = f"{name} has {size(num_bytes)}; at most {size(largest)} are read. Split the file."
        raise InvalidInput(message)


_COLUMN_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "prompt": "prompt input instruction question query text",
        "references": "references reference reference_answer correct_answers answers target expected gold label truth",
        "answer": "answer response output generation completion prediction model_answer generated",
        "quality": "quality score rating",
        "correct": "correct is_correct right",
        "group": "group task language category",
        "stratum": "stratum difficulty",
        "error_label": "error_label error error_type",
        "facts": "facts fact",
        "wrong": "wrong wrong_texts wrong_text hallucination hallucinations",
        "source": "source document context article",
        "question": "question query",
        "id": "id key",
    }
)


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Names of the columns that hold each thing; None, or no references, where no column does.

    References may be in several columns, or as a list in one. `quality` is a number, higher is better; `correct`
    says right or wrong in words or as 1 and 0, and at most one of the two is given. `facts` and
    `wrong` are a text or a list; the latter are texts in the answer that are incorrect.
    """

    prompt: str
    references: tuple[str, ...] = ()
    answer: str | None = None
    quality: str | None = None
    correct: str | None = None
    group: str | None = None
    stratum: str | None = None
    error_label: str | None = None
    facts: str | None = None
    wrong: str | None = None
    source: str | None = None
    question: str | None = None
    id: str | None = None


def guess_columns(table: Table) -> Columns:
    """What the columns' names suggest; a column is used once, the first one is the prompt where no name tells.

    A column called answer holds what is to be scored where another one says how good it is, or what a good answer
    is; alone it is taken for the reference.
    """
    free = {column.lower().replace(" ", "_"): column for column in table.columns}
    found: dict[str, str | None] = {}
    for field, names in _COLUMN_NAMES.items():
        name = next((name for name in names.split() if name in free), None)
        found[field] = free.pop(name) if name else None
    if found["quality"]:
        found["correct"] = None
    if not (found["references"] or found["quality"] or found["correct"]):
        found["references"], found["answer"] = found["answer"], None
    if not found["answer"]:
        found["quality"] = found["correct"] = found["wrong"] = None
    references = found.pop("references")
    prompt = found.pop("prompt") or table.columns[0]
    rest = {field: None if column == prompt else column for field, column in found.items()}
    return Columns(prompt=prompt, references=(references,) if references and references != prompt else (), **rest)


def examples_from(table: Table, columns: Columns, *, name: str | None = None, quality: str | None = None) -> DataSet:
    """The rows as examples; every row that cannot be used is rejected with its reason.

    `name` is the file's if none is given. `quality` is the measure's id; without one, "given" where a column says how
    good the answers are, else what `default_quality` chooses.

    Raises:
        InvalidInput: a column that the table does not have, both `quality` and `correct`, or one of them without
            `answer`.
    """
    _check(table, columns)
    examples: dict[str, Example] = {}
    rejected = list(table.rejected)
    for number, *values in table.rows.itertuples(name=None):
        try:
            example = _example(number, dict(zip(table.columns, values, strict=True)), columns)
            _check_new(example.id, examples)
        except InvalidInput as reason:
            rejected.append(Rejected(number, str(reason)))
        else:
            examples[example.id] = example
    chosen, why = (quality, "") if quality else _measure(columns, tuple(examples.values()))
    return DataSet(
        name=name or table.name,
        examples=tuple(examples.values()),
        rejected=tuple(sorted(rejected, key=lambda row: row.row)),
        notes=table.notes,
        quality=chosen,
        quality_reason=why,
    )


def correct_and_incorrect(correct: Table, incorrect: Table, columns: Columns) -> DataSet:
    """One data set from two files that share their columns: the first of correct, the second of incorrect answers.

    Ids begin with "correct" and "incorrect", since both files often answer the same questions.

    Raises:
        InvalidInput: no answer column, or a column that one of the files does not have.
    """
    if columns.answer is None:
        message = "Two files, one of correct and one of incorrect answers, need a column with the answer. Name it."
        raise InvalidInput(message)
    columns = replace(columns, quality=None, correct=None)
    sides = [
        _judged(examples_from(correct, columns), "correct", 1.0),
        _judged(examples_from(incorrect, columns), "incorrect", 0.0),
    ]
    return DataSet(
        name=f"{correct.name}, {incorrect.name}",
        examples=tuple(example for side in sides for example in side.examples),
        rejected=tuple(row for side in sides for row in side.rejected),
        notes=tuple(note for side in sides for note in side.notes),
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
    single = [value for value in vars(columns).values() if isinstance(value, str)]
    if missing := [column for column in (*single, *columns.references) if column not in table.columns]:
        known = ", ".join(map(repr, table.columns))
        message = f"{table.name} has no column {missing[0]!r}. It has {known}."
        raise InvalidInput(message)
    if columns.quality and columns.correct:
        message = (
            f"Both {columns.quality!r} (quality) and {columns.correct!r} (correct or not) say how good an answer is. "
            "Choose one."
        )
        raise InvalidInput(message)
    if (judged := columns.quality or columns.correct) and not columns.answer:
        message = f"{judged!r} gives the quality of answers, but no column holds the answers. Name that column too."
        raise InvalidInput(message)
    if columns.wrong and not columns.answer:
        message = f"{columns.wrong!r} marks texts in answers, but no column holds the answers. Name that column too."
        raise InvalidInput(message)


def _check_new(name: str, examples: Mapping[str, Example]) -> None:
    if name in examples:
        message = f"the id {name[:40]!r} is used by an earlier row. Give every row its own id."
        raise InvalidInput(message)


def _example(number: int, row: Mapping[str, Any], columns: Columns) -> Example:
    prompt = dataset_table.filled(row[columns.prompt], columns.prompt)
    return Example(
        id=str(number) if columns.id is None else dataset_table.filled(row[columns.id], columns.id),
        prompt=prompt,
        references=_texts(row, columns.references),
        source=_text(row, columns.source),
        question=_text(row, columns.question) or prompt,
        answer=None if columns.answer is None else dataset_table.filled(row[columns.answer], columns.answer),
        quality=_quality(row, columns),
        group=_text(row, columns.group),
        stratum=_text(row, columns.stratum),
        error_label=_text(row, columns.error_label),
        facts=_texts(row, (columns.facts,) if columns.facts else ()),
        wrong=_texts(row, (columns.wrong,) if columns.wrong else ()),
    )


def _text(row: Mapping[str, Any], column: str | None) -> str:
    return "" if column is None else dataset_table.text(row[column], column)


def _texts(row: Mapping[str, Any], columns: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one for column in columns for one in dataset_table.texts(row[column], column)))


def _quality(row: Mapping[str, Any], columns: Columns) -> float | None:
    if columns.quality:
        return dataset_table.number(row[columns.quality], columns.quality)
    return dataset_table.correct_or_incorrect(row[columns.correct], columns.correct) if columns.correct else None


def _measure(columns: Columns, examples: tuple[Example, ...]) -> tuple[str, str]:
    """The measure that fits the rows, and why."""
    if judged := columns.quality or columns.correct:
        return "given", f"The column {judged!r} gives the quality of the answers."
    return default_quality(examples)


def data_set(
    frame: pd.DataFrame, columns: Columns | None = None, *, name: str = "data frame", quality: str | None = None
) -> DataSet:
    """The rows of a DataFrame as examples; `rejected` has those that cannot be used, with the reason.

    `columns` says which columns hold the prompt, the references and so on; by default their names tell. A missing value
    is an empty cell, and whole numbers that pandas holds as floats, since some are missing, are whole numbers.
    `quality`: the id of a measure; by default "given" where a column holds it, else the one that fits the references.

    Raises:
        InvalidInput: no DataFrame, none of whose rows can be used, or a column that it does not have.
    """
    table = _table_of(frame, name)
    return not_empty(examples_from(table, columns or guess_columns(table), quality=quality))


def _table_of(frame: pd.DataFrame, name: str) -> Table:
    if not isinstance(frame, pd.DataFrame):
        message = f"Got a {type(frame).__name__}; give a pandas DataFrame with a row for each prompt."
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
    """The cell without numpy's types, which a list read from Parquet has."""
    return cell.tolist() if isinstance(cell, np.generic | np.ndarray) else cell
