"""A ladder as files: a page that opens offline, and for each signal its table as CSV and LaTeX and its figures."""

from collections.abc import Sequence
from pathlib import Path

from analysis.exports.page import Chart, chart, own, policy, template, write_table, write_text, writing_to
from analysis.exports.pictures import write_pictures
from analysis.exports.tables import Table, alignments, headings, rows_of_cells
from analysis.one_answer.figures import Drawing
from analysis.survival.figures import added_rungs, ranking_rungs
from analysis.survival.ladder import Ladder
from analysis.survival.planted import SelfTest
from analysis.survival.sentences import caption, ladder_table, more, self_test_sentences, shown_table, verdict
from rauq.labels import running

_PAGE = Path(__file__).parent / "ladders.html"


def write_ladders(ladders: Sequence[Ladder], planted: SelfTest | None, out: Path) -> tuple[Path, str]:
    """Write index.html, tables and figures into the folder `out`, over earlier ones.

    Return the page, and in a line what could not be written, "" where all was.

    Raises:
        RunError: it cannot be written.
    """
    drawings = [one for number, ladder in enumerate(ladders, 1) for one in _drawings(ladder, number)]
    with writing_to(out):
        write_text(out / "index.html", ladders_page(ladders, planted))
        for number, ladder in enumerate(ladders, 1):
            write_table(_table(ladder, number), out)
        missing = write_pictures(drawings, out)
    return out / "index.html", missing


def ladders_page(ladders: Sequence[Ladder], planted: SelfTest | None) -> str:
    """The page as HTML, with styles and figures in it; every text is escaped."""
    sections = [(ladder, _charts(ladder, number), _table(ladder, number)) for number, ladder in enumerate(ladders, 1)]
    return template(_PAGE).render(
        policy=policy(one.html for _, charts, _ in sections for one in charts),
        style=own("report.css"),
        sections=sections,
        planted=[] if planted is None else self_test_sentences(planted),
        verdict=verdict,
        more=more,
        running=running,
        headings=headings,
        alignments=alignments,
        rows_of_cells=rows_of_cells,
    )


def _drawings(ladder: Ladder, number: int) -> list[Drawing]:
    return [
        Drawing(f"survival_{number}_ranking", "What ranks the answers", "", ranking_rungs(ladder)),
        Drawing(f"survival_{number}_added", "What the signal adds", "", added_rungs(ladder)),
    ]


def _charts(ladder: Ladder, number: int) -> list[Chart]:
    first = number == 1
    return [
        chart(drawing, dark=False, first=first and place == 0)
        for place, drawing in enumerate(_drawings(ladder, number))
    ]


def _table(ladder: Ladder, number: int) -> Table:
    heading = f"What is left of {ladder.signal} on {ladder.data}"
    return Table(f"survival_{number}", heading, caption(ladder), ladder_table(ladder), cells=shown_table(ladder))
