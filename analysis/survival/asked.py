"""The ladder of a signal that a user names: a method of a run, or a column of a table."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

import rauq
from analysis.datasets.columns import Columns
from analysis.datasets.rows import table_of
from analysis.runs.opened import Run
from analysis.runs.traces import traces_of
from analysis.survival.labelled import LabelledAnswers, Signal, of_run, of_table, signal_of_run
from analysis.survival.ladder import Ladder, ladder_of
from rauq.errors import InvalidInput
from rauq.methods.method import Method


def survive(
    source: Run | pd.DataFrame, signal: str | Method, *, columns: Columns | None = None, seed: int = 0
) -> Ladder:
    """What is left of a signal on labelled answers beyond words, length, group and chance.

    `source`: a run, of which `signal` is the id of a method, or a method of the user's own; or a DataFrame of answers
    with verdicts, of which `signal` is a column of numbers, higher where the answer is expected to be incorrect, and
    `columns` says which columns hold what (default: their names tell). ROC-AUC with 95 % intervals by question.

    Raises:
        InvalidInput: no such method or column, no verdicts, or fewer than 20 answers with a signal and a verdict.
        RunError: the run's traces are needed and cannot be read.

    Example:
        >>> run = analysis.open_run(analysis.bundled_folder())
        >>> analysis.survive(run, "msp").survives
        True
    """
    labelled, (found,) = labelled_signals(source, [signal], columns=columns)
    return ladder_of(labelled, found, seed=seed)


def labelled_signals(
    source: Run | pd.DataFrame, signals: Sequence[str | Method], *, columns: Columns | None = None
) -> tuple[LabelledAnswers, list[Signal]]:
    """The answers with a verdict, and each of the signals of these.

    Raises:
        InvalidInput, RunError: as `survive`.
    """
    if isinstance(source, Run):
        if columns is not None:
            message = "A run has its own columns: leave `columns` out, or give a DataFrame."
            raise InvalidInput(message)
        labelled, rows = of_run(source)
        return labelled, [_of_run(source, signal, rows) for signal in signals]
    if own := [signal.id for signal in signals if isinstance(signal, Method)]:
        message = f"A table has no traces to compute {own[0]} on. Name a column of numbers, or give a run."
        raise InvalidInput(message)
    return of_table(table_of(source, "data frame"), list(map(str, signals)), columns)


def _of_run(run: Run, signal: str | Method, rows: np.ndarray) -> Signal:
    return signal_of_run(run, signal, rows) if isinstance(signal, str) else _own(run, signal, rows)


def _own(run: Run, method: Method, rows: np.ndarray) -> Signal:
    """A method of the user's own on the stored traces of a run (A,); nan where it gives no number."""
    traces = traces_of(run, rows.tolist())
    values = [float(rauq.evaluate(trace, [method])[method.id]) for trace in traces]
    return Signal(name=method.name, values=np.array(values, dtype=float), replaced={})
