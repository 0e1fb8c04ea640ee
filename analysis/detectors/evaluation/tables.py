"""The tables of detectors: in the paper's layout, the control of text leaks, and every number for a file.

And what they say: a sentence for each split, captions, and notes on what is undefined.
"""

import math
from types import MappingProxyType

import numpy as np
import pandas as pd

from analysis.answer_sets.sentences import joined
from analysis.detectors.evaluation.held_out import Split
from analysis.detectors.evaluation.results import ALL_ANSWERS, MEAN, TEXT, Evaluation, Row, SplitTable
from analysis.methods.comparison import RAUQ, Metric, marks, name_of
from analysis.stats import METRICS, SMALLEST, Estimate, in_words, is_slight, sign_of
from rauq.labels import number, running

MARK = "†"
SPLIT_NAMES = MappingProxyType[Split, str](
    {"in_domain": "in-domain", "out_of_domain": "out-of-domain", "family_out": "families left out"}
)
_HOW = MappingProxyType[Split, str](
    {
        "in_domain": "Five folds by question within each data set.",
        "out_of_domain": "Each data set is scored by fits on all others.",
        "family_out": "Each family is scored by fits on the other families.",
    }
)


def plain_name(row: Row) -> str:
    """The name of a row for a reader."""
    return "Text classifier" if row.id == TEXT else name_of(row.id)


def row_names(table: SplitTable) -> list[str]:
    """The names of all rows, marked where one is not significantly better than the text classifier."""
    return [_marked_name(row, marked=table.is_marked(row)) for row in table.rows]


def _marked_name(row: Row, *, marked: bool) -> str:
    """The name of a row, with or without the mark."""
    return f"{plain_name(row)} {MARK}" if marked else plain_name(row)


def split_title(split: Split) -> str:
    """The name of a split as a heading."""
    return SPLIT_NAMES[split].capitalize()


def split_sentence(table: SplitTable) -> str:
    """Which detector is first under a split, and which do not rank better than the text classifier."""
    return f"{split_headline(table)}. {split_details(table)}"


def split_headline(table: SplitTable) -> str:
    """Which detector is first, in names and numbers alone."""
    if not (ranked := _ranked(table)):
        return f"{split_title(table.split)}: {'undefined' if table.reason else 'no detector is ranked'}"
    place = _place(table)
    best = max(ranked, key=lambda row: row.estimates[place].value)
    where = {MEAN: "mean {}", ALL_ANSWERS: "{} of all answers that it scores"}.get(table.columns[place], "{}")
    return (
        f"{split_title(table.split)}: {plain_name(best)} is first of {len(ranked)} detectors by "
        f"{where.format(METRICS[table.metric])}, {in_words(best.estimates[place])}"
    )


def split_details(table: SplitTable) -> str:
    """The text classifier and RAUQ beside the best detector, and which detectors the text explains; or why none is."""
    if not (ranked := _ranked(table)):
        reasons = (row.estimates[-1].reason for row in table.detectors)
        reason = table.reason or next(reasons, "no method was asked for")
        return f"{reason[:1].upper()}{reason[1:].removesuffix('.')}."
    place = _place(table)
    best = max(ranked, key=lambda row: row.estimates[place].value)
    text, rauq = (_value(table, method, place) for method in (TEXT, RAUQ))
    return joined(
        f"Text classifier {text}, RAUQ {rauq}{_against(best.minus_rauq[place])}.", _marked_sentence(table, ranked)
    )


def _place(table: SplitTable) -> int:
    """The column that sentences are about: the mean, or all answers where no detector is ranked in the mean."""
    detectors = table.detectors
    ranked = (place for place in table.main_columns if any(_is_ranked(row, place) for row in detectors))
    return next(ranked, len(table.columns) - 1)


def _is_ranked(row: Row, place: int) -> bool:
    return not math.isnan(row.estimates[place].value)


def _ranked(table: SplitTable) -> list[Row]:
    place = _place(table)
    return [row for row in table.detectors if _is_ranked(row, place)]


def _value(table: SplitTable, method: str, place: int) -> str:
    row = table.row(method)
    return "–" if row is None else number(row.estimates[place].value, places=2)


def _against(difference: Estimate) -> str:
    """How the best detector compares with RAUQ, in brackets; "" where that is undefined or has no interval."""
    if difference.reason or difference.no_interval:
        return ""
    if is_slight(difference):
        return f" (less than {SMALLEST:g} apart)"
    sides = {1: " (significantly lower)", -1: " (significantly higher)", 0: " (no significant difference)"}
    return sides[sign_of(difference)]


def _marked_sentence(table: SplitTable, ranked: list[Row]) -> str:
    marked = [plain_name(row) for row in ranked if table.is_marked(row)]
    if not marked:
        return "Each ranks significantly better than the text classifier."
    return f"Not significantly better than the text classifier ({MARK}): {', '.join(marked)}."


def undefined_sentence(table: SplitTable) -> str:
    """Which rows have no value in the last column, and why."""
    undefined = [row for row in table.rows if math.isnan(row.estimates[-1].value)]
    said = (f"{plain_name(row)}: {row.estimates[-1].reason.removesuffix('.')}" for row in undefined)
    return f"Undefined (–): {'; '.join(said)}." if undefined else ""


def table_caption(table: SplitTable) -> str:
    """How the answers of a split are scored, and what the mark means."""
    return (
        f"{METRICS[table.metric]} on answers whose question no fit has seen. {_HOW[table.split]} {MARK}: in the mean "
        "or over all answers not significantly better than logistic regression on the text (95 % intervals). "
        "Settings are searched on the first fold."
    )


def leak_caption(metric: Metric) -> str:
    """What the control of text leaks shows."""
    chance = "0" if metric == "prr" else "0.5"
    return (
        f"Detector minus text classifier and minus RAUQ, paired; {MARK}: the first 95 % interval is not above 0. "
        f"Shuffled labels: the same detector fitted on labels in random order, {chance} expected. Intervals leave out "
        "variation between fits."
    )


def figure_caption(metric: Metric) -> str:
    """What the figure shows."""
    scale = "1 is the best ranking, 0 random" if metric == "prr" else "0.5 is random"
    return (
        f"{METRICS[metric]} ({scale}) on answers that no fit has seen, with 95 % intervals by question. Filled blue: "
        "significantly better than the text classifier; hollow: not. Diamond: RAUQ, which is not fitted."
    )


def about_evaluation(evaluation: Evaluation) -> str:
    """Which answers of which model were used."""
    used = ", ".join(f"{running(run.data)} ({run.answers:,})" for run in evaluation.runs)
    grids = "full" if evaluation.full else "reduced"
    return (
        f"{running(evaluation.model)}, answers to {used}. Correct: quality above {evaluation.threshold:g}. "
        f"Search: {grids} grids. Seed {evaluation.seed}."
    )


def dropped_note(table: SplitTable) -> str:
    """How many training answers are left out since their question is scored too; "" where none is."""
    if not table.dropped:
        return ""
    return f"{table.dropped:,} training answers are left out: their question is asked in the scored data set too."


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
                "detector": _marked_name(row, marked=row.is_marked_at(place)),
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


def _cell(estimate: Estimate) -> str:
    return "–" if estimate.reason else in_words(estimate)


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
                **one.missing,
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
