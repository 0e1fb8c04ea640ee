"""The figures of a ladder: what ranks the answers, and what the signal adds to it."""

import plotly.graph_objects as go

from analysis.figures import ATTENTION, QUIET, UNCERTAINTY, Row, difference_row, interval_panels
from analysis.survival.ladder import ALONE, BEYOND, Ladder, Rung

_NOTHING = "nothing can be computed"


def ranking_rungs(ladder: Ladder, *, dark: bool = False) -> go.Figure:
    """ROC-AUC of the signal, by chance and of each control, one row each; a line at chance.

    Orange diamonds: the signal; a grey open circle: labels shuffled; blue circles: controls; grey squares: texts that
    made the labels.
    """
    rows = [_row(rung) for rung in ladder.rungs if rung.kind != "difference" and not rung.estimate.reason]
    return interval_panels({"": rows}, title="ROC-AUC", reference=0.5, reason=_NOTHING, dark=dark)


def added_rungs(ladder: Ladder, *, dark: bool = False) -> go.Figure:
    """The differences of ROC-AUC, one row each, that beyond all controls in bold; a line at 0."""
    rows = [
        difference_row(rung.name, rung.estimate, dark=dark)._replace(bold=rung.id == BEYOND)
        for rung in ladder.rungs
        if rung.kind == "difference" and not rung.estimate.reason
    ]
    figure = interval_panels({"": rows}, title="added", reference=0.0, reason=_NOTHING, dark=dark)
    figure.update_xaxes(nticks=4)  # it is narrow
    return figure


def no_rungs(reason: str, *, dark: bool = False) -> go.Figure:
    """A figure that says why there is no ladder."""
    return interval_panels({"": []}, title="", reference=0.5, reason=reason, dark=dark)


_LOOKS = {
    "signal": (UNCERTAINTY, "diamond"),
    "chance": (QUIET, "circle-open"),
    "control": (ATTENTION, "circle"),
    "corpus": (QUIET, "square"),
}


def _row(rung: Rung) -> Row:
    colour, symbol = _LOOKS[rung.kind]
    return Row(rung.name, rung.estimate, colour, symbol, bold=rung.id == ALONE)
