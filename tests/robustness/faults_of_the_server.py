"""The server ended while an answer is written and a job works: it ends at once, and the job goes on without it."""

import os
import time
from pathlib import Path

import numpy as np

from analysis.runs.library import FOLDER_VARIABLE
from benchmarks.server import Server, started
from tests.jobs import ended
from tests.robustness.guest import ENDLESS
from tests.robustness.jobs_at_work import Runs, losses, runs_at_hand, unlike_whole
from tests.robustness.survived import Survived
from tests.robustness.visitor import visiting

LONGEST_END = 60.0  # seconds: it frees what torch holds, and other tests may be at work


def ended_servers(*, count: int, seed: int) -> Survived:
    """SIGTERM at a random moment of the second in which an answer's first tokens are seen."""
    random = np.random.default_rng(seed)
    lost: list[str] = []
    slowest = 0.0
    # Sums round by the number of threads: as many as the run had that the job is compared with.
    threads = {name: value for name, value in os.environ.items() if name == "OMP_NUM_THREADS"}
    with runs_at_hand() as runs:
        for _ in range(count):
            folder = runs.fresh(runs.prepared)
            with started(changes={FOLDER_VARIABLE: str(runs.root), **threads}) as server:
                _set_to_work(server, folder.name)
                time.sleep(random.uniform(0, 1))
                begun = time.monotonic()
                server.process.terminate()
                server.process.wait()
                seconds = time.monotonic() - begun
            slowest = max(slowest, seconds)
            lost += [f"the server took {seconds:.1f} s to end"] * (seconds > LONGEST_END)
            lost += [f"the server ended with {server.process.returncode}"] * (server.process.returncode != 0)
            lost += _after(runs, folder)
    return Survived(
        fault="server ended with SIGTERM while an answer was written and a job worked",
        times=count,
        outcome=f"it ended within {slowest:.1f} s, and the job of the run went on to the same end",
        losses=tuple(lost),
    )


def _set_to_work(server: Server, run: str) -> None:
    """Begin a job on the page Runs, then an answer, until its first tokens are seen."""
    seen: list[bytes] = []
    with visiting(server.address, lambda _raw: None) as visitor, visiting(server.address, seen.append) as other:
        visitor.open("runs")
        visitor.click(f"resume_{run}")
        other.open("inspect")
        visitor.wait_for_page()
        while not _begun(seen):  # an answer may end before it is looked at
            other.click("run", other.chosen("task", "generate"), other.typed("prompt", ENDLESS.format("Oslo")))
            other.look_until(lambda: _begun(seen) or not (other.asked or other.running or other.polls))


def _begun(seen: list[bytes]) -> bool:
    return any(b"of at most" in raw for raw in seen)


def _after(runs: Runs, folder: Path) -> list[str]:
    """What the job of a run has lost without the server."""
    status = ended(folder)
    said = [] if status.state == "finished" else [f"the job is {status.state}: {status.message}"]
    return [*said, *losses(runs, folder), *unlike_whole(runs, folder)]
