"""The app, or another Streamlit script, served by a process of its own."""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import IO

ROOT = Path(__file__).parents[2]
PATIENCE = 240  # seconds: a machine under load imports torch in half a minute, and answers in two
# What `make app` runs with the interpreter of the virtual environment, without any option.
APP, STREAMLIT = "app.py", "streamlit"
HOST, NAMES = "pages.ui.host.server", "127.0.0.1,localhost"  # what `make host NAMES=...` runs
ENVIRONMENT: Mapping[str, str] = MappingProxyType(
    {"MALLOC_ARENA_MAX": "2", "OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "1000"}
)
HEALTH = "/_stcore/health"
_OF_TESTS = {"OMP_NUM_THREADS"}
_UNCHANGED: Mapping[str, str] = MappingProxyType({})
_PAUSE = 0.05  # seconds between two looks: another process's port is nothing to wait on


@dataclass(frozen=True, kw_only=True)
class Server:
    """A server that answers: where, and as which process."""

    address: str
    process: subprocess.Popen[bytes]


@contextmanager
def serving(script: Path | str = APP) -> Iterator[str]:
    """The address of a script once its server answers.

    Raises:
        RuntimeError: the server ended, or does not answer.
    """
    with started(script) as server:
        yield server.address


@contextmanager
def started(
    script: Path | str = APP,
    *,
    module: str = STREAMLIT,
    options: Sequence[str] = (),
    log: int | IO[bytes] = subprocess.DEVNULL,
    changes: Mapping[str, str] = _UNCHANGED,
) -> Iterator[Server]:
    """A server started as `make app` starts it, but on a free port, once it answers; its output goes to `log`.

    `module` stands in for Streamlit's own command, `options` are further options of it, and `changes` are made to the
    environment.

    Raises:
        RuntimeError: the server ended, or does not answer.
    """
    port = free_port()
    with _running([module, "run", str(script), f"--server.port={port}", *options], port, log, changes) as server:
        yield server


@contextmanager
def hosting(
    *options: str,
    module: str = HOST,
    workers: int = 1,
    log: int | IO[bytes] = subprocess.DEVNULL,
    changes: Mapping[str, str] = _UNCHANGED,
) -> Iterator[Server]:
    """A server for strangers, started as `make host` starts it, but on a free port; arguments as of `started`.

    `workers`: its processes, each of which answers on the port after that of the one before.

    Raises:
        RuntimeError: the server ended, or does not answer.
    """
    port = free_port(in_a_row=workers)
    several = ("--workers", str(workers)) if workers > 1 else ()
    command = [module, "--names", NAMES, "--address", "127.0.0.1", "--port", str(port), *several, *options]
    with _running(command, port, log, changes) as server:
        for further in range(port + 1, port + workers):
            until_healthy(f"http://127.0.0.1:{further}{HEALTH}", server.process)
        yield server


def free_port(*, in_a_row: int = 1) -> int:
    """A port of this machine that nothing listens on, nor on the next ones."""
    while True:
        with ExitStack() as stack, suppress(OSError, OverflowError):
            port = _bound(stack, 0)
            for further in range(port + 1, port + in_a_row):
                _bound(stack, further)
            return port


def _bound(stack: ExitStack, port: int) -> int:
    listener = stack.enter_context(socket.socket())
    listener.bind(("127.0.0.1", port))
    found: int = listener.getsockname()[1]
    return found


@contextmanager
def _running(arguments: Sequence[str], port: int, log: int | IO[bytes], changes: Mapping[str, str]) -> Iterator[Server]:
    command = [sys.executable, "-m", *arguments]
    environment = {**_users_environment(), **ENVIRONMENT, **changes}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log) as process:
        try:
            address = f"http://127.0.0.1:{port}"
            until_healthy(f"{address}{HEALTH}", process)
            yield Server(address=address, process=process)
        finally:
            process.terminate()


def processor_seconds(server: Server) -> float:
    """Processor time that the server has used since its start."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def memory_mib(server: Server) -> float:
    """Memory of the server in MiB."""
    pages = int(Path(f"/proc/{server.process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _users_environment() -> dict[str, str]:
    """The environment of this process, without what only `make test` and `make bench` set."""
    return {name: value for name, value in os.environ.items() if name not in _OF_TESTS}


def until_healthy(address: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until a server answers at this address.

    Raises:
        RuntimeError: it ended, or does not answer.
    """
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
