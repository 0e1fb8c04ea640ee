"""Where the time of `make test` goes: by folder, and its hundred slowest tests."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import pandas as pd

from analysis.evidence.record import Bound, Record
from benchmarks.support.recording import at_most, measured
from benchmarks.support.server import ROOT
from benchmarks.support.suite_times import FOLDER

MOST_WALL, MOST_CPU = 8 * 60, 800  # seconds, on two quiet cores
_SLOWEST = 100


def measure() -> Record:
    """Run all tests as `make test` does, and add up what each took."""
    with TemporaryDirectory() as folder:
        start = perf_counter()
        has_passed = _run(folder)
        wall = perf_counter() - start
        tests = pd.concat(pd.read_json(path, lines=True) for path in Path(folder).glob("*.jsonl"))
    return measured(
        "suite",
        title="Time of the tests",
        about=f"`make test` by folder, and its {_SLOWEST} slowest tests by CPU time, servers and browsers included.",
        columns=("tests", "number", "wall (s)", "CPU (s)"),
        rows=[*_by_folder(tests), *_slowest(tests)],
        bounds=[
            Bound(text="Every test passes", met=has_passed),
            at_most("Wall seconds of the whole run", wall, MOST_WALL),
            at_most("CPU seconds of all tests", float(tests["cpu"].sum()), MOST_CPU),
        ],
        finding=f"{len(tests):,} tests take {wall:.0f} s, and {tests['cpu'].sum():.0f} s of CPU time.",
        packages=("pytest",),
    )


def _run(folder: str) -> bool:
    """Run `make test`, with each test's times written into a folder, and return whether all passed."""
    options = os.environ.get("PYTEST_ADDOPTS", "")
    environment = os.environ | {FOLDER: folder, "PYTEST_ADDOPTS": f"{options} -p benchmarks.support.suite_times"}
    command = [shutil.which("make") or "make", "test"]
    return not subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def _by_folder(tests: pd.DataFrame) -> Sequence[tuple[str, int, float, float]]:
    folders = tests["test"].str.partition("::")[0].map(os.path.dirname)
    sums = tests.groupby(folders).agg(number=("test", "size"), wall=("wall", "sum"), cpu=("cpu", "sum"))
    return [(str(folder), *row) for folder, *row in sums.sort_values("cpu", ascending=False).itertuples()]


def _slowest(tests: pd.DataFrame) -> Sequence[tuple[str, int, float, float]]:
    slowest = tests.nlargest(_SLOWEST, "cpu")
    return [(row.test, 1, row.wall, row.cpu) for row in slowest.itertuples()]
