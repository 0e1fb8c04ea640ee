"""The app, or another Streamlit script, served by a process of its own."""

import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
PATIENCE = 90  # seconds: a machine under load imports torch in half a minute
_PAUSE = 0.05  # seconds between two looks: another process's port is nothing to wait on


@contextmanager
def serving(script: Path = ROOT / "app.py") -> Iterator[str]:
    """The address of a script once its server answers.

    Raises:
        RuntimeError: the server ended, or does not answer.
    """
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    options = [f"--server.port={port}", "--server.fileWatcherType=none"]
    command = [sys.executable, "-m", "streamlit", "run", str(script), *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            address = f"http://127.0.0.1:{port}"
            _until_healthy(f"{address}/_stcore/health", process)
            yield address
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
