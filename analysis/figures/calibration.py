"""What a score means in a set of answers: the share that is correct at each uncertainty."""

import numpy as np
import plotly.graph_objects as go

from analysis.calibration import Calibration, share_at
from analysis.figures.outcome import outcomes, words_instead
from analysis.figures.style import QUIET, UNCERTAINTY, finish
from rauq.labels import number

HEIGHT = 380  # as the bins beside it


def calibration_chart(calibration: Calibration, *, score: float | None = None, dark: bool = False) -> go.Figure:
    """Share of correct answers with its band over uncertainty; `score` is marked, if there is one.

    The share of a score beyond those of the set is that of the nearest.
    """
    if calibration.reason:
        return words_instead(calibration.reason, height=HEIGHT, dark=dark)
    colour = outcomes(dark=dark)[0].colour
    figure = go.Figure(_band(calibration, colour))
    figure.add_scatter(
        x=calibration.scores,
        y=100 * calibration.share,
        mode="lines",
        line={"color": colour, "width": 2.5, "shape": "hv"},
        name="share of correct answers",
        hovertemplate="uncertainty %{x:.3f}<br>correct %{y:.0f} %<extra></extra>",
    )
    if score is not None and np.isfinite(score):
        _mark(figure, calibration, score)
    figure.update_xaxes(title="uncertainty", nticks=8, showgrid=False)
    figure.update_yaxes(title="correct answers", ticksuffix=" %", range=[-3, 103], nticks=6)
    finish(figure, height=HEIGHT, dark=dark)
    figure.update_layout(showlegend=False)
    return figure


def _band(calibration: Calibration, colour: str) -> list[go.Scatter]:
    edge = {"color": colour, "width": 0, "shape": "hv"}
    shared = {"x": calibration.scores, "mode": "lines", "line": edge, "hoverinfo": "skip", "name": "interval"}
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    shade = {"fill": "tonexty", "fillcolor": f"rgba({red}, {green}, {blue}, 0.2)"}
    return [go.Scatter(y=100 * calibration.low, **shared), go.Scatter(y=100 * calibration.high, **shared | shade)]


def _mark(figure: go.Figure, calibration: Calibration, score: float) -> None:
    share, low, high = (100 * value for value in share_at(calibration, score))
    words = f"{number(share, places=0)} % [{number(low, places=0)}, {number(high, places=0)}]"
    figure.add_vline(x=score, line={"color": QUIET, "width": 1.5, "dash": "dot"})
    figure.add_scatter(
        x=[score],
        y=[share],
        mode="markers",
        marker={"size": 12, "symbol": "diamond", "color": UNCERTAINTY},
        name="this answer",
        text=[f"this answer: uncertainty {number(score)}<br>correct there: {words}"],
        hovertemplate="%{text}<extra></extra>",
    )
