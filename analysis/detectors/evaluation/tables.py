"""The tables of detectors: in the paper's layout, the control of text leaks, and every number for a file."""

import pandas as pd

from analysis.detectors.evaluation.results import Row, SplitTable
from analysis.detectors.evaluation.sentences import plain_name, row_name
from analysis.stats import Estimate, in_words


def paper_table(table: SplitTable) -> pd.DataFrame:
    """A row for each method and a column for each data set or family, then their mean (paper, tables 18 and 19)."""
    method, *names = _different(("method", *table.columns))
    columns = {name: [row.estimates[place].value for row in table.rows] for place, name in enumerate(names)}
    return pd.DataFrame({method: [row_name(row) for row in table.rows], **columns})


def _different(names: tuple[str, ...]) -> list[str]:
    """The names, with a number behind one that was there before: the columns of a frame have different ones."""
    return [
        name if name not in names[:place] else f"{name} ({names[: place + 1].count(name)})"
        for place, name in enumerate(names)
    ]


LEAK_COLUMNS = ("detector", "value", "minus text classifier", "minus RAUQ", "shuffled labels", "answers", "settings")


def leak_table(table: SplitTable) -> pd.DataFrame:
    """A row for each detector: the last column beside the text classifier, RAUQ and shuffled labels, in words."""
    return pd.DataFrame([_leak_row(row) for row in table.detectors], columns=list(LEAK_COLUMNS))


def _leak_row(row: Row) -> dict[str, object]:
    last = (row.estimates[-1], row.minus_text[-1], row.minus_rauq[-1], row.shuffled[-1])
    cells = (row_name(row), *map(_cell, last), row.estimates[-1].n, row.settings)
    return dict(zip(LEAK_COLUMNS, cells, strict=True))


def _cell(found: Estimate) -> str:
    return "–" if found.reason else in_words(found)


def tidy_table(table: SplitTable) -> pd.DataFrame:
    """A row for each method, column and kind of number, with its interval, in full."""
    return pd.DataFrame(
        [
            {
                "split": table.split,
                "metric": table.metric,
                "method": plain_name(row),
                "column": table.columns[place],
                "number": kind,
                "value": one.value,
                "low": one.low,
                "high": one.high,
                "answers": one.n,
                "excluded": one.excluded,
                "marked": row.is_marked,
                "undefined": one.reason,
            }
            for row in table.rows
            for kind, own in _kinds(row).items()
            for place, one in enumerate(own)
        ]
    )


def _kinds(row: Row) -> dict[str, tuple[Estimate, ...]]:
    return {
        "estimate": row.estimates,
        "minus text classifier": row.minus_text,
        "minus RAUQ": row.minus_rauq,
        "shuffled labels": row.shuffled,
    }
