"""Cells of a table as a reader sees them, in LaTeX and in HTML alike."""

import math

import pandas as pd

from rauq.labels import number, running

_NAMES = {"prr": "PRR", "roc_auc": "ROC-AUC"}
_COARSE = ("percent", "tokens")  # one place is enough


def headings(table: pd.DataFrame) -> list[str]:
    """The names of the columns in words."""
    return [_heading(str(name)) for name in table]


def rows_of_cells(table: pd.DataFrame) -> list[list[str]]:
    """Every cell as text; a dash stands for what is undefined, and unseen characters are drawn."""
    places = [1 if any(word in str(name) for word in _COARSE) else 3 for name in table]
    return [
        [_cell(value, digits) for value, digits in zip(row, places, strict=True)]
        for row in table.itertuples(index=False)
    ]


def columns_of_text(table: pd.DataFrame) -> list[bool]:
    """Which columns hold texts, to be set from the left; numbers are set from the right."""
    return [table[name].map(lambda value: isinstance(value, str)).any() for name in table]


def _heading(name: str) -> str:
    for known, words in _NAMES.items():
        if name.startswith(known):
            return f"{words}{name.removeprefix(known).replace('_', ' ')}"
    return name.replace("_", " ") if name.isidentifier() else running(name)  # it may hold the name of a group


def _cell(value: object, places: int) -> str:
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return "–"
    return number(value, places=places) if isinstance(value, float) else running(str(value))
