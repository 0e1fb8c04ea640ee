"""RAUQ minus every other method, on the same answers: a dot and its interval each."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from analysis.estimate import Estimate
from analysis.figures.interval_rows import Row, interval_rows
from analysis.figures.pair import looks
from analysis.figures.style import QUIET
from analysis.methods.names import name_of
from analysis.methods.ranking import Metric
from analysis.metrics import METRICS


def paired_differences(
    base: str, methods: Sequence[str], differences: Sequence[Estimate], *, metric: Metric, dark: bool = False
) -> go.Figure:
    """The differences (M,) of `base` and the methods, by id, the smallest on top: 0 is marked.

    The order is that of a ranking, the best method on top.

    Teal, a circle: `base` ranks better; violet, a diamond: worse; grey, an open circle: the interval holds 0. Undefined
    differences have no row.
    """
    order = np.argsort([found.value for found in differences], kind="stable")
    there = [place for place in order if not differences[place].reason]
    rows = [difference_row(name_of(methods[place]), differences[place], dark=dark) for place in there]
    title = f"{METRICS[metric]} of {name_of(base)} minus that of the method"
    reason = next((found.reason for found in differences), "there is no other method")
    return interval_rows(rows, title=title, reference=0.0, reason=reason, dark=dark)


def difference_row(name: str, found: Estimate, *, dark: bool) -> Row:
    """A row of a difference, whose look says whether its interval leaves out 0, and on which side."""
    better, worse = looks(dark=dark)
    if found.low > 0:
        return Row(name, found, better.colour, better.symbol)
    if found.high < 0:
        return Row(name, found, worse.colour, worse.symbol)
    return Row(name, found, QUIET, "circle-open")
