"""A flood: one hostile visitor among twenty users of a hosted app, none of whom may notice.

Rounds with and without the flood alternate, with the same actions of the users.
"""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from random import Random
from threading import Event, Thread

import numpy as np
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from websockets.exceptions import ConnectionClosed

from benchmarks.support.server import Server, hosting
from tests.robustness.client import OF_ATLAS, Client, connected
from tests.robustness.hosted.browser import BY_PROXY, Browser, as_visitor
from tests.robustness.hosted.states import hostile_frame, hostile_state

SEED = 5
_PAUSE = 2.0  # seconds between what a user does
_HOSTILE = as_visitor("flood")
_ALPHAS = tuple(f"{step / 20:g}" for step in range(20))
_UPLOAD = 30 * 2**20  # bytes


@dataclass(eq=False, kw_only=True)
class Flood:
    """One hostile visitor: a session that floods, and uploads, until `ended` is set."""

    server: Server
    ended: Event = field(default_factory=Event)
    sent: int = 0
    uploads: int = 0

    @contextmanager
    def going(self) -> Iterator[None]:
        """Flood while the body runs."""
        threads = [Thread(target=work) for work in (self._reruns, self._uploads)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self.ended.set()
            for thread in threads:
                thread.join()

    def _reruns(self) -> None:
        rng = Random(SEED)
        while not self.ended.is_set():
            with suppress(ConnectionClosed, TimeoutError), connected(self.server.address, headers=_HOSTILE) as client:
                client.visit("methods", "run=smollm2-facts")
                Thread(target=_read_all, args=(client,), daemon=True).start()
                while not self.ended.is_set():
                    self._send(client, rng)
                    self.sent += 1

    def _send(self, client: Client, rng: Random) -> None:
        """One message: runs of the heaviest page, generations, hostile values, cleared caches and garbage."""
        rerun = ClientState(query_string="run=smollm2-facts", page_script_hash=client.page)
        kind = rng.random()
        if kind < 0.2:
            client.connection.send(hostile_frame("", rng))
            return
        if kind < 0.3:
            client.connection.send(BackMsg(clear_cache=True).SerializeToString())
            return
        if kind < 0.5:
            rerun.widget_states.widgets.append(hostile_state(client.kinds, "", rng))
        client.connection.send(BackMsg(rerun_script=rerun).SerializeToString())

    def _uploads(self) -> None:
        browser, content = Browser(self.server, _HOSTILE["X-Test-Visitor"]), bytes(_UPLOAD)
        with suppress(ConnectionClosed), connected(self.server.address, headers=_HOSTILE) as client:
            client.visit("inspect")
            while not self.ended.is_set():
                with suppress(OSError):
                    browser.upload(client.session, f"file-{self.uploads % 4}", content)
                    self.uploads += 1


def _read_all(client: Client) -> None:
    """Read what the server sends, which would else soon hang up."""
    with suppress(ConnectionClosed):
        while True:
            client.connection.recv(decode=False)
