"""What tells correct from incorrect answers in every picture, the picked head from the mean of heads, and no picture.

The colours of correct and incorrect are those of `pair`, which differ in every kind of colour vision.
"""

import plotly.graph_objects as go

from analysis.figures.labels import plotly_text
from analysis.figures.pair import Look, looks
from analysis.figures.style import ATTENTION, QUIET, finish, text_colour


def outcomes(*, dark: bool) -> tuple[Look, Look]:
    """The looks of correct and of incorrect answers, for a dark or a light page."""
    one, other = looks(dark=dark)
    return one._replace(name="correct"), other._replace(name="incorrect")


def series() -> tuple[Look, Look]:
    """The looks of the picked head's attention and of the mean over all heads."""
    return Look("picked head", ATTENTION, "solid", "circle"), Look("mean over heads", QUIET, "dash", "square")


def words_instead(reason: str, *, height: int, dark: bool) -> go.Figure:
    """A figure without data that says why there is none."""
    figure = go.Figure()
    text = {"text": plotly_text(f"Nothing to draw: {reason}."), "font": {"size": 14, "color": text_colour(dark=dark)}}
    place = {"x": 0.5, "y": 0.5, "xref": "paper", "yref": "paper", "showarrow": False}
    figure.update_layout(annotations=[text | place])
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)
    finish(figure, height=height, dark=dark)
    return figure
