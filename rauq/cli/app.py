"""`rauq app` and `rauq host`: the server of the app takes the place of this process, so that it ends with it."""

import argparse
import os
from collections.abc import Sequence
from importlib.util import find_spec

from rauq.layout import APP, APP_SETTINGS, HOST, RAUQ_COMMAND, command, environment


def main(arguments: Sequence[str]) -> int:
    """Become the server; this returns only if it cannot start.

    Raises:
        ModuleNotFoundError: Streamlit is not installed.
    """
    name, *options = arguments
    server = _app(options) if name == "app" else command(HOST, *options)
    if find_spec("streamlit") is None:
        message = "No module named 'streamlit'"
        raise ModuleNotFoundError(message, name="streamlit")
    os.execve(server[0], server, {**APP_SETTINGS, **environment()})  # noqa: S606 - no shell


def _app(given: Sequence[str]) -> list[str]:
    parser = argparse.ArgumentParser(
        prog=f"{RAUQ_COMMAND} app",
        allow_abbrev=False,
        usage="%(prog)s [--port N] [OPTION OF STREAMLIT ...]",
        description="Open the app on http://127.0.0.1:8501, for the user of this machine. Runs are read from the "
        "folder runs, or from that of RAUQ_RUNS. Streamlit's options, such as --server.baseUrlPath=rauq, may follow.",
    )
    parser.add_argument("--port", type=int, metavar="N", help="default: 8501, or the next one that is free")
    asked, options = parser.parse_known_args(given)
    port = () if asked.port is None else (f"--server.port={asked.port}",)
    return command("streamlit", "run", str(APP), *port, *options)
