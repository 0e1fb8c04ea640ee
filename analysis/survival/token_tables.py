"""Labelled tokens of a table with a row for each token, such as scores that another program wrote; no model is needed.

Columns: `id` of the answer, `token` (its text, spaces included), and `incorrect` or `correct`; where they are there,
also `question` and `group` of the answer. The rows of an answer stand in its order.
"""

from collections.abc import Sequence

import numpy as np

from analysis.datasets.cells import verdict
from analysis.datasets.table import Table
from analysis.questions import clusters_of
from analysis.survival.answers import check_columns, numbers_of
from analysis.survival.labelled import TOKENS, LabelledUnits, Signal, checked
from analysis.survival.tokens import words_of
from rauq.errors import InvalidInput

_ID, _TOKEN, _QUESTION, _GROUP = "id", "token", "question", "group"
_VERDICTS = ("incorrect", "correct")
TOKEN_COLUMNS = f"{_ID}, {_TOKEN}, {_VERDICTS[0]} (or {_VERDICTS[1]}), and if known {_QUESTION} and {_GROUP}"


def of_token_table(table: Table, signals: Sequence[str]) -> tuple[LabelledUnits, list[Signal]]:
    """The judged tokens of a table, and the numbers of some of its columns as signals.

    A token without text, or without a verdict, does not count.

    Raises:
        InvalidInput: a column that is needed and not there, a verdict that cannot be read, or a signal that is not a
            number.
    """
    check_columns(table, [_ID, _TOKEN, *signals])
    incorrect = _incorrect(table)
    ids, texts = (list(map(str, table.rows[name])) for name in (_ID, _TOKEN))
    _, first, answer = np.unique(np.array(ids, dtype=object), return_index=True, return_inverse=True)
    place, length, words = _in_answers(answer, texts)
    questions = _of_answers(table, _QUESTION, first)
    cluster = clusters_of(questions) if any(questions) else np.arange(len(first))
    given = LabelledUnits(
        level=TOKENS,
        name=table.name,
        incorrect=incorrect == 1,
        groups=tuple(_of_answers(table, _GROUP, first)[own] for own in answer),
        clusters=cluster[answer],
        answer=answer,
        place=place,
        lengths=length,
        measured_in="tokens",
        questions=tuple(questions[own] for own in answer),
        texts=tuple(words),
        references=((),) * len(ids),
        sources=("",) * len(ids),
    )
    kept = np.isfinite(incorrect) & np.array([bool(text.strip()) for text in texts])
    found = [Signal(name=name, values=numbers_of(table, name).to_numpy(), replaced={}).among(kept) for name in signals]
    return checked(given.among(kept)), found


def _incorrect(table: Table) -> np.ndarray:
    """1 where a token is incorrect, 0 where it is correct, nan where its cell is empty: (T,)."""
    name = next((name for name in _VERDICTS if name in table.columns), None)
    if name is None:
        message = f"No column of {table.name} says which tokens are incorrect. Columns of tokens: {TOKEN_COLUMNS}."
        raise InvalidInput(message)
    found = []
    for row, cell in zip(table.rows.index.tolist(), table.rows[name].tolist(), strict=True):
        try:
            said = verdict(cell, name, incorrect=name == _VERDICTS[0])
        except InvalidInput as error:
            message = f"Row {row} of {table.name}: {error}"
            raise InvalidInput(message) from error
        found.append(np.nan if said is None else 1 - said)
    return np.array(found)


def _in_answers(answer: np.ndarray, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """The place of each token in its answer (T,), the length of that answer (T,), and the word that it is part of."""
    place, length, words = np.zeros(len(answer), dtype=np.int64), np.bincount(answer)[answer], [""] * len(answer)
    for own in range(int(answer.max()) + 1):
        rows = np.flatnonzero(answer == own)
        place[rows] = np.arange(len(rows))
        for row, word in zip(rows.tolist(), words_of([texts[row] for row in rows.tolist()]), strict=True):
            words[row] = word
    return place, length, words


def _of_answers(table: Table, column: str, first: np.ndarray) -> list[str]:
    """What a column says of each answer, by the rows of their first tokens; "" where there is no such column."""
    if column not in table.columns:
        return [""] * len(first)
    return [str(cell or "") for cell in table.rows[column].iloc[first]]
