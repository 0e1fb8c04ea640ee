"""How every benchmark ends: its table on the terminal, its bounds met or missed, and, if asked, its record kept."""

import argparse
import os
import platform
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from analysis.evidence.record import Bound, Cell, Record, save, shown
from benchmarks.paired import Ratio

_GIB = 2**30


def parser(about: str | None) -> argparse.ArgumentParser:
    """Options of a benchmark, with `--record` among them."""
    made = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--record", action="store_true", help="keep the table for the page Evidence")
    return made


def tell(text: str) -> None:
    """Say how far a long measurement is, where it does not mix with its table."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def finish(record: Record, *, keep: bool) -> int:
    """Print a record, keep it if asked, and return the exit code: 1 where a bound was missed."""
    console = Console(width=160)
    table = Table(title=Text(record.title), title_justify="left")
    for column in record.columns:
        table.add_column(Text(column))
    for row in record.rows:
        table.add_row(*(Text(shown(cell)) for cell in row))
    console.print(table)
    if record.finding:
        console.print(record.finding, markup=False)
    for bound in record.bounds:
        console.print(f"{bound.verdict:14}{bound.text}", markup=False)
    for note in record.notes:
        console.print(note, markup=False)
    if keep:
        save(record)
    return 0 if record.met else 1


def measured(
    name: str,
    *,
    title: str,
    about: str,
    command: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    bounds: Sequence[Bound] = (),
    notes: Sequence[str] = (),
    finding: str = "",
    packages: Sequence[str] = ("torch", "transformers", "numpy"),
) -> Record:
    """A record of what was measured on this machine just now, with the versions of the packages that matter to it."""
    return Record(
        id=name,
        title=title,
        about=about,
        command=command,
        made=datetime.now(UTC).date(),
        machine=machine(),
        versions=(("Python", platform.python_version()), *((package, version(package)) for package in packages)),
        columns=tuple(columns),
        rows=tuple(map(tuple, rows)),
        bounds=tuple(bounds),
        notes=tuple(notes),
        finding=finding,
    )


def at_most(what: str, found: Ratio, most: float) -> Bound:
    """A bound from above: missed where the whole interval lies beyond it, inconclusive where only the median does."""
    met = None if found.low <= most < found.median else found.median <= most
    return Bound(text=f"{what}: {found}, at most {most}", met=met)


def at_least(what: str, found: Ratio, least: float) -> Bound:
    """A bound from below: missed where the whole interval lies beyond it, inconclusive where only the median does."""
    met = None if found.median < least <= found.high else found.median >= least
    return Bound(text=f"{what}: {found}, at least {least}", met=met)


def machine() -> str:
    """Processor, cores and memory of this machine."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / _GIB
    return f"{_processor()}, {len(os.sched_getaffinity(0))} cores, {memory:.0f} GiB, {platform.system()}"


def interval(found: Ratio) -> tuple[float, float, float]:
    """Median, low and high, as three cells."""
    return found.median, found.low, found.high


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if Path("/proc/cpuinfo").exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())
