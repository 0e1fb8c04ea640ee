"""The figure of alarms: the share of incorrect answers that each score stops, by false-alarm rate."""

import numpy as np
import plotly.graph_objects as go

from analysis.figures import QUIET, UNCERTAINTY, empty_figure, finish, text_colour
from analysis.online.compared import RAUQ, AlarmCurves
from analysis.online.curves import NAMES, OnlineScore

_HEIGHT = 430
_BAND = "rgba(232, 101, 10, 0.16)"  # of the colour of uncertainty
_LOOKS: dict[OnlineScore, dict[str, object]] = {
    RAUQ: {"color": UNCERTAINTY, "width": 3.5},
    "mean_entropy": {"color": "#3f8fcc", "width": 2},
    "mean_logprob": {"color": "#0f9d76", "width": 2},
    "token_entropy": {"color": "#c766a6", "width": 2},
    "num_tokens": {"color": QUIET, "width": 2, "dash": "dash"},
}


def alarm_lines(curves: AlarmCurves, *, dark: bool = False) -> go.Figure:
    """A line for each score over the rates, RAUQ the thickest with its interval as a band; dotted: chance."""
    if curves.reason:
        return empty_figure(curves.reason, height=_HEIGHT, dark=dark)
    figure, rates = go.Figure(), 100 * np.array(curves.rates)
    _band(figure, rates, curves)
    for name in curves.stopped:
        shares = 100 * curves.stopped[name].incorrect[:, 0]
        figure.add_scatter(
            x=rates, y=shares, mode="lines+markers", name=NAMES[name], line=_LOOKS[name], hovertemplate="%{y:.0f} %"
        )
    figure.update_traces(zorder=1, selector={"name": NAMES[RAUQ]})
    end, ink = float(rates[-1]), text_colour(dark=dark)
    line = {"color": ink, "width": 1, "dash": "dot"}
    figure.add_scatter(x=[0, end], y=[0, end], mode="lines", name="chance", line=line, hoverinfo="skip")
    figure.update_xaxes(title="false-alarm rate", ticksuffix=" %", range=[0, end], showgrid=False)
    figure.update_yaxes(title="incorrect answers stopped", ticksuffix=" %", range=[0, 100])
    finish(figure, height=_HEIGHT, dark=dark)
    figure.update_layout(hovermode="x unified", legend={"font": {"color": ink}, "traceorder": "normal"})
    return figure


def _band(figure: go.Figure, rates: np.ndarray, curves: AlarmCurves) -> None:
    """The interval of RAUQ, where there is one."""
    shares = 100 * curves.stopped[RAUQ].incorrect
    known = np.isfinite(shares).all(axis=1)
    low, high = shares[known, 1], shares[known, 2]
    figure.add_scatter(
        x=np.concatenate([rates[known], rates[known][::-1]]),
        y=np.concatenate([high, low[::-1]]),
        mode="lines",
        fill="toself",
        fillcolor=_BAND,
        line={"width": 0},
        hoverinfo="skip",
        showlegend=False,
    )
