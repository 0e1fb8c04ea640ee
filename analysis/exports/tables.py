"""A table with its words, and its cells as text: for pages, CSV and LaTeX."""

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from rauq.labels import amount, running

WITH_INTERVAL = ("", ", low", ", high", ", answers")
"""What the heading of an estimate ends in, in the columns of its value, its interval and its number of answers."""
_NAMES = {"prr": "PRR", "roc_auc": "ROC-AUC"}
_ENDS = (WITH_INTERVAL[:3], ("", "_low", "_high"))
_COARSE = ("percent", "tokens", "mean rank")  # one place is enough


def headings(table: pd.DataFrame) -> list[str]:
    """The names of the columns in words."""
    return [_heading(str(name)) for name in table]


def rows_of_cells(table: pd.DataFrame) -> list[list[str]]:
    """Every cell as text; a dash stands for what is undefined, and unseen characters are drawn."""
    places = list(map(_places, table))
    return [
        [_cell(value, digits) for value, digits in zip(row, places, strict=True)]
        for row in table.itertuples(index=False)
    ]


def in_brackets(table: pd.DataFrame) -> pd.DataFrame:
    """The table with each value and its interval in one cell, as "0.578 [0.372, 0.764]".

    Columns of an interval are those whose names end as `WITH_INTERVAL` says, or in _low and _high; numbers of answers
    go into the heading.
    """
    merged = {name: ends for name in table for ends in _ENDS if {f"{name}{end}" for end in ends} <= set(table)}
    parts = {f"{name}{end}" for name, ends in merged.items() for end in (*ends[1:], WITH_INTERVAL[3])}
    columns = [
        pd.Series(_cells_with_interval(table, name, merged[name]), name=_with_answers(table, name))
        if name in merged
        else table[name]
        for name in table
        if name not in parts
    ]
    return pd.concat(columns, axis="columns") if merged else table


def _cells_with_interval(table: pd.DataFrame, name: str, ends: Sequence[str]) -> list[str]:
    places = _places(name)
    return [
        _cell(value, places) + ("" if math.isnan(low) else f" [{_cell(low, places)}, {_cell(high, places)}]")
        for value, low, high in zip(*(table[f"{name}{end}"] for end in ends), strict=True)
    ]


def _with_answers(table: pd.DataFrame, name: str) -> str:
    """The heading with the number of answers, or the range of it where methods were ranked on different ones."""
    counts = table.get(f"{name}{WITH_INTERVAL[3]}")
    if counts is None:
        return name
    low, high = counts.min(), counts.max()
    return f"{name} (n = {low:,})" if low == high else f"{name} (n = {low:,} to {high:,})"


def _places(name: object) -> int:
    return 1 if any(word in str(name) for word in _COARSE) else 3


def columns_of_text(table: pd.DataFrame) -> list[bool]:
    """Which columns hold texts, to be set from the left; numbers are set from the right."""
    return [table[name].map(lambda value: isinstance(value, str)).any() for name in table]


def alignments(table: pd.DataFrame) -> list[str]:
    """The class of each column in HTML: words are set from the left, numbers from the right."""
    return ["words" if text else "number" for text in columns_of_text(table)]


def _heading(name: str) -> str:
    for known, words in _NAMES.items():
        if name.startswith(known):
            return f"{words}{name.removeprefix(known).replace('_', ' ')}"
    return name.replace("_", " ") if name.isidentifier() else running(name)  # it may hold the name of a group


def _cell(value: object, places: int) -> str:
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return "–"
    return amount(value, places=places) if isinstance(value, float) else running(str(value))


_SPECIAL = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "−": "$-$",
        "∞": r"$\infty$",
        "[": "{[}",  # at the start of a row these two would be read as an option of the line break above
        "*": "{*}",
        **{character: f"\\{character}" for character in "&%$#_{}"},
    }
)


_OF_MARKS = ("", "textbf: --rwrap;", "underline: --rwrap;")


def latex_table(table: pd.DataFrame, *, caption: str, label: str, marks: np.ndarray | None = None) -> str:
    """A table environment; floats have three places, and a dash stands for what is undefined. Texts are escaped.

    `marks` (rows, columns): cells with 1 are bold, those with 2 underlined.
    """
    cells = pd.DataFrame(rows_of_cells(table), columns=headings(table))
    shown = cells.style.hide(axis="index").format(latex_text).format_index(latex_text, axis="columns")
    if marks is not None:
        shown = shown.apply(lambda _: np.array(_OF_MARKS, dtype=object)[marks], axis=None)
    return shown.to_latex(
        column_format="".join("l" if text else "r" for text in columns_of_text(table)),
        position_float="centering",
        hrules=True,
        caption=latex_text(caption),
        label=f"tab:{label}",
    )


def latex_text(text: str) -> str:
    """Any text as LaTeX that prints it; unseen characters are drawn."""
    # Written here, because pandas escapes no caption, and in cells neither < > − ∞ nor a [ or * that starts a row
    return running(text).translate(_SPECIAL)


_SAID = pd.Series(["-"])


class Table(NamedTuple):
    """A table and its words; `name` is that of its files. Pages and LaTeX show the first `rows` rows.

    `place`: whether the page shows it at once or in a section that is closed at first, or only saves it. `cells` are
    shown instead of the table itself, where they are given. `about`: what else there is to know, which a page shows
    when it is asked for.
    """

    name: str
    heading: str
    caption: str
    frame: pd.DataFrame
    rows: int | None = None
    place: Literal["open", "folded", "file"] = "open"
    cells: pd.DataFrame | None = None
    about: str = ""

    @property
    def words(self) -> str:
        """Its caption, and what else there is to know."""
        return f"{self.caption} {self.about}".strip()

    @property
    def shown(self) -> pd.DataFrame:
        """What the page and LaTeX show of it; where all is defined, no column says why not."""
        frame = self.frame if self.cells is None else self.cells
        shown = in_brackets(frame.head(self.rows) if self.rows else frame)
        return shown.drop(columns=[name for name in ("undefined", "no interval") if not shown.get(name, _SAID).any()])
