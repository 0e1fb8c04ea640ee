"""The table of simulated statements: a bound for each row that promises one, and every module among the processes."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import coverage
from benchmarks.coverage.row import Row

COVERS = Row(statement="PRR", case="even", nominal=0.95, hits=90, shown=100, simulations=200, bound=0.9, is_claim=False)
CLAIMS = replace(COVERS, statement="heads", hits=6, bound=0.06, is_claim=True)


@pytest.mark.parametrize(("row", "off"), [(COVERS, -1), (CLAIMS, 1)])
def test_coverage_has_a_least_share_and_claims_a_largest(row, off):
    assert row.is_met
    assert not replace(row, hits=row.hits + off).is_met


def test_only_a_row_that_promises_and_shows_something_has_a_bound():
    record = coverage.record_of(
        [COVERS, replace(CLAIMS, hits=9), replace(COVERS, bound=None), replace(COVERS, shown=0)]
    )
    assert [bound.met for bound in record.bounds] == [True, False]
    assert record.column("found")[:2] == (0.9, 0.09)
    assert record.finding.startswith("1 of 2 simulated cases")


def test_simulations_of_one_case_in_several_tasks_are_one_row():
    one = replace(COVERS, hits=60, shown=80, simulations=100)
    assert coverage.merged([COVERS, CLAIMS, one]) == [replace(COVERS, hits=150, shown=180, simulations=300), CLAIMS]


def test_every_module_of_simulations_is_run():
    written = {path.stem for path in Path(coverage.__file__).parent.glob("*.py")}
    assert written - {"__init__", "row"} == set(coverage.MODULES)
