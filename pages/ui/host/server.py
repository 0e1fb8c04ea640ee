"""The server of the hosted mode, with its guard: `make host NAMES=rauq.example.org`."""

import argparse
import asyncio
import gc
import logging
import os
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import streamlit as st
import uvicorn
from starlette.middleware import Middleware
from streamlit import config
from streamlit.runtime import get_instance

from pages.ui.host import hosting
from pages.ui.host.guard import LARGEST_MESSAGE, Guard, Rules
from pages.ui.host.session_runs import clear_left, private_folder
from pages.ui.host.store import store

_log = logging.getLogger(__name__)
PAGE_FAILED = "This page failed, or a field of it got a value that it cannot have. Reload it."
APP = Path(__file__).parents[3] / "app.py"
LOOK_SECONDS = 30.0  # between two looks for sessions that have left


def main() -> None:
    """Serve the app to others until it is stopped."""
    asked = _arguments()
    os.environ[hosting.HOSTED_VARIABLE] = "1"  # jobs and pages read it
    store().guarded = True
    private_folder()  # deletes what a killed server left
    rules = Rules(
        names=tuple(name.strip() for name in asked.names.lower().split(",")),
        proxy_header=asked.proxy_header,
        frames=asked.frames,
    )
    _set_options()
    app = st.App(APP, middleware=[Middleware(Guard, rules=rules)], lifespan=_clearing, on_script_error=page_failed)
    # Streamlit's own way to start it would buffer messages as large as those that it sends itself, and would trust
    # headers of proxies that are not named.
    uvicorn.run(
        app,
        host=asked.address,
        port=asked.port,
        ws_max_size=LARGEST_MESSAGE,
        ws_per_message_deflate=False,
        proxy_headers=False,
        access_log=False,
    )


def _set_options() -> None:
    """Set Streamlit's options of this mode; the guard rules on the names of the host."""
    config.set_option("server.allowedHosts", ["*"])
    config.set_option("server.disconnectedSessionTTL", int(2 * hosting.LEFT_SECONDS))  # `_clear` closes it before
    config.set_option("client.showErrorDetails", "none")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m pages.ui.host.server", description=__doc__)
    parser.add_argument("--names", required=True, help="names under which the host is reached, separated by commas")
    parser.add_argument("--address", default="0.0.0.0", help="address to listen on")  # noqa: S104 - it is for others
    parser.add_argument("--port", type=int, default=8501)
    parser.add_argument(
        "--proxy-header", default="", help="header in which a trusted proxy names the visitor's address"
    )
    parser.add_argument("--frames", default="'none'", help="sites that may show the app in a frame")
    asked = parser.parse_args()
    if not all(name.strip() for name in asked.names.split(",")):
        parser.error(f"got the names {asked.names!r}; give at least one, such as rauq.example.org")
    return asked


def page_failed(error: Exception) -> bool:
    """Say on the page that it failed, without details of this machine, which are in the log; return that this was done.

    A client that is not a browser may send a value that no field has.
    """
    where = traceback.extract_tb(error.__traceback__)[-1]
    _log.warning("A page failed: %s in %s:%d", type(error).__name__, where.filename, where.lineno or 0)
    st.error(PAGE_FAILED)
    return True


@asynccontextmanager
async def _clearing(_app: st.App) -> AsyncIterator[None]:
    """Clear what sessions have left behind, for as long as the server runs."""
    task = asyncio.create_task(_clear())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _clear() -> None:
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        try:
            await _clear_left()
        except Exception:  # noqa: BLE001 - the next look may go better, and nobody else would clear anything
            _log.exception("What sessions left behind was not cleared")


async def _clear_left() -> None:
    runtime = get_instance()
    left = await asyncio.to_thread(clear_left, runtime.is_active_session)
    for session in left:
        if not runtime.is_active_session(session):
            runtime.close_session(session)  # Streamlit itself would keep it until another session leaves
    if left:
        await asyncio.to_thread(gc.collect)


if __name__ == "__main__":
    main()
