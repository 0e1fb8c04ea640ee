"""The figures of detectors: of all heads beside words and RAUQ, and of supervised methods beside text."""

from collections.abc import Sequence

import plotly.graph_objects as go

from analysis.detectors.comparison import HEADS, HEADS_RAUQ, NAMES, RAUQ, SPLITS, Detectors
from analysis.detectors.comparison import SPLIT_NAMES as UNSEEN
from analysis.detectors.evaluation.results import TEXT, SplitTable
from analysis.detectors.evaluation.results import Row as Ranked
from analysis.detectors.evaluation.tables import SPLIT_NAMES, plain_name
from analysis.figures import ATTENTION, QUIET, UNCERTAINTY, Row, interval_panels
from analysis.stats import METRICS

_LOOKS = {
    RAUQ: (UNCERTAINTY, "diamond"),
    HEADS: (ATTENTION, "circle"),
    HEADS_RAUQ: (ATTENTION, "circle"),
    TEXT: (QUIET, "square"),
}
_CHANCE = {"prr": 0.0, "roc_auc": 0.5}


def detectors_chart(detectors: Detectors, *, dark: bool = False) -> go.Figure:
    """PRR of each detector within groups, on unseen questions and on groups left out; the controls are grey."""
    over = "within" if detectors.num_groups > 1 else "all"
    panels = {
        UNSEEN[split]: [
            Row(
                words,
                getattr(detectors.judged[split][name], over),
                *_LOOKS.get(name, (QUIET, "circle-open")),
                bold=name == HEADS_RAUQ,
            )
            for name, words in NAMES.items()
        ]
        for split in SPLITS
        if split in detectors.judged
    }
    reason = next(filter(None, detectors.reasons.values()), "")
    title = "PRR within groups" if over == "within" else "PRR"
    figure = interval_panels(panels or {"": []}, title=title, reference=0.0, reason=reason, dark=dark)
    return figure.update_xaxes(matches="x")


def supervised_chart(tables: Sequence[SplitTable], *, dark: bool = False) -> go.Figure:
    """The last column of each table, by one metric: detectors no better than the text classifier are hollow."""
    drawn = [table for table in tables if table.rows]
    panels = {
        SPLIT_NAMES[table.split]: [_row(row, marked=table.is_marked(row)) for row in table.rows] for table in drawn
    }
    metric = tables[0].metric
    reason = next((table.reason for table in tables if table.reason), "no method was asked for")
    figure = interval_panels(
        panels or {"": []}, title=METRICS[metric], reference=_CHANCE[metric], reason=reason, dark=dark
    )
    return figure.update_xaxes(matches="x")


def _row(row: Ranked, *, marked: bool) -> Row:
    if not row.is_detector:
        return Row(plain_name(row), row.estimates[-1], *_LOOKS.get(row.id, (QUIET, "circle-open")))
    symbol = "circle-open" if marked else "circle"
    return Row(plain_name(row), row.estimates[-1], ATTENTION, symbol)
