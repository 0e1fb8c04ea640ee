"""Memory of a process, as Linux counts it; and calls in a process of their own."""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def memory_mib(name: str, *, process: int | str = "self", file: str = "status") -> float:
    """A line of the kernel's account of a process in MiB, such as VmHWM, its peak."""
    lines = Path(f"/proc/{process}/{file}").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:")) / 1024


def family_mib(process: int) -> float:
    """MiB of a process and all that descend from it; what several share is counted once."""
    try:
        lists = [path.read_text(encoding="utf-8") for path in Path(f"/proc/{process}/task").glob("*/children")]
        own = memory_mib("Pss", process=process, file="smaps_rollup")
    except (FileNotFoundError, ProcessLookupError):  # it has ended since it was listed
        return 0.0
    return own + sum(family_mib(int(child)) for children in lists for child in children.split())


def forget_peak() -> None:
    """Count the peak of this process from now on."""
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")


def extra_peak(run: Callable[[], object]) -> float:
    """Peak MiB of this process during a call, above what it holds before."""
    forget_peak()
    before = memory_mib("VmRSS")
    run()
    return memory_mib("VmHWM") - before


def apart(run: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
    """What a call returns in a new process, which holds nothing else in memory."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(run, *arguments, **options).result()
