"""Reports as files: tables as CSV and LaTeX, figures as SVG and PNG.

That of a run is a page too, which opens offline; that of supervised methods has the record that the app shows.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from analysis.answer_sets.outcomes import outcomes, outcomes_in_words
from analysis.answer_sets.sentences import joined
from analysis.detectors.evaluation.results import Evaluation, SplitTable, write_evaluation
from analysis.detectors.evaluation.tables import (
    SPLIT_NAMES,
    about_evaluation,
    best_of_columns,
    dropped_note,
    figure_caption,
    leak_caption,
    leak_table,
    paper_table,
    split_sentence,
    table_caption,
    tidy_table,
    undefined_sentence,
)
from analysis.detectors.figures import supervised_chart
from analysis.exports.csv_text import csv_table
from analysis.exports.page import Chart, chart, own, policy, template, write_table, write_text, writing_to
from analysis.exports.pictures import write_pictures
from analysis.exports.tables import Table, alignments, headings, rows_of_cells
from analysis.methods.comparison import Metric
from analysis.one_answer.figures import Drawing
from analysis.quality.unclear import about_unclear
from analysis.report.results import ReportSettings, Results, results
from analysis.report.tables import answers_frame, published_table, report_tables
from analysis.runs.manifest import SUPERVISED
from analysis.runs.methods import about_unknown_methods
from analysis.runs.opened import Run, about_machines, about_sample
from analysis.runs.verdicts import about_corrections
from analysis.stats import METRICS
from analysis.views.methods import RANKING
from rauq.labels import about_weights, running

_PAGE = Path(__file__).parent / "index.html"


@dataclass(frozen=True)
class Written:
    """Where the page of a report is, and in one line what could not be written; "" where all was."""

    page: Path
    missing: str


def write_report(run: Run, out: Path, settings: ReportSettings | None = None) -> Written:
    """Write the report of a run into the folder `out`, over an earlier one: index.html, tables, figures.

    Raises:
        InvalidInput: a run without answers, or a layer without attention.
        RunError: a shard can no longer be read, or the report cannot be written.
    """
    found = results(run, settings or ReportSettings())
    note = about_unclear(int(run.answers["unclear"].sum()))
    tables = (*_noted(note, report_tables(found)), published_table())
    figures = [one._replace(caption=joined(one.caption, note)) for one in found.drawings]
    charts = [chart(drawing, dark=False, first=index == 0) for index, drawing in enumerate(figures)]
    with writing_to(out):
        write_text(out / "index.html", report_page(found, tables, charts))
        write_text(out / "tables" / "answers.csv", csv_table(answers_frame(found)))
        for table in tables:
            write_table(table, out / "tables")
        missing = write_pictures(figures, out / "figures")
    return Written(out / "index.html", missing)


def _noted(note: str, tables: Iterable[Table]) -> Iterator[Table]:
    """The tables, each with the note in its caption."""
    return (table._replace(caption=joined(table.caption, note)) for table in tables)


def report_page(found: Results, tables: Sequence[Table], charts: Sequence[Chart]) -> str:
    """The page as HTML, with styles, scripts and figures in it; every text is escaped."""
    script = own("report.js")
    return template(_PAGE).render(
        policy=policy((*(one.html for one in charts), f"<script>{script}</script>")),
        style=own("report.css"),
        script=script,
        run=found.run,
        overview=_overview(found),
        charts=charts,
        tables=tables,
        facts=_facts(found),
        headings=headings,
        alignments=alignments,
        rows_of_cells=rows_of_cells,
        running=running,
    )


def _overview(found: Results) -> str:
    run, request = found.run, found.run.manifest.request
    failed = f", {len(run.failures):,} failed" if len(run.failures) else ""
    in_all = len(run.answers) if run.whole is None else run.whole[0]
    missing = request.count - in_all - len(run.failures)
    rest = f", {missing:,} not answered yet" if missing else ""
    answers = f"{in_all:,} answers to {request.count:,} examples of {running(request.data)}{failed}{rest}."
    judged = f"{outcomes_in_words(outcomes(run.answers, found.thresholds))}."
    bounds = map(RANKING.bounds, found.of(RANKING))
    unread = (about_unclear(int(run.answers["unclear"].sum())), *bounds)
    notes = (about_sample(run), about_corrections(run), about_machines(run), about_unknown_methods(request))
    return " ".join(filter(None, (answers, running(judged), *unread, *notes)))


def _facts(found: Results) -> tuple[tuple[str, str], ...]:
    answerer, request, settings = found.run.answerer, found.run.manifest.request, found.settings
    weights = about_weights(answerer.quantisation, answerer.dtype, answerer.adapter, answerer.engine)
    return (
        ("model", answerer.name),
        ("revision", answerer.revision),
        ("kind", answerer.kind),
        *((("weights", weights),) if weights else ()),
        ("layers", f"{answerer.num_layers}, {len(answerer.layers)} of them with attention, {answerer.num_heads} heads"),
        ("data set", request.data),
        ("its sha256", request.data_sha256),
        (
            "quality",
            f"own function {measure.name}" if (measure := request.own_quality) else request.quality,
        ),
        ("verdicts corrected by hand", f"{found.run.answers['corrected'].sum():,}"),
        ("alignment", settings.alignment),
        ("tokens", settings.tokens),
        ("seed", str(settings.seed)),
        ("answered", found.run.manifest.created),
    )


def write_supervised(evaluation: Evaluation, out: Path) -> str:
    """Write all of it into the folder `out`; without the means to write pictures, return a line that says why.

    Raises:
        RunError: it cannot be written.
    """
    with writing_to(out, what="tables"):
        out.mkdir(parents=True, exist_ok=True)
        write_evaluation(out / SUPERVISED, evaluation)
        for one in evaluation.tables:
            if one.rows:
                _write_split(one, out)
        everything = pd.concat([tidy_table(table) for table in evaluation.tables], ignore_index=True)
        write_text(out / "supervised.csv", csv_table(everything))
        return write_pictures([_drawing(evaluation, metric) for metric in ("prr", "roc_auc")], out)


def _write_split(split: SplitTable, out: Path) -> None:
    in_papers_layout, leaks = split_files(split)
    write_table(in_papers_layout, out, marks=best_of_columns(split))
    write_table(leaks, out)


def split_files(table: SplitTable) -> tuple[Table, Table]:
    """The table in the paper's layout, and the control of text leaks."""
    name, where = f"supervised_{table.split}_{table.metric}", f"{SPLIT_NAMES[table.split]}, {METRICS[table.metric]}"
    caption = joined(table_caption(table), undefined_sentence(table), dropped_note(table))
    return (
        Table(name, f"Supervised methods, {where}", caption, paper_table(table)),
        Table(f"{name}_leaks", f"Control of text leaks, {where}", leak_caption(table.metric), leak_table(table)),
    )


def _drawing(evaluation: Evaluation, metric: Metric) -> Drawing:
    figure = supervised_chart(evaluation.of_metric(metric))
    return Drawing(f"supervised_{metric}", f"Supervised methods by {METRICS[metric]}", figure_caption(metric), figure)


def in_lines(evaluation: Evaluation, metric: Metric = "prr") -> list[str]:
    """What was found, in sentences: what was used, and for each split the result and what is undefined."""
    return [
        about_evaluation(evaluation),
        *(
            joined(split_sentence(table), undefined_sentence(table), dropped_note(table))
            for table in evaluation.of_metric(metric)
        ),
    ]
