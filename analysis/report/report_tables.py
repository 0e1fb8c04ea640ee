"""The tables of a run's report, as they are written to files and shown on its page."""

from typing import NamedTuple

import pandas as pd

from analysis import tables
from analysis.answer_sets.groups import groups_note
from analysis.exports.numbers import as_text
from analysis.report.results import Results
from analysis.runs.shard import OFFSETS

_MOST_SHOWN = 10
_OF_ANSWERS = [
    *("number", "id", "group", "stratum", "error_label", "prompt", "answer", "quality", "quality_reason"),
    *("measured_quality", "corrected"),
    *("num_tokens", "num_fact_tokens", "stop_reason"),
]


class Table(NamedTuple):
    """A table and its words; `name` is that of its files. The page shows the first `rows` rows."""

    name: str
    heading: str
    caption: str
    frame: pd.DataFrame
    rows: int | None = None

    @property
    def shown(self) -> pd.DataFrame:
        """What the page and LaTeX show of it; where all is defined, no column says why not."""
        shown = self.frame.head(self.rows) if self.rows else self.frame
        return shown if shown.get("undefined", pd.Series(["-"])).any() else shown.drop(columns="undefined")


def report_tables(found: Results) -> tuple[Table, ...]:
    """All tables of a report that are shown."""
    run, layers = found.run, found.run.answerer.layers
    failed = [run.examples[number].group for number in run.failures["number"]]
    limits, brackets = found.thresholds, "Low and high are the ends of 95 % bootstrap intervals."
    return (
        Table(
            "summary",
            "Answers",
            f"Correct: quality above {limits.correct:g}; incorrect: below {limits.incorrect:g}. "
            f"{groups_note(run.answers['group'])}".rstrip(),
            tables.summary_table(run.answers, failed, limits),
        ),
        Table(
            "picked_heads",
            "Picked heads",
            "The most frequent heads of each layer, and the percent of answers that pick them.",
            tables.picked_heads_table(found.picked),
        ),
        Table(
            "agreement",
            "Picked heads across groups",
            "The most frequent head of all answers, and the percent of each group that picks it.",
            tables.agreement_table(found.agreement),
        ),
        Table(
            "gaps",
            "Correct and incorrect, every layer",
            f"Percent is of the mean of incorrect answers. {brackets}",
            tables.gap_table(found.gaps, layers, name="layer"),
        ),
        Table(
            "offsets",
            f"More preceding tokens, layer {found.layer}",
            f"The 1st to 6th preceding token. {brackets}",
            tables.gap_table(found.offset_gaps, OFFSETS, name="preceding token"),
        ),
        Table(
            "separation",
            "Heads that separate best",
            f"The first {_MOST_SHOWN} of all heads.",
            tables.separation_table(found.separation, layers),
            rows=_MOST_SHOWN,
        ),
    )


def answers_frame(found: Results) -> pd.DataFrame:
    """A row for each answer, with its texts, and with what methods gave that this version does not have."""
    return found.run.answers[[*_OF_ANSWERS, *found.run.reasons]]


def csv_table(frame: pd.DataFrame) -> str:
    """A frame as CSV, numbers in full; no text is taken for a formula."""
    harmless = frame.map(_cell).astype(frame.dtypes)
    # Lines end in both characters, since only what ends a line is quoted where it stands in a cell.
    written: str = harmless.rename(columns=_cell).to_csv(index=False, lineterminator="\r\n")
    return written


def _cell(value: object) -> object:
    return as_text(value) if isinstance(value, str) else value
