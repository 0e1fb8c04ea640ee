"""A flood: one hostile visitor among the users of a hosted app, none of whom may notice.

Rounds without and with the flood alternate, while the users go on.
"""

import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from itertools import cycle
from multiprocessing import get_context
from random import Random
from threading import Event

import numpy as np

from analysis.evidence.record import Bound, Cell, Record
from benchmarks.support.recording import measured
from benchmarks.support.server import Server, hosting
from tests.robustness.client import LONG_PROMPT, OF_ATLAS, Client, connected
from tests.robustness.hosted import flooding
from tests.robustness.hosted.browser import BY_PROXY, as_visitor
from tests.robustness.hosted.flooding import GENERATING, UPLOAD, Sent

USERS, ROUNDS, SECONDS, SEED = 19, 4, 20.0, 5
MOST_SLOWER = 1.5
BOUNDED = ("click", "change alpha")

_PAUSE = 2.0  # seconds, on average, between what a user does
_WRITERS = 3  # users who generate without a pause: the model is in use in every round


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


@dataclass(frozen=True, kw_only=True)
class Flooded:
    """What the users did in rounds without and with the flood, and the floods."""

    quiet: tuple[Done, ...]
    flooded: tuple[Done, ...]
    floods: tuple[Sent, ...]

    def seconds(self, *, of: str, flooded: bool) -> np.ndarray:
        """Durations of one kind of action in all rounds of a kind."""
        return np.array([done.seconds for done in (self.flooded if flooded else self.quiet) if done.action == of])

    def slower(self, of: str) -> float:
        """How many times as long an action takes during a flood, in the median."""
        return float(np.median(self.seconds(of=of, flooded=True)) / np.median(self.seconds(of=of, flooded=False)))


def flooded(*, users: int, rounds: int, seconds: float) -> Flooded:
    """Flood the users of a hosted app in every second round."""
    with ExitStack() as stack:
        server = stack.enter_context(hosting(*BY_PROXY))
        _load_the_model(server)
        ended = Event()
        every = [User(server=server, number=number, ended=ended) for number in range(users)]
        pool = stack.enter_context(ThreadPoolExecutor(users))
        stack.callback(ended.set)
        using = [pool.submit(user.use) for user in every]
        flooder = stack.enter_context(_another_process())
        spans, floods = [], []
        for number in range(2 * rounds):
            begun = time.monotonic()
            if number % 2:
                floods.append(flooder.submit(flooding.flood, server.address, seconds).result())
            else:
                time.sleep(seconds)
            spans.append((begun, time.monotonic()))
        ended.set()
        for one in using:
            one.result()
    done = [done for user in every for done in user.done]
    return Flooded(quiet=_within(done, spans[::2]), flooded=_within(done, spans[1::2]), floods=tuple(floods))


@contextmanager
def _another_process() -> Iterator[ProcessPoolExecutor]:
    """A process that has imported what it needs: users whose times are taken do not share one with the flood."""
    imports = {"initializer": import_module, "initargs": (flooding.__name__,)}
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), **imports) as pool:
        pool.submit(time.monotonic).result()
        yield pool


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
    found = flooded(users=USERS, rounds=ROUNDS, seconds=SECONDS)
    slower = {action: found.slower(action) for action in BOUNDED}
    messages, uploads, generations = (
        sum(getattr(each, what) for each in found.floods) for what in ("messages", "uploads", "generations")
    )
    return measured(
        "flood",
        title="Flood: one hostile visitor of a hosted app",
        about=f"Of {USERS} users, {_WRITERS} generate without a pause, and the others change alpha and click in "
        f"Inspect, with pauses of {_PAUSE:g} s on average. In every second of {2 * ROUNDS} rounds of {SECONDS:g} s "
        "another visitor floods: one session sends runs of the page Methods, hostile values, cleared caches and "
        f"garbage as fast as the server takes them, {GENERATING} others start one generation after the other, and "
        f"files of {UPLOAD / 2**20:g} MiB are uploaded. The server is started as make host starts it, and the "
        "process that floods has the lowest priority, since a visitor computes on another machine.",
        columns=("action", "round", "times", "median s", "95 % s"),
        rows=[_row(found, action, flooded=flooded) for action in (*BOUNDED, "generate") for flooded in (False, True)],
        bounds=[
            Bound(
                text=f"{action}: {ratio:.2f} times as long during a flood, in the median: {MOST_SLOWER:g} allowed",
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
