"""A host of several workers behind the real nginx: answers a minute, memory, and one that is killed under load."""

import os
import signal
import socket
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path

import numpy as np
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from analysis.datasets.names import fact_set
from analysis.evidence.record import Bound, Record
from benchmarks.support.recording import at_most, measured, tell
from benchmarks.support.server import HEALTH, PATIENCE, Server, hosting
from pages.ui.host.guarding import places
from pages.ui.host.guarding.nginx import HEADER
from rauq.checkpoints.model_info import inspect_model
from tests.robustness.client import Client
from tests.robustness.hosted.proxy import Way, ask, nginx

COUNTS = (1, 2, 4)
VISITORS, QUESTIONS, TOKENS = 24, 3, 32
MOST_BACK = 30.0  # seconds until a killed worker serves again
_PAUSE = 0.1
_MODELS = {"RAUQ_MODELS": "smollm2"}


@dataclass(frozen=True, kw_only=True)
class Served:
    """What a host did: the seconds of each answer and of all, memory in MiB, and what a killed worker changed.

    `again`: questions that were asked once more; `moved`: visitors who lost their connection; `there`: how many were at
    the killed worker; `back`: seconds until it served again, nan where none was killed.
    """

    workers: int
    seconds: tuple[float, ...]
    whole: float
    memory: float
    again: int = 0
    moved: int = 0
    there: int = 0
    back: float = float("nan")
    faults: tuple[str, ...] = ()

    @property
    def each_minute(self) -> float:
        """Answers a minute."""
        return len(self.seconds) / self.whole * 60


def worker_pids(server: Server) -> dict[int, int]:
    """The process of each worker of a host, by its number; empty where it has one process."""
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
    marks = {int(pid): _variable(int(pid), "RAUQ_WORKER") for pid in children}
    return {int(mark.partition("/")[0]): pid for pid, mark in marks.items() if mark}


def _variable(pid: int, name: str) -> str:
    lines = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
    return next((line.partition("=")[2] for line in lines if line.startswith(f"{name}=")), "")


def _memory(server: Server) -> float:
    """Memory of all processes of a host in MiB; what several share counts once."""
    pids = [server.process.pid, *worker_pids(server).values()]
    return sum(_proportional(pid) for pid in pids) / 1024


def _proportional(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


@dataclass(eq=False, kw_only=True)
class _Visitor:
    """A visitor with an address and cookies of its own, who connects again as a browser does."""

    port: int
    number: int
    questions: Sequence[str]
    cookies: dict[str, str] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    again: int = 0
    moved: int = 0
    faults: list[str] = field(default_factory=list)

    @property
    def source(self) -> str:
        """The visitor's own address of this machine."""
        return f"127.0.1.{self.number + 1}"

    @property
    def worker(self) -> int:
        """The worker that the visitor's cookie names; 0 for none."""
        return int(self.cookies.get(places.COOKIE, 0))

    def arrive(self) -> None:
        """Load the page, which brings the cookies."""
        status, _, given = ask(self.port, headers={"Accept": "text/html"}, source=self.source)
        if status != HTTPStatus.OK:
            self.faults.append(f"the page was answered with {status}")
        self._keep(given)

    def stay(self) -> None:
        """Ask all questions, one after the other, again where the connection is lost before the answer."""
        query, left, deadline = "", list(self.questions), time.monotonic() + PATIENCE
        while left and time.monotonic() < deadline:
            try:
                with self._connected() as client:
                    client.open("inspect", query)
                    while left:
                        query = self._answered(client, left[0])
                        left.pop(0)
                    self.faults += client.faults
            except ConnectionClosed:
                self.moved, self.again = self.moved + 1, self.again + 1
            except (InvalidHandshake, OSError):
                time.sleep(_PAUSE)
        self.faults += [f"no answer to {question}" for question in left]

    def _answered(self, client: Client, question: str) -> str:
        begun, before = time.monotonic(), client.query
        limit = WidgetState(id=client.widgets["max_new_tokens"], double_value=TOKENS)
        client.click("run", client.typed("prompt", question), limit)
        client.wait_until(lambda: ("kept=" in client.query and client.query != before) or bool(client.refusals))
        client.settle()
        self.faults += client.refusals
        self.seconds.append(time.monotonic() - begun)
        return client.query

    @contextmanager
    def _connected(self) -> Iterator[Client]:
        way = Way(address=f"https://127.0.0.1:{self.port}")
        with way.session(self.source, cookies=self.cookies) as client:
            response = client.connection.response
            self._keep(response.headers.get_all("Set-Cookie") if response else [])
            yield client

    def _keep(self, given: Sequence[str]) -> None:
        pairs = (cookie.partition(";")[0].partition("=") for cookie in given)
        self.cookies |= {name: value for name, _, value in pairs}


def served(workers: int, *, kills: bool = False) -> Served:
    """Let visitors ask a host of that many workers; with `kills`, one of these ends in the middle."""
    with (
        tempfile.TemporaryDirectory() as folder,
        hosting("--proxy-header", HEADER, workers=workers, changes=_MODELS) as server,
        nginx(Path(folder), port=_port(server), workers=workers) as port,
    ):
        _warm(port, workers)
        visitors = _visitors(port, VISITORS)
        at_first = {visitor.number: visitor.worker for visitor in visitors}
        begun = time.monotonic()
        with ThreadPoolExecutor(VISITORS) as pool:
            staying = [pool.submit(visitor.stay) for visitor in visitors]
            back = _kill_one(server, visitors) if kills else float("nan")
            for one in staying:
                one.result()
        whole = time.monotonic() - begun
        return Served(
            workers=workers,
            seconds=tuple(seconds for visitor in visitors for seconds in visitor.seconds),
            whole=whole,
            memory=_memory(server),
            again=sum(visitor.again for visitor in visitors),
            moved=sum(visitor.moved > 0 for visitor in visitors),
            there=sum(worker == _KILLED for worker in at_first.values()) if kills else 0,
            back=back,
            faults=tuple(f"{visitor.source}: {fault}" for visitor in visitors for fault in visitor.faults),
        )


_KILLED = 1


def _port(server: Server) -> int:
    return int(server.address.rpartition(":")[2])


def _visitors(port: int, count: int, *, first: int = 0) -> list[_Visitor]:
    asked = [example.prompt for example in fact_set("facts", kind="instruct").examples]
    found = []
    for number in range(first, first + count):
        questions = [asked[(number * QUESTIONS + turn) % len(asked)] for turn in range(QUESTIONS)]
        found.append(_Visitor(port=port, number=number, questions=questions))
        found[-1].arrive()
    return found


def _warm(port: int, workers: int) -> None:
    """Let every worker load its model, and answer twice: the first turn is slower."""
    for number in range(1, workers + 1):
        visitor = _visitors(port, 1, first=VISITORS + number)[0]
        if workers > 1:
            visitor.cookies[places.COOKIE] = str(number)
        visitor.stay()
        if visitor.faults:
            tell(f"while a worker warmed up: {visitor.faults}")


def _kill_one(server: Server, visitors: Sequence[_Visitor]) -> float:
    """Kill a worker once a third of the questions is answered; return the seconds until it serves again."""
    while sum(len(visitor.seconds) for visitor in visitors) < VISITORS * QUESTIONS / 3:
        time.sleep(_PAUSE)
    os.kill(worker_pids(server)[_KILLED], signal.SIGKILL)
    begun = time.monotonic()
    while not _is_healthy(_port(server) + _KILLED - 1):
        time.sleep(_PAUSE)
    return time.monotonic() - begun


def _is_healthy(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as opened:
            opened.sendall(f"GET {HEALTH} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n".encode())
            return b" 200 " in opened.recv(64)
    except OSError:
        return False


def measure() -> Record:
    """A host of one, two and four workers, and one of four of which one is killed.

    Raises:
        ModelNotFound, InvalidInput: the model or nginx is not on this machine.
    """
    inspect_model("smollm2")  # else refusals would be measured
    found = []
    for count, kills in [*((count, False) for count in COUNTS), (COUNTS[-1], True)]:
        found.append(served(count, kills=kills))
        tell(f"{count} workers{', one killed' if kills else ''}: {found[-1].each_minute:.0f} answers a minute")
    return _record(found)


def _record(found: Sequence[Served]) -> Record:
    one, *several, killed = found
    faults = [fault for host in found for fault in host.faults]
    wanted, given = VISITORS * QUESTIONS * len(found), sum(len(host.seconds) for host in found)
    most = several[-1]
    return measured(
        "workers",
        title="Several processes of a host behind nginx, with smollm2",
        about=f"{VISITORS} visitors, each with an address and cookies of its own, come at once through the real nginx, "
        f"with the configuration of --print-nginx, and ask {QUESTIONS} questions each, {TOKENS} tokens. Memory is that "
        "of all processes, what they share counted once. In the last row the first worker is killed once a third is "
        "answered; its visitors connect again, as a browser does, and ask what was not answered again. Each worker has "
        "answered before. Server and visitors share the machine.",
        columns=(
            *("workers", "answers", "answers a minute", "against one", "median s", "95 % s"),
            *("memory MiB", "each further MiB", "visitors moved", "asked again", "back after s"),
        ),
        rows=[_row(host, one, is_killed=host is killed) for host in found],
        bounds=[
            Bound(text=f"{given} of {wanted} questions answered", met=given == wanted),
            at_most("failures", len(faults), 0),
            Bound(
                text=f"{killed.moved} visitors moved, of whom {killed.there} were at the killed worker",
                met=killed.moved == killed.there,
            ),
            at_most("seconds until a killed worker serves again", killed.back, MOST_BACK),
        ],
        notes=faults[:20],
        packages=("streamlit", "torch", "transformers"),
        finding=f"On {os.cpu_count()} cores, {most.workers} workers answer {most.each_minute / one.each_minute:.2f} "
        f"times as fast as one; a killed one is back after {killed.back:.0f} s, and its visitors ask again elsewhere.",
    )


def _row(host: Served, one: Served, *, is_killed: bool) -> tuple[str | int | float, ...]:
    further = (host.memory - one.memory) / (host.workers - 1) if host.workers > 1 else float("nan")
    return (
        f"{host.workers}, one killed" if is_killed else str(host.workers),
        len(host.seconds),
        host.each_minute,
        host.each_minute / one.each_minute,
        *map(float, np.quantile(host.seconds or [np.nan], (0.5, 0.95))),
        host.memory,
        further,
        host.moved,
        host.again,
        host.back,
    )
