"""A plugin of pytest: how long each test took, and the CPU time of its worker and of all processes that it started."""

import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

FOLDER = "SUITE_TIMES"  # the variable of the environment that names the folder for the times
_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, kw_only=True)
class Taken:
    """Wall and CPU seconds of one test, with its fixtures."""

    test: str
    wall: float
    cpu: float


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Write down what a test took."""
    start, before = time.perf_counter(), cpu_seconds(os.getpid())
    result = yield
    taken = Taken(test=item.nodeid, wall=time.perf_counter() - start, cpu=max(cpu_seconds(os.getpid()) - before, 0.0))
    with (Path(os.environ[FOLDER]) / f"{os.getpid()}.jsonl").open("a", encoding="utf-8") as file:
        file.write(f"{json.dumps(asdict(taken))}\n")
    return result


def cpu_seconds(process: int) -> float:
    """CPU seconds of a process, of its living descendants, and of those that they have waited for."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        threads = list(Path(f"/proc/{process}/task").iterdir())
    except (FileNotFoundError, ProcessLookupError):  # it has ended since it was listed
        return 0.0
    own = sum(map(int, fields[11:15])) / _TICK
    return own + sum(cpu_seconds(child) for thread in threads for child in _children(thread))


def _children(thread: Path) -> list[int]:
    """The processes that a thread has started; none where it has ended since it was listed."""
    try:
        return [int(child) for child in (thread / "children").read_text(encoding="utf-8").split()]
    except (FileNotFoundError, ProcessLookupError):
        return []
