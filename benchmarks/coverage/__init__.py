"""Statements that hold when they are simulated: coverage of intervals, and claims without an effect.

Bounds: a 95 % interval covers the truth in at least 90 % of the simulations that show it, and a claim at 5 % is made
in at most 6.5 % of those without an effect. Cases of which no bound is promised are in the table, too.
"""

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from itertools import chain, repeat

from analysis.evidence.record import Bound, Record
from benchmarks.coverage.row import Row, Task
from benchmarks.support.recording import measured

MODULES = ("rankings", "shares", "pairs", "heads", "folds")
SIMULATIONS, SEED = 1_000, 2026  # a seed of its own: others were looked at while the statements were made


def measure() -> Record:
    """Simulate every case, each in a process of its own as far as there are cores."""
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        found = pool.map(simulated, tasks(), repeat(SIMULATIONS), repeat(SEED))
        return record_of(merged(chain.from_iterable(found)))


def tasks() -> tuple[Task, ...]:
    """All tasks of all modules of this package."""
    return tuple(chain.from_iterable(import_module(f"{__package__}.{name}").tasks() for name in MODULES))


def simulated(task: Task, simulations: int, seed: int) -> tuple[Row, ...]:
    """The rows of one task."""
    return tuple(task(simulations=simulations, seed=seed))


def merged(rows: Iterable[Row]) -> list[Row]:
    """Rows of one statement and case, which several tasks simulated, as one."""
    found: dict[tuple[str, str], Row] = {}
    for row in rows:
        key = row.statement, row.case
        found[key] = found[key].with_more(row) if key in found else row
    return list(found.values())


def record_of(rows: Sequence[Row]) -> Record:
    """The table of the rows; those that have a bound are counted in its finding."""
    held = [row for row in rows if row.bound is not None and row.shown]
    return measured(
        "coverage",
        title="Statements held against simulations",
        about="How often 95 % intervals cover the truth, of simulated answers whose truth is known, and how often an "
        "effect is claimed where there is none.",
        columns=("statement", "case", "what", "nominal", "found", "bound", "shown", "simulations"),
        rows=[_cells(row) for row in rows],
        bounds=[_bound(row) for row in held],
        notes=("Without a bound: shown to say where a statement does not hold, or is shown in too few simulations.",),
        finding=f"{sum(row.is_met for row in held):,} of {len(held):,} simulated cases are within their bound.",
        packages=("numpy",),
    )


def _cells(row: Row) -> tuple[str | int | float, ...]:
    what = "claims" if row.is_claim else "coverage"
    bound = float("nan") if row.bound is None else row.bound
    return row.statement, row.case, what, row.nominal, row.share, bound, row.shown, row.simulations


def _bound(row: Row) -> Bound:
    side = "at most" if row.is_claim else "at least"
    return Bound(text=f"{row.statement}, {row.case}: {row.share:.3f}, {side} {row.bound}", met=row.is_met)
