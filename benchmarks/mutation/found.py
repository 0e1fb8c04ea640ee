"""Whether the tests notice a broken line: sixty lines of the library, broken by chance, one at a time."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory

import pandas as pd
from coverage import CoverageData

from analysis.evidence.record import Bound, Record
from benchmarks.mutation.mutants import Mutant, chosen
from benchmarks.mutation.reached import FOLDER, PRODUCT
from benchmarks.support import suite_times
from benchmarks.support.recording import measured, tell
from benchmarks.support.server import ROOT

SEED, COUNT = 5, 60
TESTS = ("tests/rauq", "tests/analysis", "tests/pages", "tests/serve")
AT_ONCE = 2
LONGEST = 120.0  # seconds of tests of one mutant, the quickest ones first
_PATIENCE = 300.0  # seconds: a broken loop may never end


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A mutant, how many tests reach its line and were run, and what noticed it: a test, the time, or nothing."""

    mutant: Mutant
    reaching: int
    run: int
    noticed: str


@dataclass(frozen=True, kw_only=True)
class Reached:
    """The tests that reach each line of each file, and the seconds that each test takes."""

    lines: Mapping[tuple[str, int], frozenset[str]]
    seconds: Mapping[str, float]

    def tests(self, mutant: Mutant) -> list[str]:
        """Those that reach the line, or, where it runs at import, those that reach its file; the quickest first."""
        own = self.lines.get((mutant.path, mutant.line), frozenset())
        of_file = (tests for (path, _), tests in self.lines.items() if path == mutant.path)
        return sorted(own or frozenset().union(*of_file), key=lambda test: (self.seconds.get(test, 0.0), test))


def measure() -> Record:
    """Break lines, and run the tests that reach each."""
    with TemporaryDirectory() as folder:
        reached = _reached(Path(folder))
        mutants = chosen(ROOT, PRODUCT, count=COUNT, seed=SEED)
        outcomes = _outcomes(mutants, reached, Path(folder))
    found = [one for one in outcomes if one.noticed]
    return measured(
        "mutants",
        title="Broken lines that the tests notice",
        about=f"{COUNT} lines of {' and '.join(PRODUCT)}, chosen by chance (seed {SEED}), are broken one at a time: a "
        "comparison, an operator, a number, a condition. The tests in "
        f"{', '.join(TESTS)} that reach the line run, the quickest first, for at most {LONGEST:g} s, until one fails. "
        "A change may be without effect; what nothing noticed is listed first.",
        columns=("line", "before", "after", "tests that reach it", "tests run", "noticed by"),
        rows=[
            (
                f"{one.mutant.path}:{one.mutant.line}",
                one.mutant.before,
                one.mutant.after,
                one.reaching,
                one.run,
                one.noticed or "nothing",
            )
            for one in sorted(outcomes, key=lambda one: (bool(one.noticed), one.mutant.path, one.mutant.line))
        ],
        bounds=[Bound(text=f"{len(found)} of {COUNT} broken lines are noticed", met=len(found) == COUNT)],
        finding=f"Of {COUNT} lines that were broken by chance, the tests notice {len(found)}.",
        packages=("pytest", "coverage"),
    )


def _reached(folder: Path) -> Reached:
    environment = os.environ | {FOLDER: str(folder), suite_times.FOLDER: str(folder), "OMP_NUM_THREADS": "1"}
    plugins = ("-p", "benchmarks.mutation.reached", "-p", "benchmarks.support.suite_times")
    command = [sys.executable, "-m", "pytest", "-q", "-n", str(AT_ONCE), "--dist", "loadfile", *plugins, *TESTS]
    subprocess.run(command, cwd=ROOT, env=environment, check=False)
    lines: dict[tuple[str, int], set[str]] = {}
    for path in folder.glob("data.*"):
        data = CoverageData(str(path))
        data.read()
        for measured_file in data.measured_files():
            name = str(Path(measured_file).relative_to(ROOT))
            for line, contexts in data.contexts_by_lineno(measured_file).items():
                lines.setdefault((name, line), set()).update(filter(None, contexts))
    times = pd.concat(pd.read_json(path, lines=True) for path in folder.glob("*.jsonl"))
    return Reached(
        lines={place: frozenset(tests) for place, tests in lines.items()},
        seconds=dict(zip(times["test"], times["wall"], strict=True)),
    )


def _outcomes(mutants: Sequence[Mutant], reached: Reached, folder: Path) -> list[Outcome]:
    """The outcome of each, with as many copies of the repository as run at once."""
    copies = SimpleQueue[Path]()
    for number in range(AT_ONCE):
        copies.put(_copy(folder / f"copy {number}"))

    def outcome(mutant: Mutant) -> Outcome:
        copy = copies.get()
        try:
            found = _outcome(mutant, reached, copy)
        finally:
            copies.put(copy)
        tell(f"{mutant.path}:{mutant.line} {mutant.before!r} -> {mutant.after!r}: {found.noticed or 'nothing'}")
        return found

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(outcome, mutants))


def _copy(place: Path) -> Path:
    git = shutil.which("git") or "git"
    subprocess.run([git, "clone", "--quiet", str(ROOT), str(place)], check=True)
    (place / ".venv").symlink_to(ROOT / ".venv", target_is_directory=True)
    return place


def _outcome(mutant: Mutant, reached: Reached, copy: Path) -> Outcome:
    tests = reached.tests(mutant)
    chosen_tests, seconds = list[str](), 0.0
    for test in tests:
        seconds += reached.seconds.get(test, 0.0)
        if seconds <= LONGEST:
            chosen_tests.append(test)
    place = copy / mutant.path
    whole = place.read_text(encoding="utf-8")
    place.write_text(mutant.source, encoding="utf-8")
    try:
        noticed = _noticed(chosen_tests, copy)
    finally:
        place.write_text(whole, encoding="utf-8")
    return Outcome(mutant=mutant, reaching=len(tests), run=len(chosen_tests), noticed=noticed)


def _noticed(tests: Sequence[str], copy: Path) -> str:
    """The first test that fails, or "" if all pass."""
    if not tests:
        return ""
    (copy / "tests.txt").write_text("\n".join(tests), encoding="utf-8")
    command = [sys.executable, "-B", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    others = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}  # which leads to whole files
    environment = others | {"OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            [*command, f"@{copy / 'tests.txt'}"],
            cwd=copy,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=_PATIENCE,
        )
    except subprocess.TimeoutExpired:
        return f"time: more than {_PATIENCE:g} s"
    if not done.returncode:
        return ""
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return failed[0].split(" ", 1)[1].split(" - ")[0] if failed else f"status {done.returncode}"
