"""Misuse of a hosted app, alone and behind the real nginx: how long others wait meanwhile.

Visitors hang up in the middle, fill the queue and leave, stay silent, send values of a wrong kind, or use the name of
a session that is not theirs. Each time another visitor asks for a short answer, or opens a page.
"""

import os
import resource
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from random import Random
from typing import IO

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.exceptions import ConnectionClosed

from analysis.evidence.record import Bound, Record
from benchmarks.support.recording import measured
from benchmarks.support.server import hosting
from pages.ui.host.guarding.nginx import HEADER
from rauq.checkpoints.model_info import inspect_model
from tests.robustness.client import Client
from tests.robustness.hosted.proxy import Way, behind_nginx
from tests.robustness.hosted.states import hostile_state

SEED = 3
LEAVERS, AT_ONCE, LEAVER_TOKENS, STAY = 200, 50, 64, 1.0  # visitors, how many at a time, and seconds until they leave
FILLERS, EACH, FILLER_TOKENS, FILL = 2, 32, 256, 6.0  # addresses, the sessions of each, and seconds until they leave
SILENT, SOFT_LIMIT, SILENCE = 1_100, 1_024, 25.0  # connections, files that the host may open at first, and seconds
WRONG = 299  # values
MOST_WAIT, MOST_PAGE, MOST_LOG = 10.0, 2.0, 100_000  # seconds, seconds, bytes
ALONE, NGINX = "alone", "behind nginx"
_MODELS = {"RAUQ_MODELS": "smollm2"}


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What was done, what was measured of it, the value, and the most that is allowed."""

    done: str
    measure: str
    value: float
    most: float


Misuse = Callable[[Way, "IO[bytes]"], Iterator[Finding]]


def _source(kind: int, number: int) -> str:
    """An address of this machine for the visitor of that number, of one kind of visitors."""
    return f"127.{kind}.{number // 250}.{number % 250 + 1}"


def _ask(client: Client, tokens: int) -> None:
    limit = WidgetState(id=client.widgets["max_new_tokens"], double_value=tokens)
    client.click("run", client.typed("prompt", "Write a long story."), limit)


def _newcomer(way: Way) -> float:
    """Seconds until a visitor who has just come has an answer of four tokens; infinite where it is refused."""
    with way.session("127.9.0.1") as client:
        client.open("inspect")
        begun = time.monotonic()
        _ask(client, 4)
        client.wait_until(lambda: "kept=" in client.query or bool(client.refusals))
        return float("inf") if client.refusals else time.monotonic() - begun


def _page(way: Way) -> float:
    """Seconds until another visitor's page is drawn."""
    begun = time.monotonic()
    with way.session("127.9.0.2") as client:
        client.visit("evidence")
    return time.monotonic() - begun


def _leave_after(way: Way, source: str, *, tokens: int, seconds: float) -> None:
    with suppress(ConnectionClosed, OSError, TimeoutError), way.session(source) as client:
        client.open("inspect")
        _ask(client, tokens)
        time.sleep(seconds)
        client.connection.socket.shutdown(socket.SHUT_RDWR)  # without a closing message


def leavers(way: Way, _log: "IO[bytes]") -> Iterator[Finding]:
    """Visitors ask and hang up in the middle."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for number in range(LEAVERS):
            pool.submit(_leave_after, way, _source(2, number), tokens=LEAVER_TOKENS, seconds=STAY)
    done = f"{LEAVERS} ask for {LEAVER_TOKENS} tokens and hang up"
    yield Finding(done=done, measure="s until the next visitor is answered", value=_newcomer(way), most=MOST_WAIT)


def fillers(way: Way, _log: "IO[bytes]") -> Iterator[Finding]:
    """Two addresses fill the queue and leave."""
    with ThreadPoolExecutor(FILLERS * EACH) as pool:
        for number in range(FILLERS * EACH):
            pool.submit(_leave_after, way, _source(3, number % FILLERS), tokens=FILLER_TOKENS, seconds=FILL)
    done = f"{FILLERS} addresses ask for {FILLERS * EACH} answers of {FILLER_TOKENS} tokens and leave"
    yield Finding(done=done, measure="s until the next visitor is answered", value=_newcomer(way), most=MOST_WAIT)


def silent(way: Way, log: "IO[bytes]") -> Iterator[Finding]:
    """Connections that say nothing, more than the files that a process usually may open."""
    begun, before = time.monotonic(), _size(log)
    done, pages = f"{SILENT} silent connections", list[float]()
    with ExitStack() as stack:
        connections = [stack.enter_context(_connected(way, _source(4, number // 50))) for number in range(SILENT)]
        while time.monotonic() - begun < SILENCE:
            pages.append(_page(way))
            time.sleep(0.5)
        open_still = sum(map(_is_open, connections))
    yield Finding(done=done, measure="s of the slowest page of others", value=max(pages), most=MOST_PAGE)
    yield Finding(done=done, measure=f"still open after {SILENCE:g} s", value=open_still, most=0)
    yield Finding(done=done, measure="bytes of log", value=_size(log) - before, most=MOST_LOG)


@contextmanager
def _connected(way: Way, source: str) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", way.port), timeout=10, source_address=(source, 0)) as connection:
        yield connection


def _is_open(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return bool(connection.recv(1_000))
    except BlockingIOError:
        return True
    except OSError:
        return False


def wrong_values(way: Way, log: "IO[bytes]") -> Iterator[Finding]:
    """A session sends values that no field of the page has."""
    before, rng = _size(log), Random(SEED)
    with way.session(_source(5, 0)) as client:
        client.open("inspect")
        for _ in range(WRONG):
            rerun = ClientState(query_string=client.query, page_script_hash=client.page)
            rerun.widget_states.widgets.append(hostile_state(client.kinds, "", rng))
            with suppress(ConnectionClosed):
                client.connection.send(BackMsg(rerun_script=rerun).SerializeToString())
        page = _page(way)
        with suppress(ConnectionClosed, TimeoutError):
            client.wait_for_page()
    done = f"{WRONG} values of a wrong kind"
    yield Finding(done=done, measure="bytes of log", value=_size(log) - before, most=MOST_LOG)
    yield Finding(done=done, measure="s of a page of others", value=page, most=MOST_PAGE)


def stranger(way: Way, log: "IO[bytes]") -> Iterator[Finding]:
    """Somebody else connects with the name of a session, which the log must not have either."""
    with way.session(_source(6, 0)) as owner:
        owner.open("learn")
        with way.session(_source(6, 1), protocols=("streamlit", "token", owner.session)) as other:
            other.open("learn")
            opened = float(other.session == owner.session)
        named = float(owner.session.encode() in os.pread(log.fileno(), _size(log), 0))
    done = "the name of another's session"
    yield Finding(done=done, measure="sessions of others opened", value=opened, most=0)
    yield Finding(done=done, measure="names in the log", value=named, most=0)


MISUSES: tuple[Misuse, ...] = (leavers, fillers, silent, wrong_values, stranger)


def _size(log: "IO[bytes]") -> int:
    return os.fstat(log.fileno()).st_size


@contextmanager
def few_files() -> Iterator[None]:
    """Let processes that begin in the body open as few files as is usual, at first; this one may open more again."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(SOFT_LIMIT, soft), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _of_all(way: Way, log: "IO[bytes]") -> list[Finding]:
    _newcomer(way)  # the model is loaded
    return [finding for misuse in MISUSES for finding in misuse(way, log)]


def findings(*, proxied: bool) -> list[Finding]:
    """What each misuse does to a host of its own, alone or behind nginx."""
    options = ("--proxy-header", HEADER) if proxied else ()
    with tempfile.TemporaryFile() as log, ExitStack() as stack:
        with few_files():
            server = stack.enter_context(hosting(*options, log=log, changes=_MODELS))
        if not proxied:
            return _of_all(Way(address=server.address), log)
        return _of_all(stack.enter_context(behind_nginx(server)), log)


def measure() -> Record:
    """Each misuse of a host alone, and of one behind nginx.

    Raises:
        ModelNotFound, InvalidInput: the model or nginx is not on this machine.
    """
    inspect_model("smollm2")  # else refusals would be measured
    alone, proxied = findings(proxied=False), findings(proxied=True)
    return measured(
        "misuse",
        title="Misuse of a hosted app, with smollm2",
        about=f"Each is done to a host alone, and to one behind the real nginx. {LEAVERS} visitors, {AT_ONCE} at once, "
        f"ask for {LEAVER_TOKENS} tokens and hang up after {STAY:g} s; {FILLERS} addresses with {EACH} sessions each "
        f"ask for {FILLER_TOKENS} tokens and leave after {FILL:g} s; then a visitor asks for four tokens. {SILENT} "
        f"connections say nothing, to a host that may open {SOFT_LIMIT} files at first. A session sends {WRONG} values "
        "of a wrong kind, and a stranger connects with the name of a session. All visitors have addresses of this "
        "machine, and share it with the host.",
        columns=("what was done", "measured", ALONE, NGINX, "at most"),
        rows=[
            (one.done, one.measure, one.value, other.value, one.most) for one, other in zip(alone, proxied, strict=True)
        ],
        bounds=[
            Bound(
                text=f"{name}, {one.done}: {one.value:.3g} {one.measure}, at most {one.most:,g}",
                met=one.value <= one.most,
            )
            for name, found in ((ALONE, alone), (NGINX, proxied))
            for one in found
        ],
        packages=("streamlit", "torch", "transformers"),
        finding=_finding(alone, proxied),
    )


def _finding(alone: list[Finding], proxied: list[Finding]) -> str:
    waits = [[one.value for one in found if one.most == MOST_WAIT] for found in (alone, proxied)]
    return (
        f"After visitors who hang up, or fill the queue and leave, the next one is answered within "
        f"{max(waits[0]):.1f} s, behind nginx within {max(waits[1]):.1f} s."
    )
