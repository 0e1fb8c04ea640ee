"""Does attention matter here? RAUQ minus RAUQ with other attention put in: a dot and its interval each."""

from collections.abc import Sequence

import plotly.graph_objects as go

from analysis.figures.interval_rows import interval_rows
from analysis.figures.paired_differences import difference_row
from analysis.methods.control_ranking import EXCHANGES, GroupControl
from analysis.metrics import METRICS


def control_differences(controls: Sequence[GroupControl], *, dark: bool = False) -> go.Figure:
    """The differences of every group, exchange by exchange; 0 is marked.

    Teal, a circle: the real attention ranks better; violet, a diamond: worse; grey, an open circle: the interval holds
    0. Undefined differences have no row.
    """
    rows = [
        difference_row(f"{control.group} · {EXCHANGES[one.exchange]}", one.difference, dark=dark)
        for control in controls
        for one in control.exchanged
        if not one.difference.reason
    ]
    metric = METRICS[controls[0].metric] if controls else ""
    reason = next((control.real.reason for control in controls if control.real.reason), "no two answers share a group")
    return interval_rows(rows, title=f"{metric}, real attention minus other", reference=0.0, reason=reason, dark=dark)
