"""What every measurement ends with: its bounds, and its record with date, machine and versions."""

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

from analysis.evidence.record import Bound, Cell, Record, command_of, shown
from benchmarks.support.paired import Ratio

_GIB = 2**30


def tell(text: str) -> None:
    """Say on stderr how far a long measurement is."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def show(record: Record) -> None:
    """Print a record: its table, its finding, its bounds and its notes."""
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


def measured(
    name: str,
    *,
    title: str,
    about: str,
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
        command=command_of(name),
        made=datetime.now(UTC).date(),
        machine=machine(),
        versions=(("Python", platform.python_version()), *((package, version(package)) for package in packages)),
        columns=tuple(columns),
        rows=tuple(map(tuple, rows)),
        bounds=tuple(bounds),
        notes=tuple(notes),
        finding=finding,
    )


def at_most(what: str, found: Ratio | float, most: float) -> Bound:
    """A bound from above: missed where the whole interval lies beyond it, inconclusive where only the median does."""
    value, least = (found.median, found.low) if isinstance(found, Ratio) else (found, found)
    met = None if least <= most < value else value <= most
    return Bound(text=f"{what}: {_figure(found, most)}, at most {most}", met=met)


def at_least(what: str, found: Ratio | float, least: float) -> Bound:
    """A bound from below: missed where the whole interval lies beyond it, inconclusive where only the median does."""
    value, most = (found.median, found.high) if isinstance(found, Ratio) else (found, found)
    met = None if value < least <= most else value >= least
    return Bound(text=f"{what}: {_figure(found, least)}, at least {least}", met=met)


def interval(found: Ratio) -> tuple[float, float, float]:
    """Median, low and high, as three cells."""
    return found.median, found.low, found.high


def machine() -> str:
    """Processor, cores and memory of this machine."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / _GIB
    return f"{_processor()}, {len(os.sched_getaffinity(0))} cores, {memory:.0f} GiB, {platform.system()}"


def _figure(found: Ratio | float, bound: float) -> str:
    """A value, with more digits where rounding would put it on the bound."""
    if isinstance(found, Ratio):
        ends = interval(found)
        value, low, high = (f"{one:.6f}" if round(one, 3) == bound != one else f"{one:.3f}" for one in ends)
        return f"{value} [{low}, {high}]"
    return f"{found:.9g}" if found != bound and shown(found) == shown(float(bound)) else shown(found)


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if Path("/proc/cpuinfo").exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())
