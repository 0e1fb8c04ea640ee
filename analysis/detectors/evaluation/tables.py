"""The tables of detectors: in the paper's layout, the control of text leaks, and every number for a file."""

import numpy as np
import pandas as pd

from analysis.detectors.evaluation.results import Row, SplitTable
from analysis.detectors.evaluation.sentences import marked_name, plain_name, row_names
from analysis.methods.comparison import marks
from analysis.stats import METRICS, Estimate, in_words


def paper_table(table: SplitTable) -> pd.DataFrame:
    """A row for each method and a column for each data set or family, then their mean (paper, tables 18 and 19)."""
    method, *names = _different(("method", *table.columns))
    columns = {name: [row.estimates[place].value for row in table.rows] for place, name in enumerate(names)}
    return pd.DataFrame({method: row_names(table), **columns})


def best_of_columns(table: SplitTable) -> np.ndarray:
    """Marks (rows, 1 + columns) of the cells of `paper_table`: 1 the best of a column, 2 the second, else 0."""
    columns = [marks([row.estimates[place] for row in table.rows]) for place in range(len(table.columns))]
    return np.column_stack([np.zeros(len(table.rows), dtype=int), *columns])


def _different(names: tuple[str, ...]) -> list[str]:
    """The names, with a number behind one that was there before: the columns of a frame have different ones."""
    return [
        name if name not in names[:place] else f"{name} ({names[: place + 1].count(name)})"
        for place, name in enumerate(names)
    ]


def leak_table(table: SplitTable) -> pd.DataFrame:
    """What stands for the split, a row for each detector: beside the text classifier, RAUQ and shuffled labels."""
    return pd.DataFrame(
        [
            {
                "detector": marked_name(row, marked=row.is_marked_at(place)),
                "over": table.columns[place],
                METRICS[table.metric]: _cell(row.estimates[place]),
                "minus text classifier": _cell(row.minus_text[place]),
                "minus RAUQ": _cell(row.minus_rauq[place]),
                "shuffled labels": _cell(row.shuffled[place]),
                "answers": row.estimates[place].n,
                "settings": row.settings,
            }
            for place in table.main_columns
            for row in table.detectors
        ]
    )


def _cell(found: Estimate) -> str:
    return "–" if found.reason else in_words(found)


def tidy_table(table: SplitTable) -> pd.DataFrame:
    """A row for each method, column and kind of number, with its interval, in full; or one row that says why not."""
    if table.reason:
        return pd.DataFrame([{"split": table.split, "metric": table.metric, "undefined": table.reason}])
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
                "marked": row.is_marked_at(place),
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
