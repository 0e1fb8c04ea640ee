"""How much main memory is free for this process: what the machine has, and what its control groups leave."""

import ctypes
import gc
import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np

_PROC = Path("/proc")
_GROUPS = Path("/sys/fs/cgroup")
_MEASURED, _TIMES = 64 * 2**20, 5  # bytes that no cache holds


class _Files(NamedTuple):
    """Names under which one version of control groups says its limit, its use, and what of that can be given back."""

    limit: str
    used: str
    reclaimable: str


_VERSION_1 = _Files("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_VERSION_2 = _Files("memory.max", "memory.current", "inactive_file")


def free_main_memory() -> int | None:
    """Bytes that can be taken without swapping; None where the system does not say."""
    # Written here, because psutil does not know the limits of control groups.
    known = [bytes_ for bytes_ in (_free_in_machine(), *_free_in_groups()) if bytes_ is not None]
    return min(known, default=None)


@cache
def bytes_per_second() -> float:
    """How fast one core of this machine reads main memory, measured once: each token reads all weights."""
    numbers = np.ones(_MEASURED // 8)
    seconds = []
    for _ in range(_TIMES):
        begin = perf_counter()
        numbers.sum()
        seconds.append(perf_counter() - begin)
    return _MEASURED / min(seconds)


def give_back() -> None:
    """Free what nobody refers to any longer, such as the weights of a model that was let go, on a GPU too.

    What was freed goes back to the system, where the C library can do that: it would keep hundreds of MiB.
    """
    gc.collect()
    with suppress(AttributeError, OSError, TypeError):  # another C library, or Windows
        ctypes.CDLL(None).malloc_trim(0)
    if (torch := sys.modules.get("torch")) is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()


def _free_in_machine() -> int | None:
    if found := re.search(r"^MemAvailable: *(\d+) kB$", _text(_PROC / "meminfo"), re.MULTILINE):
        return 1024 * int(found[1])
    with suppress(ValueError, OSError, AttributeError):  # not every system has these names, or sysconf at all
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _free_in_groups() -> Iterator[int | None]:
    """What each control group above this process leaves; a container may see its own as the topmost."""
    for line in _text(_PROC / "self" / "cgroup").splitlines():
        number, controllers, path = line.split(":", 2)
        if number == "0":
            root, files = _GROUPS, _VERSION_2
        elif "memory" in controllers.split(","):
            root, files = _GROUPS / "memory", _VERSION_1
        else:
            continue
        group = Path(path.lstrip("/"))
        for above in (group, *group.parents):
            yield _left(root / above, files)


def _left(group: Path, files: _Files) -> int | None:
    limit, used = _text(group / files.limit).strip(), _text(group / files.used).strip()
    if not (limit.isdigit() and used.isdigit()):  # "max" is no limit
        return None
    found = re.search(rf"^{files.reclaimable} (\d+)$", _text(group / "memory.stat"), re.MULTILINE)
    return max(0, int(limit) - int(used) + (int(found[1]) if found else 0))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError):
        return ""
