"""What the exported HTML pages share: their template, their figures, and a policy for their scripts."""

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from analysis.exports.csv_text import csv_table
from analysis.exports.tables import Table, latex_table
from analysis.one_answer.figures import Drawing, default_view, drawings
from rauq.errors import RunError
from rauq.scoring.score import Score
from rauq.trace.trace import Trace

_HERE = Path(__file__).parent
_SCRIPT = re.compile(r"<script[^>]*>(.*?)</script>", re.DOTALL)


def template(path: Path) -> Template:
    """A template that escapes every text, and has no names that are not given to it."""
    environment = Environment(
        loader=FileSystemLoader([path.parent, _HERE]),  # a part that pages share lies here
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(path.name)


@contextmanager
def writing_to(out: Path, *, what: str = "report") -> Iterator[None]:
    """Write a report, or `what` else, into the folder `out` in the body.

    Raises:
        RunError: it cannot be written.
    """
    try:
        yield
    except OSError as error:
        message = (
            f"The {what} cannot be written to {out} ({error.strerror or error}). Free disk space, or give another "
            "folder."
        )
        raise RunError(message) from error


def write_text(path: Path, text: str) -> None:
    """Write a file of a report, and the folder that it is in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="")


def write_table(table: Table, folder: Path, *, marks: np.ndarray | None = None) -> None:
    """CSV and LaTeX; with `marks` (rows, columns), which are of every column, LaTeX has all of them."""
    shown = table.shown if marks is None else table.frame
    latex = latex_table(shown, caption=f"{table.heading}. {table.words}", label=table.name, marks=marks)
    write_text(folder / f"{table.name}.csv", csv_table(table.frame))
    write_text(folder / f"{table.name}.tex", latex)


def own(name: str) -> str:
    """The text of a style sheet or a script that lies beside this file."""
    return (_HERE / name).read_text(encoding="utf-8")


def policy(pieces: Iterable[str]) -> str:
    """A content policy under which the scripts of these pieces of HTML run, and no other.

    Plotly writes styles into the page, and saves pictures by way of images that are data or blobs.
    """
    scripts = [script for piece in pieces for script in _SCRIPT.findall(piece)]
    digests = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


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
    drawn = drawings(trace, score, default_view(trace, score), dark=dark)
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
