"""What came out of a run, as two tables in a terminal."""

import pandas as pd
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from analysis.answer_sets.groups import groups_note
from analysis.quality.judgement import Thresholds
from analysis.quality.measures import measure
from analysis.runs.choosing import about_unknown_methods
from analysis.runs.opened import Run
from analysis.runs.verdicts import about_corrections
from analysis.tables import ranking_table, strata_table, summary_table
from rauq.labels import number, running

_LEFT = ("method", "stratum")


def print_summary(console: Console, run: Run) -> None:
    """Print how many answers of each group are right, and how well each uncertainty ranks them, with 95 % intervals."""
    thresholds = measure(run.manifest.request.quality).thresholds
    failed = [run.examples[place].group for place in run.failures["number"]]
    console.print(_answers(summary_table(run.answers, failed, thresholds), thresholds))
    if len(strata := strata_table(run.answers, thresholds)):
        console.print(_strata(strata, thresholds))
    if run.answers["quality"].notna().any():
        ranked = ranking_table(run.answers, run.methods, thresholds)
        if len(ranked):
            console.print(_ranking(ranked))
    if unknown := about_unknown_methods(run.manifest.request):
        console.print(unknown, soft_wrap=True)
    if more := groups_note(run.answers["group"]):
        console.print(more)
    if corrected := about_corrections(run):
        console.print(corrected)
    for fault in run.faults:
        console.print(Text(running(fault)), soft_wrap=True)


def _answers(found: pd.DataFrame, thresholds: Thresholds) -> Table:
    table = _table("Answers", "group", "answers", "failed", "unjudged", "correct", "share", "tokens each")
    for row in found.to_dict("records"):
        unjudged = row["without quality"]
        judged = row["answers"] - unjudged
        counts = (str(count) for count in (row["answers"], row["failed"], unjudged, row["correct"]))
        share = row["correct"] / judged if judged else float("nan")
        table.add_row(_text(row["group"]), *counts, number(share), number(row["mean tokens"], places=1))
    table.caption = f"Correct: quality above {thresholds.correct:g}. Share: of the judged answers."
    return table


def _strata(found: pd.DataFrame, thresholds: Thresholds) -> Table:
    table = _table("By stratum", *found.columns)
    for group, stratum, answers, *cells in found.itertuples(index=False):
        table.add_row(_text(group), _text(stratum), str(answers), *(number(cell, places=2) for cell in cells))
    table.caption = f"Correct: quality above {thresholds.roc:g}. MSP in nats."
    return table


def _ranking(found: pd.DataFrame) -> Table:
    table = _table("How well each uncertainty ranks them", "group", "method", "PRR", "ROC-AUC")
    for row in found.to_dict("records"):
        cells = (_estimate(row, name) for name in ("prr", "roc_auc"))
        table.add_row(_text(row["group"]), _text(row["method"]), *cells)
    excluded = f" Left out, for want of a number: {found['excluded'].max()}." if found["excluded"].any() else ""
    reasons = dict.fromkeys(f" {reason}" for reason in found["undefined"] if reason)
    table.caption = _text("".join(("Brackets: 95 % bootstrap interval.", excluded, *reasons)))
    return table


def _table(title: str, *columns: str) -> Table:
    table = Table(
        title=title, title_justify="left", title_style="bold", caption_justify="left", caption_style="", box=box.SIMPLE
    )
    for place, name in enumerate(columns):
        table.add_column(name, justify="left" if place == 0 or name in _LEFT else "right", no_wrap=True)
    return table


def _estimate(row: dict[str, float], name: str) -> Text:
    value, low, high = (number(row[f"{name}{end}"], places=2) for end in ("", "_low", "_high"))
    return Text(f"{value} [{low}, {high}]")


def _text(value: str) -> Text:
    return Text(running(str(value)))
