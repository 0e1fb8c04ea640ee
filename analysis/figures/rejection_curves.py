"""Mean quality of what is kept as the least sure answers are rejected (paper, appendix on PRR)."""

import numpy as np
import plotly.graph_objects as go

from analysis.figures.outcome import words_instead
from analysis.figures.style import QUIET, UNCERTAINTY, finish, text_colour
from analysis.methods.comparison import RAUQ
from analysis.methods.names import name_of
from analysis.methods.rejections import Rejections

HEIGHT = 430
# Lines of other methods: hues that differ in every kind of colour vision, and on a light and a dark page.
_COLOURS = ("#3f8fcc", "#0f9d76", "#c766a6", "#a08a1e", "#7a6fd0", "#8a5a44")
_DASHES = ("solid", "dash", "dashdot", "longdash")


def rejection_curves(found: Rejections, *, dark: bool = False) -> go.Figure:
    """A line for each method, RAUQ the thickest, between the oracle above and a random order, which is level.

    The PRR counts what is left of the upright line, at half of the answers.
    """
    if not found.n:
        reason = "no answer has a quality and an uncertainty of each of these methods"
        return words_instead(reason, height=HEIGHT, dark=dark)
    figure = go.Figure()
    first, ink = found.curves[0], text_colour(dark=dark)
    _line(figure, first.rejected, first.oracle, name="oracle", line={"color": ink, "width": 1.5, "dash": "dash"})
    _line(figure, first.rejected, first.random, name="random", line={"color": QUIET, "width": 1.5, "dash": "dot"})
    for place, (method, curve) in enumerate(zip(found.methods, found.curves, strict=True)):
        _line(figure, curve.rejected, curve.kept_quality, name=name_of(method), line=_look(method, place))
    figure.update_traces(zorder=1, selector={"name": name_of(RAUQ)})
    figure.add_vline(x=50, line={"color": QUIET, "width": 1}, layer="below")
    figure.update_xaxes(title="rejected answers", ticksuffix=" %", nticks=8, showgrid=False)
    figure.update_yaxes(title="mean quality of the rest", nticks=6)
    finish(figure, height=HEIGHT, dark=dark)
    figure.update_layout(hovermode="x unified", legend={"font": {"color": ink}, "traceorder": "normal"})
    return figure


def _look(method: str, place: int) -> dict[str, object]:
    if method == RAUQ:
        return {"color": UNCERTAINTY, "width": 3.5}
    turn, colour = divmod(place, len(_COLOURS))
    return {"color": _COLOURS[colour], "width": 2, "dash": _DASHES[turn % len(_DASHES)]}


def _line(figure: go.Figure, rejected: np.ndarray, quality: np.ndarray, *, name: str, line: dict[str, object]) -> None:
    figure.add_scatter(
        x=100 * rejected.astype(np.float32),
        y=quality.astype(np.float32),
        mode="lines",
        name=name,
        line=line,
        hovertemplate="%{y:.3f}",
    )
