"""The figure of supervised detectors beside the text classifier, RAUQ and MSP."""

from collections.abc import Sequence

import plotly.graph_objects as go

from analysis.detectors.evaluation.results import TEXT, SplitTable
from analysis.detectors.evaluation.results import Row as Ranked
from analysis.detectors.evaluation.sentences import SPLIT_NAMES, plain_name
from analysis.figures import ATTENTION, QUIET, UNCERTAINTY, Row, interval_panels
from analysis.methods.comparison import RAUQ
from analysis.stats import METRICS

_CHANCE = {"prr": 0.0, "roc_auc": 0.5}
_LOOKS = {TEXT: (QUIET, "square"), RAUQ: (UNCERTAINTY, "diamond")}


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
