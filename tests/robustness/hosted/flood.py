"""A flood: one hostile visitor among the users of a hosted app, none of whom may notice.

Rounds without and with the flood alternate, while the users go on.
"""

import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import cycle
from random import Random
from threading import Event, Thread

import numpy as np
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from websockets.exceptions import ConnectionClosed

from analysis.evidence.record import Bound, Cell, Record
from benchmarks.support.recording import measured
from benchmarks.support.server import Server, hosting
from tests.robustness.client import LONG_PROMPT, OF_ATLAS, Client, connected
from tests.robustness.hosted.browser import BY_PROXY, Browser, as_visitor
from tests.robustness.hosted.states import hostile_frame, hostile_state

USERS, ROUNDS, SECONDS, SEED = 19, 4, 20.0, 5
MOST_SLOWER = 1.5
BOUNDED = ("click", "change alpha")

_PAUSE = 2.0  # seconds, on average, between what a user does
_WRITERS = 3  # users who generate without a pause: the model is in use in every round
_FLOOD = "flood"
_UPLOAD, _FILES = 30 * 2**20, 4  # bytes of a file, and how many names they have
_GENERATING = 6  # sessions that start one answer after the other
_RUN = "run=smollm2-facts"


@dataclass(frozen=True, kw_only=True)
class Done:
    """What a user did, when (monotonic), and the seconds until its page had settled."""

    action: str
    begun: float
    seconds: float


@dataclass(eq=False, kw_only=True)
class User:
    """A user who changes alpha and clicks in turn, or one who generates, until `ended` is set."""

    server: Server
    number: int
    ended: Event
    done: list[Done] = field(default_factory=list)

    def use(self) -> None:
        """Use the app in one session; each user is a visitor of its own."""
        rng = Random(f"{SEED} {self.number}")
        with connected(self.server.address, headers=as_visitor(f"user {self.number}")) as client:
            client.open("inspect", OF_ATLAS)
            writes = self.number < _WRITERS
            for action in cycle(("generate",) if writes else BOUNDED):
                if self.ended.wait(0.0 if writes else rng.uniform(0, 2 * _PAUSE)):
                    return
                begun = time.monotonic()
                self._act(client, action, rng)
                self.done.append(Done(action=action, begun=begun, seconds=time.monotonic() - begun))

    def _act(self, client: Client, action: str, rng: Random) -> None:
        if action == "generate":
            client.click("run", client.typed("prompt", LONG_PROMPT.format("Zq")))
        elif action == "click":
            client.click("task_link")
        else:
            client.change(client.chosen("settings_alpha", f"{rng.randrange(20) / 20:g}"))
        client.settle()


@dataclass(eq=False, kw_only=True)
class Flood:
    """One hostile visitor, with a session that floods, others that generate, and uploads, until `ended` is set."""

    server: Server
    ended: Event = field(default_factory=Event)
    messages: int = 0
    uploads: int = 0
    generations: int = 0

    @contextmanager
    def going(self) -> Iterator[None]:
        """Flood while the body runs."""
        works = (self._flood, self._upload, *(self._generate,) * _GENERATING)
        threads = [Thread(target=work) for work in works]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self.ended.set()
            for thread in threads:
                thread.join()

    @contextmanager
    def _session(self, page: str, query: str) -> Iterator[Client]:
        """A session that is cut off at the end, even while it sends."""
        with suppress(ConnectionClosed), connected(self.server.address, headers=as_visitor(_FLOOD)) as client:
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
        browser, content = Browser(self.server, _FLOOD), bytes(_UPLOAD)
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


@dataclass(frozen=True, kw_only=True)
class Flooded:
    """What the users did in rounds without and with the flood, and the floods."""

    quiet: tuple[Done, ...]
    flooded: tuple[Done, ...]
    floods: tuple[Flood, ...]

    def seconds(self, *, of: str, flooded: bool) -> np.ndarray:
        """Durations of one kind of action in all rounds of a kind."""
        return np.array([done.seconds for done in (self.flooded if flooded else self.quiet) if done.action == of])

    def slower(self, of: str) -> float:
        """How many times as long an action takes during a flood, in the median."""
        return float(np.median(self.seconds(of=of, flooded=True)) / np.median(self.seconds(of=of, flooded=False)))


def flood(*, users: int, rounds: int, seconds: float) -> Flooded:
    """Flood the users of a hosted app in every second round."""
    with ExitStack() as stack:
        server = stack.enter_context(hosting(*BY_PROXY))
        _load_the_model(server)
        ended = Event()
        every = [User(server=server, number=number, ended=ended) for number in range(users)]
        pool = stack.enter_context(ThreadPoolExecutor(users))
        stack.callback(ended.set)
        using = [pool.submit(user.use) for user in every]
        time.sleep(2 * _PAUSE)
        spans, floods = [], []
        for number in range(2 * rounds):
            begun = time.monotonic()
            if number % 2:
                floods.append(Flood(server=server))
                with floods[-1].going():
                    time.sleep(seconds)
            else:
                time.sleep(seconds)
            spans.append((begun, time.monotonic()))
        ended.set()
        for one in using:
            one.result()
    done = [done for user in every for done in user.done]
    return Flooded(quiet=_within(done, spans[::2]), flooded=_within(done, spans[1::2]), floods=tuple(floods))


def _within(done: list[Done], spans: list[tuple[float, float]]) -> tuple[Done, ...]:
    """What began and ended within one of these times."""
    return tuple(
        one for one in done if any(begun < one.begun and one.begun + one.seconds < ended for begun, ended in spans)
    )


def _load_the_model(server: Server) -> None:
    with connected(server.address) as client:
        client.open("inspect", OF_ATLAS)
        client.click("run", client.typed("prompt", "A"))
        client.settle()


def measure() -> Record:
    """The flood in full."""
    found = flood(users=USERS, rounds=ROUNDS, seconds=SECONDS)
    slower = {action: found.slower(action) for action in BOUNDED}
    messages, uploads, generations = (
        sum(getattr(each, what) for each in found.floods) for what in ("messages", "uploads", "generations")
    )
    return measured(
        "flood",
        title="Flood: one hostile visitor of a hosted app",
        about=f"Of {USERS} users, {_WRITERS} generate without a pause, and the others change alpha and click in "
        f"Inspect, with pauses of {_PAUSE:g} s on average. In every second of {2 * ROUNDS} rounds of {SECONDS:g} s "
        "another visitor floods: one session sends runs of the page Methods, hostile values, cleared caches and garbage "
        f"as fast as the server takes them, {_GENERATING} others start one generation after the other, and files of "
        f"{_UPLOAD / 2**20:g} MiB are uploaded. The server is started as make host starts it.",
        columns=("action", "round", "times", "median s", "95 % s"),
        rows=[_row(found, action, flooded=flooded) for action in (*BOUNDED, "generate") for flooded in (False, True)],
        bounds=[
            Bound(
                text=f"{action}: {ratio:.2f} times as long during a flood, in the median; at most {MOST_SLOWER:g}",
                met=ratio <= MOST_SLOWER,
            )
            for action, ratio in slower.items()
        ],
        notes=[
            f"The server took {messages:,} messages, {uploads:,} uploads and {generations:,} generations of the flood."
        ],
        finding=f"A visitor who floods a hosted app makes it {max(slower.values()):.2f} times as slow for others.",
        packages=("streamlit", "torch", "numpy"),
    )


def _row(found: Flooded, action: str, *, flooded: bool) -> tuple[Cell, ...]:
    seconds = found.seconds(of=action, flooded=flooded)
    middle, high = np.quantile(seconds, (0.5, 0.95))
    return action, "flood" if flooded else "quiet", len(seconds), float(middle), float(high)
