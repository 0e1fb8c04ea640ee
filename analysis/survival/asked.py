"""The ladder of a signal that a user names: of the answers of a run or of their tokens, or a column of a table."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

import rauq
from analysis.datasets.columns import Columns
from analysis.datasets.rows import table_of
from analysis.datasets.table import Table
from analysis.runs.opened import Run
from analysis.runs.traces import traces_of
from analysis.survival.answers import of_run, of_table, signal_of_run
from analysis.survival.labelled import TOKENS, LabelledUnits, LevelName, Signal
from analysis.survival.ladder import Ladder, ladder_of
from analysis.survival.token_tables import TOKEN_COLUMNS, of_token_table
from analysis.survival.tokens import tokens_of_run
from rauq.errors import InvalidInput
from rauq.methods.method import Method


def survive(
    source: Run | pd.DataFrame,
    signal: str | Method,
    *,
    level: LevelName = "answers",
    columns: Columns | None = None,
    seed: int = 0,
) -> Ladder:
    """What is left of a signal on labelled answers, or on their tokens, beyond simpler explanations and chance.

    `source`: a run, of which `signal` is the id of a method, or a method of the user's own; or a DataFrame of answers
    with verdicts, of which `signal` is a column of numbers, higher where the answer is expected to be incorrect, and
    `columns` says which columns hold what (default: their names tell). ROC-AUC with 95 % intervals by question.

    `level="tokens"`: the tokens of each answer are compared, by `collapse`, `probability`, `entropy` or
    `selected` of a run, or by a column of a DataFrame with a row for each token (`analysis.survival.token_tables`).

    Raises:
        InvalidInput: no such method or column, no verdicts, or fewer than 20 answers with a signal and a verdict.
        RunError: the run's traces are needed and cannot be read.

    Example:
        >>> run = analysis.open_run(analysis.bundled_folder())
        >>> analysis.survive(run, "msp").survives
        True
    """
    labelled, (found,) = labelled_signals(source, [signal], level=level, columns=columns)
    return ladder_of(labelled, found, seed=seed)


def labelled_signals(
    source: Run | pd.DataFrame,
    signals: Sequence[str | Method],
    *,
    level: LevelName = "answers",
    columns: Columns | None = None,
) -> tuple[LabelledUnits, list[Signal]]:
    """The answers or tokens with a verdict, and each of the signals of these.

    Raises:
        InvalidInput, RunError: as `survive`.
    """
    if level == TOKENS.name or isinstance(source, Run):
        _check_columns(columns, source)
    if isinstance(source, Run):
        return _signals_of_tokens(source, signals) if level == TOKENS.name else _signals_of_answers(source, signals)
    if own := _own_methods(signals):
        message = f"A table has no traces to compute {own[0]} on. Name a column of numbers, or give a run."
        raise InvalidInput(message)
    return signals_of_table(table_of(source, "data frame"), list(map(str, signals)), level=level, columns=columns)


def signals_of_table(
    table: Table, signals: Sequence[str], *, level: LevelName = "answers", columns: Columns | None = None
) -> tuple[LabelledUnits, list[Signal]]:
    """The judged rows of a table of answers or of tokens, and some of its columns as signals.

    Raises:
        InvalidInput: as `of_table` and `of_token_table`.
    """
    if level != TOKENS.name:
        return of_table(table, signals, columns)
    _check_columns(columns, table)
    return of_token_table(table, signals)


def _check_columns(columns: Columns | None, source: Run | Table | pd.DataFrame) -> None:
    if columns is not None:
        what = "A run has its own columns" if isinstance(source, Run) else f"The columns of tokens are {TOKEN_COLUMNS}"
        message = f"{what}: leave `columns` out."
        raise InvalidInput(message)


def _own_methods(signals: Sequence[str | Method]) -> list[str]:
    return [signal.id for signal in signals if isinstance(signal, Method)]


def _signals_of_answers(run: Run, signals: Sequence[str | Method]) -> tuple[LabelledUnits, list[Signal]]:
    labelled, rows = of_run(run)
    return labelled, [_of_run(run, signal, rows) for signal in signals]


def _signals_of_tokens(run: Run, signals: Sequence[str | Method]) -> tuple[LabelledUnits, list[Signal]]:
    if own := _own_methods(signals):
        message = f"{own[0]} gives a number of an answer, and tokens are judged. Leave the level out."
        raise InvalidInput(message)
    found = tokens_of_run(run)
    return found.given, [found.signal(str(name)) for name in signals]


def _of_run(run: Run, signal: str | Method, rows: np.ndarray) -> Signal:
    return signal_of_run(run, signal, rows) if isinstance(signal, str) else _own(run, signal, rows)


def _own(run: Run, method: Method, rows: np.ndarray) -> Signal:
    """A method of the user's own on the stored traces of a run (A,); nan where it gives no number."""
    traces = traces_of(run, rows.tolist())
    values = [float(rauq.evaluate(trace, [method])[method.id]) for trace in traces]
    return Signal(name=method.name, values=np.array(values, dtype=float), replaced={})
