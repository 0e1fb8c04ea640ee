"""An upload from a stranger is read by a process of its own, whose memory, time and answer are limited."""

import json
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from types import MappingProxyType
from typing import IO

from analysis.uploads.limits import OUT_OF_MEMORY, OUT_OF_ROOM, REFUSED, Limits
from rauq.errors import RauqError
from rauq.labels import size
from rauq.layout import command, environment

_BLOCK = 2**20
_PATIENCE = 5.0  # seconds beyond the process's own limit, if it does not keep that
_SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        # No pool of threads, whose address space the limit would count; and the system's allocator, which gives memory
        # back.
        **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "ARROW_IO_THREADS", "MALLOC_ARENA_MAX"), "1"),
        "ARROW_DEFAULT_MEMORY_POOL": "system",
    }
)
_TOO_LONG = (-signal.SIGALRM, -signal.SIGXCPU, -signal.SIGKILL)
_TOO_LARGE = (OUT_OF_MEMORY, -signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS)


def read_apart(task: str, options: str, upload: IO[bytes], *, limits: Limits, refusal: type[RauqError]) -> bytes:
    """The answer of a process of its own to an upload.

    Raises:
        RauqError: as `refusal`, the upload is refused, or reading it takes more than the limits.
    """
    try:
        with tempfile.TemporaryFile() as copy:
            shutil.copyfileobj(upload, copy, _BLOCK)
            copy.seek(0)
            said, code = _run(task, options, copy, limits)
    except OSError as error:
        message = f"The upload cannot be read here ({error.strerror or error}). Try again later."
        raise refusal(message) from error
    if code == 0:
        return said
    raise refusal(said.decode() if code == REFUSED else _why(code, limits))


def _run(task: str, options: str, copy: IO[bytes], limits: Limits) -> tuple[bytes, int]:
    with (
        subprocess.Popen(
            command(f"{__package__}.child", json.dumps(asdict(limits)), task, options),
            stdin=copy,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**environment(), **_SETTINGS},
            start_new_session=True,
        ) as process,
        _killed_after(process, limits.wall + _PATIENCE),
    ):
        said = process.stdout.read(limits.answer + 1) if process.stdout else b""
        return (said, process.wait()) if len(said) <= limits.answer else (b"", OUT_OF_ROOM)


@contextmanager
def _killed_after(process: "subprocess.Popen[bytes]", seconds: float) -> Iterator[None]:
    """Kill the process when the body ends, or after these seconds."""
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        process.kill()


def _why(code: int, limits: Limits) -> str:
    if code in _TOO_LONG:
        seconds = limits.processor if code == -signal.SIGXCPU else limits.wall
        reason = f"reading it takes more than {seconds:g} s, this host's limit"
    elif code in _TOO_LARGE:
        reason = f"reading it takes more than {size(limits.memory)} of memory, this host's limit"
    elif code == OUT_OF_ROOM:
        reason = f"what it holds takes more than {size(limits.answer)}, this host's limit"
    else:
        reason = f"the process that read it ended unexpectedly (code {code})"
    return f"This upload is refused: {reason}. Give a smaller file."
