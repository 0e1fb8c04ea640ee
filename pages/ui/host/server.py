"""The server of the hosted mode, with its guard: `make host NAMES=rauq.example.org`."""

import argparse
import asyncio
import logging
import math
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import FrameType

import streamlit as st
import uvicorn
from starlette.middleware import Middleware
from streamlit import config
from streamlit.runtime import get_instance

from pages.ui.host import hosting
from pages.ui.host.guarding.connections import Connection, room_for_connections
from pages.ui.host.guarding.guard import LARGEST_MESSAGE, Guard, Rules
from pages.ui.host.guarding.nginx import Site, configuration
from pages.ui.host.monitoring import quiet_log
from pages.ui.host.queueing import leaving
from pages.ui.host.session_runs import clear_left, keep_runs, private_folder
from pages.ui.host.store import store
from pages.ui.host.stored_runs import check_store
from pages.ui.serving.middleware import MIDDLEWARE
from pages.ui.serving.workers import is_orphan, is_supervisor, supervise, this_worker
from rauq.checkpoints.memory import give_back
from rauq.errors import InvalidInput
from rauq.layout import HOST_COMMAND

_log = logging.getLogger(__name__)
PAGE_FAILED = "This page failed, or a field of it got a value that it cannot have. Reload it."
APP = Path(__file__).parents[3] / "app.py"
LOOK_SECONDS = 30.0  # between two looks for sessions that have left
NAMES = "RAUQ_NAMES"
METRICS_TOKEN = "RAUQ_METRICS_TOKEN"  # not an option, which other users of the machine could read
MOST_WORKERS = 64
_STOP_SECONDS = 30.0  # that running answers have once the server is asked to stop
_SHOWN_SECONDS = 1.0  # in which a page shows an answer that has ended
_KEEP_SECONDS = 10.0  # in which the last runs are brought into their store
_CLOSE_SECONDS = 5  # that connections have to close
_ANSWER_SECONDS = 60  # that a browser has for a ping, which it sees once it has read the pages that were sent before


def main() -> None:
    """Serve the app to others until it is stopped."""
    asked = _arguments()
    if asked.print_nginx:
        site = Site(name=asked.names.split(",")[0].strip(), port=asked.port, workers=asked.workers)
        sys.stdout.write(configuration(site))
        return
    if is_supervisor(asked.workers):
        sys.exit(supervise(asked.workers))
    os.environ[hosting.RUNS_VARIABLE] = asked.keep_runs
    middleware = prepare(asked.names, proxy_header=asked.proxy_header, frames=asked.frames)
    store().logs_prompts = asked.log_prompts
    app = st.App(APP, middleware=middleware, lifespan=clearing, on_script_error=page_failed)
    set_options()
    # Streamlit's own way to start it would buffer messages as large as those that it sends itself, and would trust
    # headers of proxies that are not named.
    settings = uvicorn.Config(
        app,
        host=asked.address,
        port=asked.port + this_worker().number - 1,
        http=Connection,
        limit_concurrency=room_for_connections(),
        ws_max_size=LARGEST_MESSAGE,
        ws_ping_timeout=_ANSWER_SECONDS,
        ws_per_message_deflate=False,
        proxy_headers=False,
        access_log=False,
        timeout_graceful_shutdown=_CLOSE_SECONDS,
    )
    server = Server(settings, stop_seconds=asked.stop_seconds)
    server.run()
    sys.exit(0 if server.started else 3)  # 3: the address cannot be used, as uvicorn has it


class Server(uvicorn.Server):
    """A server that lets running answers end when it is asked to stop, and takes no new ones; asked twice, it ends."""

    def __init__(self, settings: uvicorn.Config, *, stop_seconds: float) -> None:
        super().__init__(settings)
        self.stop_seconds, self.stop_by, self.shown_by = stop_seconds, math.inf, 0.0

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - uvicorn calls it
        """Stop taking work; unlike uvicorn's own, the process then ends with 0, not by the signal."""
        self.should_exit = store().jobs.stopping
        store().jobs.stopping = True
        self.stop_by = min(self.stop_by, time.monotonic() + self.stop_seconds)

    async def on_tick(self, counter: int) -> bool:
        """Look, ten times a second, whether the server is to end."""
        now = time.monotonic()
        if is_orphan() and not store().jobs.stopping:
            self.handle_exit(signal.SIGTERM, None)
        if store().jobs.jobs:
            self.shown_by = now + _SHOWN_SECONDS
        if store().jobs.stopping and now >= min(self.stop_by, self.shown_by):
            self.should_exit = True
        return await super().on_tick(counter)


def _log_to_stderr() -> None:
    """One line for each request and answer, with its time (UTC)."""
    handler, line = logging.StreamHandler(), logging.Formatter("%(asctime)sZ %(message)s", "%Y-%m-%dT%H:%M:%S")
    line.converter = time.gmtime
    handler.setFormatter(line)
    requests = logging.getLogger(quiet_log.REQUESTS)
    requests.setLevel(logging.INFO)
    requests.addHandler(handler)
    requests.propagate = False


def prepare(names: str, *, proxy_header: str = "", frames: str = "'none'") -> list[Middleware]:
    """Make this process a host under these names, separated by commas; return the middleware for `streamlit.App`."""
    os.environ[hosting.HOSTED_VARIABLE] = "1"  # jobs and pages read it
    leave_a_core()
    store().guarded = True
    _log_to_stderr()
    private_folder()  # deletes what a killed server left
    rules = Rules(
        names=tuple(name.strip() for name in names.lower().split(",")),
        proxy_header=proxy_header,
        frames=frames,
        metrics_token=os.environ.get(METRICS_TOKEN, ""),
    )
    return [Middleware(Guard, rules=rules), *MIDDLEWARE]


def leave_a_core() -> None:
    """Leave one core to the pages, and share the others, unless the operator says how many threads a model has.

    With a thread on every core, each step of an answer waits for the core that draws a page.
    """
    threads = ((os.cpu_count() or 1) - 1) // this_worker().of
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, threads)))  # before torch is imported


def set_options() -> None:
    """Set Streamlit's options of this mode, after `streamlit.App` is made; the guard rules on the names of the host."""
    config.get_config_options(force_reparse=True)  # with the file beside app.py, which is known since `st.App`
    config.set_option("server.allowedHosts", ["*"])
    config.set_option("server.disconnectedSessionTTL", int(2 * hosting.LEFT_SECONDS))  # `_clear` closes it before
    for name, value in hosting.STREAMLIT.items():
        config.set_option(name, value)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=HOST_COMMAND, description=__doc__)
    names = os.environ.get(NAMES, "")
    parser.add_argument(
        "--names",
        default=names,
        required=not names,
        help=f"names under which the host is reached, separated by commas; by default those of {NAMES}",
    )
    parser.add_argument(
        "--address", default="127.0.0.1", help="address to listen on; 0.0.0.0 for all, if no proxy stands before it"
    )
    parser.add_argument("--port", type=int, default=8501, help="port to listen on; the first one of several workers")
    parser.add_argument(
        "--workers",
        type=int,
        default=1,
        metavar="N",
        help="processes that serve the app, each on the next port, behind the nginx of --print-nginx; default 1",
    )
    parser.add_argument(
        "--proxy-header", default="", help="header in which a trusted proxy names the visitor's address"
    )
    parser.add_argument("--frames", default="'none'", help="sites that may show the app in a frame")
    parser.add_argument(
        "--keep-runs",
        default=os.environ.get(hosting.RUNS_VARIABLE, ""),
        metavar="ADDRESS",
        help="a store, such as s3://BUCKET/runs, in which visitors' runs are kept; by default they end with their "
        "sessions",
    )
    parser.add_argument("--log-prompts", action="store_true", help="write the prompts of visitors into the log")
    parser.add_argument(
        "--stop-seconds",
        type=float,
        default=_STOP_SECONDS,
        metavar="S",
        help="how long running answers may continue after SIGTERM; default 30",
    )
    parser.add_argument(
        "--print-nginx", action="store_true", help="print a configuration of nginx for the first of the names, and end"
    )
    asked = parser.parse_args()
    if not all(name.strip() for name in asked.names.split(",")):
        parser.error(f"got the names {asked.names!r}; give at least one, such as rauq.example.org")
    if not 1 <= asked.workers <= MOST_WORKERS:
        parser.error(f"got {asked.workers} workers; give 1 to {MOST_WORKERS}")
    # A worker that starts again while the store cannot be reached must not end the whole host.
    if asked.keep_runs and not asked.print_nginx and (asked.workers == 1 or is_supervisor(asked.workers)):
        try:
            check_store(asked.keep_runs)
        except InvalidInput as error:
            parser.exit(2, f"{parser.prog}: {error}\n")
    return asked


def page_failed(error: Exception) -> bool:
    """Say on the page that it failed, without details of this machine, which are in the log; return that this was done.

    A client that is not a browser may send a value that no field has.
    """
    where = traceback.extract_tb(error.__traceback__)[-1]
    store().counts.failure(type(error).__name__)
    _log.warning("A page failed: %s in %s:%d", type(error).__name__, where.filename, where.lineno or 0)
    st.error(PAGE_FAILED)
    return True


@asynccontextmanager
async def clearing(_app: st.App) -> AsyncIterator[None]:
    """Clear what sessions have left behind, for as long as the server runs."""
    quiet_log.install()
    tasks = [
        asyncio.create_task(_every(LOOK_SECONDS, _clear_left)),
        asyncio.create_task(_every(leaving.LOOK_SECONDS, _stop_left)),
        asyncio.create_task(_every(LOOK_SECONDS, _keep_runs)),
    ]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        last = threading.Thread(target=keep_runs, daemon=True)  # which nobody waits for longer
        last.start()
        await asyncio.to_thread(last.join, _KEEP_SECONDS)


async def _every(seconds: float, look: Callable[[], Awaitable[None]]) -> None:
    while True:
        await asyncio.sleep(seconds)
        try:
            await look()
        except Exception:  # noqa: BLE001 - the next look may go better, and nobody else would clear anything
            _log.exception("A regular task of the host failed")


async def _keep_runs() -> None:
    await asyncio.to_thread(keep_runs)


async def _stop_left() -> None:
    leaving.stop_left(list(store().jobs.jobs), get_instance().is_active_session)


async def _clear_left() -> None:
    quiet_log.install()  # libraries that were imported since have handlers of their own
    runtime = get_instance()
    left = await asyncio.to_thread(clear_left, runtime.is_active_session)
    for session in left:
        if not runtime.is_active_session(session):
            runtime.close_session(session)  # Streamlit itself would keep it until another session leaves
    if left:
        await asyncio.to_thread(give_back)


if __name__ == "__main__":
    main()
