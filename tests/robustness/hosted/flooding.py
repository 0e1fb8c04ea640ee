"""The hostile visitor of a flood: one session floods, others start generations, and files are uploaded."""

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from random import Random
from threading import Event, Thread

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from websockets.exceptions import ConnectionClosed

from tests.robustness.client import LONG_PROMPT, OF_ATLAS, Client, connected
from tests.robustness.hosted.browser import Browser, as_visitor
from tests.robustness.hosted.states import hostile_frame, hostile_state

SEED = 5
UPLOAD, GENERATING = 30 * 2**20, 6  # bytes of a file, and sessions that start one answer after the other
_FLOOD = "flood"
_FILES = 4  # names of files
_RUN = "run=smollm2-facts"


@dataclass(frozen=True, kw_only=True)
class Sent:
    """What the server took of a flood."""

    messages: int
    uploads: int
    generations: int


def flood(address: str, seconds: float) -> Sent:
    """Flood a server for so many seconds, as from another machine: what the flood computes takes little of this one."""
    os.nice(19)
    return _Flood(address=address).go(seconds)


@dataclass(eq=False, kw_only=True)
class _Flood:
    """One hostile visitor, with a session that floods, others that generate, and uploads, until `ended` is set."""

    address: str
    ended: Event = field(default_factory=Event)
    messages: int = 0
    uploads: int = 0
    generations: int = 0

    def go(self, seconds: float) -> Sent:
        """Flood for so many seconds."""
        works = (self._flood, self._upload, *(self._generate,) * GENERATING)
        threads = [Thread(target=work) for work in works]
        for thread in threads:
            thread.start()
        time.sleep(seconds)
        self.ended.set()
        for thread in threads:
            thread.join()
        return Sent(messages=self.messages, uploads=self.uploads, generations=self.generations)

    @contextmanager
    def _session(self, page: str, query: str) -> Iterator[Client]:
        """A session that is cut off at the end, even while it sends."""
        with suppress(ConnectionClosed), connected(self.address, headers=as_visitor(_FLOOD)) as client:
            client.visit(page, query)
            Thread(target=self._cut_off, args=(client,), daemon=True).start()
            yield client

    def _cut_off(self, client: Client) -> None:
        self.ended.wait()
        with suppress(OSError):
            client.connection.socket.shutdown(socket.SHUT_RDWR)

    def _flood(self) -> None:
        rng = Random(SEED)
        with self._session("methods", _RUN) as client:
            Thread(target=_read_all, args=(client,), daemon=True).start()
            while not self.ended.is_set():
                client.connection.send(_message(client, rng))
                self.messages += 1

    def _upload(self) -> None:
        browser, content = Browser(self.address, _FLOOD), bytes(UPLOAD)
        with self._session("inspect", OF_ATLAS) as client:
            while not self.ended.is_set():
                with suppress(OSError):
                    browser.upload(client.session, f"file-{self.uploads % _FILES}", content)
                    self.uploads += 1

    def _generate(self) -> None:
        with self._session("inspect", OF_ATLAS) as client:
            while not self.ended.is_set():
                client.click("run", client.typed("prompt", LONG_PROMPT.format("Zq")))
                client.settle()
                self.generations += 1


def _message(client: Client, rng: Random) -> bytes | str:
    """Runs of the heaviest page, hostile values, cleared caches and garbage."""
    kind = rng.random()
    if kind < 0.2:
        return hostile_frame("", rng)
    if kind < 0.3:
        return BackMsg(clear_cache=True).SerializeToString()
    rerun = ClientState(query_string=_RUN, page_script_hash=client.page)
    if kind < 0.5:
        rerun.widget_states.widgets.append(hostile_state(client.kinds, "", rng))
    return BackMsg(rerun_script=rerun).SerializeToString()


def _read_all(client: Client) -> None:
    """Read what the server sends, which would else soon hang up."""
    with suppress(ConnectionClosed):
        while True:
            client.connection.recv(decode=False)
