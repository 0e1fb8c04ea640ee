"""The tables of a run's report."""

import pandas as pd

from analysis import paper
from analysis.answer_sets import tables as answer_set_tables
from analysis.answer_sets.sides import groups_note
from analysis.exports.tables import Table
from analysis.methods import sentences
from analysis.report.results import Results
from analysis.stats import METRICS

_OF_ANSWERS = [
    *("number", "id", "group", "stratum", "error_label", "prompt", "answer", "quality", "quality_reason"),
    *("unclear", "measured_quality", "corrected"),
    *("num_tokens", "num_fact_tokens", "stop_reason"),
]


def report_tables(results: Results) -> tuple[Table, ...]:
    """All tables of a report that are shown."""
    run, limits = results.run, results.thresholds
    failed = [run.examples[number].group for number in run.failures["number"]]
    summary = Table(
        "summary",
        "Answers",
        f"Correct: quality above {limits.correct:g}; incorrect: below {limits.incorrect:g}. "
        f"{groups_note(run.answers['group'])}".rstrip(),
        answer_set_tables.summary_table(run.answers, failed, limits),
    )
    return summary, *(table for reported in results.reported for table in reported.tables)


def answers_frame(results: Results) -> pd.DataFrame:
    """A row for each answer, with its texts, and with what methods gave that this version does not have."""
    return results.run.answers[[*_OF_ANSWERS, *results.run.reasons]]


_MOST_SHOWN = 20


def published_table() -> Table:
    """The paper's methods by task, of each of its models."""
    shown = [table for table in paper.published_tables() if table.topic == "methods by task"]
    frames = [
        paper.published(one.table, one.model)
        .drop(columns="method")
        .rename(columns={"published": "method"})
        .assign(model=one.model, metric=METRICS[one.metric])
        .set_index(["model", "metric"])
        for one in shown
    ]
    return Table(
        "published",
        "Published numbers",
        sentences.published_note(),
        pd.concat(frames).reset_index(),
        rows=_MOST_SHOWN,
    )
