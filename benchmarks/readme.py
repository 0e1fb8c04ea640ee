"""`benchmarks/README.md`, made of the records that are kept, and what other documents tell of them.

python -m benchmarks.readme
"""

import re
import sys
from collections.abc import Iterable, Mapping, Sequence

from analysis.evidence.record import SUBJECTS, Bound, Cell, Record, of_subjects, records, shown
from analysis.evidence.sentences import origin
from benchmarks.excerpts import EXCERPTS, table_of
from benchmarks.support.server import ROOT

HEADLINES = (
    "real_models",
    "real_speed",
    "capture",
    "overhead",
    "memory",
    "peers_time",
    "peers_memory",
    "scoring",
    "fuzz",
)
INTRODUCTION = """\
# What was measured

Every number on this page comes from the command given with it, on the date and machine named below its table.
`make bench` measures the project itself, `make bench-peers` compares it with other tools in an environment that it sets
up, and `make robustness` tests it with malformed inputs, load and faults. The tables are kept in
`analysis/evidence/records`, which the page Evidence shows; `python -m benchmarks.readme` makes this page from them, and
a test checks that nothing was edited by hand.

Times are CPU times of one thread unless a column says otherwise. Compared runs are interleaved in one process; a ratio
is the median over the pairs, `low` and `high` are its 95 % interval, and a bound is missed if the whole interval lies
beyond it, inconclusive if only the median does.
"""
WITH_EXCERPTS = ("docs/alarms.md",)
_EXCERPT = re.compile(r"(<!-- excerpt (\w+) -->\n).*?(<!-- end of excerpt -->)", re.DOTALL)
_FINDINGS = re.compile(r"(<!-- findings[^>]*-->\n).*?(<!-- end of findings -->)", re.DOTALL)


def page(kept: Mapping[str, Record]) -> str:
    """The text of `benchmarks/README.md`: an overview, then a section for each record."""
    ordered = of_subjects(SUBJECTS, kept)
    overview = table(("Measured", "Finding", "Bounds met", "Command"), map(_line, ordered))
    return "\n".join([INTRODUCTION, overview, *map(section, ordered)])


def section(record: Record) -> str:
    """One record: what it is, how to have it again, its table, and whether its bounds were kept."""
    parts = [
        f"## {record.title}",
        record.about,
        f"```sh\n{record.command}\n```",
        table(record.columns, record.rows).rstrip(),
        "\n".join(map(_item, record.bounds)),
        "\n".join(f"- {note}" for note in record.notes),
        origin(record),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def table(columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """A Markdown table; numbers stand to the right."""
    found = list(rows)
    rule = [_rule(cells) for _, *cells in zip(columns, *found, strict=True)]
    return "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in (columns, rule, *found))


def with_findings(readme: str, kept: Mapping[str, Record]) -> str:
    """The main README with the findings of today between its two marks."""
    found = [kept[name].finding for name in HEADLINES if name in kept and kept[name].finding]
    listed = "".join(f"- {finding}\n" for finding in found)
    return _FINDINGS.sub(lambda marks: f"{marks[1]}{listed}{marks[2]}", readme)


def with_excerpts(text: str, kept: Mapping[str, Record]) -> str:
    """A document with its excerpts of today's records, each between two marks."""

    def filled(marks: re.Match[str]) -> str:
        excerpt = EXCERPTS[marks[2]]
        return f"{marks[1]}{table(*table_of(excerpt, kept[excerpt.record]))}{marks[3]}"

    return _EXCERPT.sub(filled, text)


def main() -> int:
    """Write them."""
    kept, readme = records(), ROOT / "README.md"
    (ROOT / "benchmarks" / "README.md").write_text(page(kept), encoding="utf-8")
    readme.write_text(with_findings(readme.read_text(encoding="utf-8"), kept), encoding="utf-8")
    for name in WITH_EXCERPTS:
        path = ROOT / name
        path.write_text(with_excerpts(path.read_text(encoding="utf-8"), kept), encoding="utf-8")
    return 0


def _line(record: Record) -> tuple[str, str, str, str]:
    """Its line of the overview."""
    met = f"{sum(bound.verdict == 'met' for bound in record.bounds)} of {len(record.bounds)}" if record.bounds else ""
    return f"[{record.title}](#{_anchor(record.title)})", record.finding, met, f"`{record.command}`"


def _item(bound: Bound) -> str:
    return f"- {bound.verdict if bound.met else f'**{bound.verdict}**'}: {bound.text}"


def _rule(cells: Sequence[Cell]) -> str:
    return "---" if any(isinstance(cell, str) for cell in cells) else "---:"


def _cell(cell: Cell) -> str:
    return shown(cell).replace("|", "\\|")


def _anchor(title: str) -> str:
    """As GitHub makes it of a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


if __name__ == "__main__":
    sys.exit(main())
