"""The app, or another Streamlit script, served by a process of its own."""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import IO

ROOT = Path(__file__).parents[1]
PATIENCE = 90  # seconds: a machine under load imports torch in half a minute
_UNCHANGED: Mapping[str, str] = MappingProxyType({})
_PAUSE = 0.05  # seconds between two looks: another process's port is nothing to wait on


@dataclass(frozen=True, kw_only=True)
class Server:
    """A server that answers: where, and as which process."""

    address: str
    process: subprocess.Popen[bytes]


@contextmanager
def serving(script: Path = ROOT / "app.py") -> Iterator[str]:
    """The address of a script once its server answers.

    Raises:
        RuntimeError: the server ended, or does not answer.
    """
    with started(["-m", "streamlit", "run", str(script)]) as server:
        yield server.address


@contextmanager
def started(
    arguments: Sequence[str], *, log: int | IO[bytes] = subprocess.DEVNULL, changes: Mapping[str, str] = _UNCHANGED
) -> Iterator[Server]:
    """A server that Python is asked for by these arguments, once it answers; what it says goes to `log`.

    `changes` are made to its environment.

    Raises:
        RuntimeError: the server ended, or does not answer.
    """
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    command = [sys.executable, *arguments, f"--server.port={port}", "--server.fileWatcherType=none"]
    environment = {**os.environ, **changes}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log) as process:
        try:
            address = f"http://127.0.0.1:{port}"
            _until_healthy(f"{address}/_stcore/health", process)
            yield Server(address=address, process=process)
        finally:
            process.terminate()


def _until_healthy(address: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=1).close()  # noqa: S310 - our own server
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(_PAUSE)
        else:
            return
    message = "The server did not start."
    raise RuntimeError(message)
