"""How well every method ranks, the best on top: a dot and its interval each."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from analysis.estimate import Estimate
from analysis.figures.interval_rows import Row, interval_rows
from analysis.figures.style import ATTENTION, UNCERTAINTY
from analysis.methods.comparison import RAUQ
from analysis.methods.names import name_of
from analysis.methods.ranking import Metric
from analysis.metrics import METRICS

_CHANCE = {"prr": 0.0, "roc_auc": 0.5}


def method_intervals(
    methods: Sequence[str], estimates: Sequence[Estimate], *, metric: Metric, dark: bool = False
) -> go.Figure:
    """The estimates (M,) of the methods, by id, in one group or as means; RAUQ stands out, chance is marked.

    A method whose estimate is undefined has no row.
    """
    order = np.argsort([-found.value for found in estimates], kind="stable")
    rows = [_row(methods[place], estimates[place]) for place in order if not np.isnan(estimates[place].value)]
    reason = next((found.reason for found in estimates), "no method was chosen")
    return interval_rows(rows, title=METRICS[metric], reference=_CHANCE[metric], reason=reason, dark=dark)


def _row(method: str, found: Estimate) -> Row:
    if method == RAUQ:
        return Row(name_of(method), found, UNCERTAINTY, symbol="diamond", bold=True)
    return Row(name_of(method), found, ATTENTION)
