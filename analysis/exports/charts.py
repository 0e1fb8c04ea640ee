"""The figures of a report as pieces of HTML that hold their data."""

from typing import NamedTuple

from analysis.figures.answer import Drawing, drawings, usual_view
from rauq.score import Score
from rauq.trace import Trace

_BACKGROUND = {False: "#ffffff", True: "#14171c"}  # by dark, as in report.css: a saved figure keeps it
_CONFIG = {"displaylogo": False}


class Chart(NamedTuple):
    """A figure as HTML; `name` is the id of its element, and of its file when it is saved."""

    name: str
    heading: str
    caption: str
    html: str


def charts(trace: Trace, score: Score, *, dark: bool) -> tuple[Chart, ...]:
    """The figures of a score, the first with plotly.js in it; an answer of one token has no maps of attention."""
    drawn = drawings(trace, score, usual_view(trace, score), dark=dark)
    return tuple(chart(drawing, dark=dark, first=index == 0) for index, drawing in enumerate(drawn))


def chart(drawing: Drawing, *, dark: bool, first: bool) -> Chart:
    """A figure as HTML, in the colours of the page; the `first` one of a page carries plotly.js."""
    figure = drawing.figure
    figure.layout.template = "plotly_dark" if dark else "plotly_white"  # the default may be another's
    figure.update_layout(
        paper_bgcolor=_BACKGROUND[dark], plot_bgcolor=_BACKGROUND[dark], font_family="system-ui, sans-serif"
    )
    html = figure.to_html(
        config=_CONFIG | {"toImageButtonOptions": {"filename": drawing.name, "scale": 2}},
        include_plotlyjs=first,
        full_html=False,
        div_id=drawing.name,
        default_height=f"{figure.layout.height}px",
    )
    return Chart(drawing.name, drawing.heading, drawing.caption, html)
