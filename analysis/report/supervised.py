"""The evaluation of supervised methods as files: tables as CSV and LaTeX, the figure, and the record for the page."""

from pathlib import Path

import pandas as pd

from analysis.answer_sets.sentences import joined
from analysis.detectors.evaluation.figures import supervised_chart
from analysis.detectors.evaluation.results import Evaluation, SplitTable, write_evaluation
from analysis.detectors.evaluation.sentences import (
    SPLIT_NAMES,
    about_evaluation,
    dropped_note,
    figure_caption,
    leak_caption,
    split_sentence,
    table_caption,
    undefined_sentence,
)
from analysis.detectors.evaluation.tables import best_of_columns, leak_table, paper_table, tidy_table
from analysis.exports.csv_text import csv_table
from analysis.methods.comparison import Metric
from analysis.one_answer.figures import Drawing
from analysis.report.figures import write_pictures
from analysis.report.tables import Table, latex_table
from analysis.runs.manifest import SUPERVISED
from analysis.stats import METRICS
from rauq.errors import RunError


def write_supervised(found: Evaluation, out: Path) -> str:
    """Write all of it into the folder `out`; without the means to write pictures, return a line that says why.

    Raises:
        RunError: it cannot be written.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        write_evaluation(out / SUPERVISED, found)
        for one in found.tables:
            if one.rows:
                _write_split(one, out)
        everything = pd.concat([tidy_table(one) for one in found.tables], ignore_index=True)
        (out / "supervised.csv").write_text(csv_table(everything), encoding="utf-8", newline="")
        return write_pictures([_drawing(found, metric) for metric in ("prr", "roc_auc")], out)
    except OSError as error:
        message = (
            f"The tables cannot be written to {out} ({error.strerror or error}). Free disk space, or give another "
            "folder with --out."
        )
        raise RunError(message) from error


def _write_split(split: SplitTable, out: Path) -> None:
    in_papers_layout, leaks = split_files(split)
    for table, marks in ((in_papers_layout, best_of_columns(split)), (leaks, None)):
        (out / f"{table.name}.csv").write_text(csv_table(table.frame), encoding="utf-8", newline="")
        caption = f"{table.heading}. {table.caption}"
        latex = latex_table(table.frame, caption=caption, label=table.name, marks=marks)
        (out / f"{table.name}.tex").write_text(latex, encoding="utf-8")


def split_files(table: SplitTable) -> tuple[Table, Table]:
    """The table in the paper's layout, and the control of text leaks."""
    name, where = f"supervised_{table.split}_{table.metric}", f"{SPLIT_NAMES[table.split]}, {METRICS[table.metric]}"
    return (
        Table(name, f"Supervised methods, {where}", table_caption(table), paper_table(table)),
        Table(f"{name}_leaks", f"Control of text leaks, {where}", leak_caption(table.metric), leak_table(table)),
    )


def _drawing(found: Evaluation, metric: Metric) -> Drawing:
    figure = supervised_chart(found.of_metric(metric))
    return Drawing(f"supervised_{metric}", f"Supervised methods by {METRICS[metric]}", figure_caption(metric), figure)


def in_lines(found: Evaluation, metric: Metric = "prr") -> list[str]:
    """What was found, in sentences: what was used, and for each split the result and what is undefined."""
    return [
        about_evaluation(found),
        *(
            joined(split_sentence(table), undefined_sentence(table), dropped_note(table))
            for table in found.of_metric(metric)
        ),
    ]
