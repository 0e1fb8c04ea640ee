"""Attack: hostile values, messages and addresses from raw clients to a hosted app, while others own data there.

No page fails, the server stays up and takes no more memory, and nobody sees or loses what another session owns.
"""

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from random import Random
from types import MappingProxyType
from urllib.parse import urlencode
from uuid import UUID

import numpy as np
from websockets.exceptions import ConnectionClosed

from analysis.evidence.record import Bound, Record
from benchmarks.support.recording import measured, tell
from benchmarks.support.server import Server, hosting, memory_mib
from pages.ui.host.server import PAGE_FAILED
from tests.listed import PAGES
from tests.robustness.client import OF_ATLAS, Client, connected
from tests.robustness.hosted.browser import BY_PROXY, Browser, as_visitor
from tests.robustness.hosted.owner import Owner, Watch, owners
from tests.robustness.hosted.states import hostile_frame, hostile_state
from tests.robustness.load import words
from tests.robustness.surfaces.links import hostile_query

SEED, OWNERS = 11, 2
# Pages of runs take long: they get fewer values. 10,000 in all, and 2,000 addresses.
STATES = MappingProxyType(
    {
        "inspect": 2000,
        "compare": 1700,
        "answer_sets": 500,
        "methods": 500,
        "runs": 1700,
        "learn": 2000,
        "evidence": 1600,
    }
)
ADDRESSES = MappingProxyType(
    {"inspect": 400, "compare": 400, "answer_sets": 150, "methods": 150, "runs": 300, "learn": 300, "evidence": 300}
)
MOST_GROWTH = 0.10
LOOK = 100  # values between two looks at the memory

_PATIENCE = 60.0  # seconds that a page may take
_OWN_PATIENCE = 5.0  # seconds until an attacker gives up its own session
_EACH = 50  # values, or addresses, of one session; each is of another visitor, since a host bounds theirs
_RUN = "run=smollm2-facts"
_STARTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    dict.fromkeys(PAGES, ("",))
    | {
        "inspect": ("", f"{_RUN}&number=7", OF_ATLAS),
        "compare": ("", f"a=run:smollm2-facts:1&b={_RUN.replace('=', ':')}:3"),
        "answer_sets": tuple(f"{_RUN}&view={view}" for view in ("best", "answers", "length", "heads")),
        "methods": tuple(f"{_RUN}&view={view}" for view in ("ranking", "attention", "errors")),
        "runs": ("", "view=new"),
        "evidence": ("", "view=speed", "view=robustness"),
    }
)
# What Streamlit logs of a page that failed concerns its own session alone.
_FAULTS = ("Exception in ASGI", "Exception in callback", "Task exception", "Exception in thread", "was not cleared")


class _Broken(Exception):
    """A session of the attacker's has no page any more."""


@dataclass(frozen=True, kw_only=True)
class Attacked:
    """What one page was sent, its faults, and the seconds it all took.

    `broken`: how many of its own sessions the attacker broke: closed by the server, or with a page that said that it
    failed, or that no longer answered.
    """

    page: str
    states: int
    addresses: int
    broken: int
    faults: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Found:
    """The attacks on all pages, the faults of the server and of owners, and the server's memory in MiB on the way."""

    pages: tuple[Attacked, ...]
    faults: tuple[str, ...]
    memory: tuple[float, ...]

    @property
    def growth(self) -> float:
        """How much larger the memory was in the last quarter than in the quarter before, in the median, as a share."""
        quarter = max(1, len(self.memory) // 4)
        return float(np.median(self.memory[-quarter:]) / np.median(self.memory[-2 * quarter :][:quarter])) - 1


@dataclass(eq=False, kw_only=True)
class Attack:
    """An attack on one page; `owner` is one whose names the attacker knows, `every` is called after each value."""

    server: Server
    page: str
    seed: int
    owner: Owner
    watch: Watch
    every: Callable[[], None]
    broken: int = 0
    faults: list[str] = field(default_factory=list)

    def run(self, states: int, addresses: int) -> Attacked:
        """Send so many hostile values and addresses, in one session after the other."""
        begun = time.monotonic()
        self._in_sessions("values", states, self._send_values)
        self._in_sessions("address", addresses, self._open_address)
        self._guess()
        return Attacked(
            page=self.page,
            states=states,
            addresses=addresses,
            broken=self.broken,
            faults=tuple(self.faults),
            seconds=time.monotonic() - begun,
        )

    def _in_sessions(self, kind: str, count: int, act: Callable[[Client, Random], None]) -> None:
        numbers = list(range(count))
        while numbers:
            with (
                suppress(ConnectionClosed, _Broken),
                self._session(Random(f"{self.seed} {kind} {numbers[0]}")) as client,
            ):
                for _ in range(min(_EACH, len(numbers))):
                    number = numbers.pop(0)
                    self._do(act, client, f"{kind} {number}")
                continue
            self.broken += 1

    @contextmanager
    def _session(self, rng: Random) -> Iterator[Client]:
        with connected(self.server.address, self.watch, headers=as_visitor(f"{self.page} {rng.random()}")) as client:
            client.patience = _PATIENCE
            client.visit(self.page, rng.choice(_STARTS[self.page]))
            yield client

    def _do(self, act: Callable[[Client, Random], None], client: Client, name: str) -> None:
        try:
            act(client, Random(f"{self.seed} {self.page} {name}"))
        except TimeoutError as error:
            if name.startswith("address"):
                self.faults.append(f"{self.page}, {name}: {error}")
            raise _Broken from error
        self.faults += [f"{self.page}, {name}: {fault}" for fault in client.faults if "page not found" not in fault]
        client.faults.clear()
        if PAGE_FAILED in client.refusals:
            if name.startswith("address"):
                self.faults.append(f"{self.page}, {name}: {PAGE_FAILED}")
            raise _Broken

    def _send_values(self, client: Client, rng: Random) -> None:
        self.every()
        if client.page != client.pages[self.page]:  # a value led elsewhere
            client.visit(self.page, rng.choice(_STARTS[self.page]))
        while rng.random() < 0.3:
            client.connection.send(hostile_frame(self.owner.client.session, rng))
        if rng.random() < 0.02:
            client.page = rng.choice(("0" * 32, "../app.py", "\0"))
        kinds = self.owner.client.kinds | client.kinds
        client.patience = _OWN_PATIENCE
        client.change(*(hostile_state(kinds, self.owner.file, rng) for _ in range(rng.choice((1, 1, 2, 5)))))
        client.wait_for_page()

    def _open_address(self, client: Client, rng: Random) -> None:
        client.visit(self.page, urlencode(hostile_query(rng), errors="replace"))

    def _guess(self) -> None:
        """Ask for what others own by names that could be theirs."""
        browser, rng = (
            Browser(self.server.address, f"attacker of {self.page}"),
            Random(f"{self.seed} {self.page} guesses"),
        )
        for path in _guesses(rng, self.owner):
            for method in ("GET", "HEAD", "DELETE", "OPTIONS", "POST"):
                self.watch(browser.ask(path, method=method).body)
        self.watch(browser.upload(str(UUID(int=rng.getrandbits(128))), self.owner.file, b"garbage").body)


def _guesses(rng: Random, owner: Owner) -> Iterator[str]:
    name = f"{rng.getrandbits(224):056x}"
    yield from (f"/media/{name}{ending}" for ending in (".csv", ".safetensors", ".html", ""))
    yield from (
        f"/_stcore/upload_file/{session}/{owner.file}" for session in (UUID(int=rng.getrandbits(128)), "..", "x")
    )
    for place in ("media", "static", "component/x", "_stcore/bidi-components", "app/static", "_stcore", "~", "vendor"):
        yield from (f"/{place}/{path}" for path in ("../app.py", "..%2f..%2fapp.py", "%2e%2e/%2e%2e/etc/passwd", "//x"))
    yield from ("/_stcore/metrics", "/_stcore/script-health-check", "/_stcore/host-config", "/_stcore/health")


def attack(states: Mapping[str, int], addresses: Mapping[str, int], *, seed: int = SEED) -> Found:
    """Attack each page of a hosted app, whose sessions of others are looked at in the end."""
    memory: list[float] = []
    with tempfile.TemporaryFile() as log, ExitStack() as stack:
        server = stack.enter_context(hosting(*BY_PROXY, log=log))
        theirs = stack.enter_context(owners(server, words(OWNERS, seed)))
        watch = Watch(tuple(secret for owner in theirs for secret in owner.secrets))
        every = _Every(server, memory)
        pages = tuple(
            _told(
                Attack(server=server, page=page, seed=seed, owner=theirs[0], watch=watch, every=every).run(
                    states[page], addresses[page]
                )
            )
            for page in states
        )
        lost = [loss for owner in theirs for loss in owner.losses()]
        died = ["the server died"] * (server.process.poll() is not None)
        log.seek(0)
        lines = log.read().decode(errors="replace").splitlines()
    return Found(pages=pages, faults=(*died, *lost, *watch.seen, *logged(lines)), memory=tuple(memory))


@dataclass(eq=False)
class _Every:
    """Notes the memory of a server at every so many calls."""

    server: Server
    memory: list[float]
    calls: int = 0

    def __call__(self) -> None:
        if self.calls % LOOK == 0:
            self.memory.append(memory_mib(self.server))
        self.calls += 1


def _told(found: Attacked) -> Attacked:
    tell("\n".join([f"{found.page}: {found.states:,} in {found.seconds:.0f} s", *found.faults]))
    return found


def logged(lines: Sequence[str]) -> Iterator[str]:
    """The faults in the server's log, each with the lines after it."""
    for number, line in enumerate(lines):
        if any(fault in line for fault in _FAULTS):
            yield "\n".join(lines[number : number + 40])


def measure() -> Record:
    """The attack in full."""
    found = attack(STATES, ADDRESSES)
    states, addresses = sum(STATES.values()), sum(ADDRESSES.values())
    faults = [*(fault for page in found.pages for fault in page.faults), *found.faults]
    return measured(
        "hostile",
        title="Attack on a hosted app",
        about="Raw clients send what no browser sends to a server that is started as make host starts it: values of "
        "every type for widgets of every page, messages of every kind and garbage, addresses made from valid ones, and "
        f"requests for files of others by guessed names. {OWNERS} other sessions have an answer, an upload and a run, "
        "with a word of theirs in each, which is looked for in all that the attackers receive. A fault is an "
        "exception in the server, an address whose page fails or takes more than a minute, the death of the server, a "
        "word of another session, and anything that another session has lost in the end. An attacker may break its own "
        "session: its page then says that it failed.",
        columns=("page", "hostile values", "addresses", "own sessions broken", "faults", "seconds"),
        rows=[
            (page.page, page.states, page.addresses, page.broken, len(page.faults), page.seconds)
            for page in found.pages
        ],
        bounds=[
            Bound(
                text=f"{len(faults)} faults in {states:,} hostile values and {addresses:,} addresses", met=not faults
            ),
            Bound(
                text=f"memory up to {max(found.memory):.0f} MiB, {found.growth:+.1%} in the last quarter: "
                f"{MOST_GROWTH:.0%} allowed",
                met=found.growth <= MOST_GROWTH,
            ),
        ],
        notes=faults[:20],
        finding=f"{states:,} hostile values and {addresses:,} addresses to a hosted app: {len(faults)} faults.",
        packages=("streamlit", "torch", "numpy"),
    )
