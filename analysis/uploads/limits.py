"""The limits of a process that reads an upload from a stranger; it sets them itself, before it imports a reader.

Only the standard library is imported here, so that nothing is loaded without limits.
"""

import os
import signal
from dataclasses import dataclass

REFUSED, OUT_OF_MEMORY, OUT_OF_ROOM = 3, 4, 5  # exit codes; others are the system's

_NICE = 10  # gives way to the app, and still ends beside a generation that keeps every core busy


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The most that one process may take.

    `memory`: bytes of address space, of which 360 MiB are its packages; `processor` and `wall`: seconds; `file`: bytes
    of a file that it writes; `answer`: bytes of what it says.
    """

    memory: int = 1536 * 2**20
    processor: int = 60
    wall: float = 180
    file: int = 0
    answer: int = 16 * 2**20


def confine(limits: Limits) -> None:
    """Set the limits of this process; macOS does not hold that of memory."""
    import resource

    os.nice(_NICE)
    for kind, soft, hard in (
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_AS, limits.memory, limits.memory),
        (resource.RLIMIT_CPU, limits.processor, limits.processor + 1),  # at the hard one the reason is not known
        (resource.RLIMIT_FSIZE, limits.file, limits.file),
    ):
        allowed = resource.getrlimit(kind)[1]
        highest = hard if allowed == resource.RLIM_INFINITY else min(hard, allowed)
        resource.setrlimit(kind, (min(soft, highest), highest))
    signal.setitimer(signal.ITIMER_REAL, limits.wall)  # its signal ends the process
