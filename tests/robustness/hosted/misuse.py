"""Misuse of a hosted app, alone and behind the real nginx: how long others wait meanwhile.

Visitors hang up in the middle, fill the queue and leave, stay silent, come all at once, upload tables of millions of
rows, send values of a wrong kind, or use the name of a session that is not theirs. Each time another visitor asks for a
short answer, opens a page, or uploads a small table.
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
from http import HTTPStatus
from itertools import cycle
from random import Random
from typing import IO

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.Common_pb2 import FileUploaderState, UploadedFileInfo
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.exceptions import ConnectionClosed

from analysis.evidence.record import Bound, Record
from benchmarks.support.recording import measured
from benchmarks.support.server import hosting
from pages.ui.host import hosting as rules
from pages.ui.host.guarding.nginx import HEADER
from rauq.checkpoints.model_info import inspect_model
from tests.robustness.client import Client
from tests.robustness.hosted.browser import Browser
from tests.robustness.hosted.proxy import PATIENCE, Way, behind_nginx
from tests.robustness.hosted.states import hostile_state

SEED = 3
LEAVERS, AT_ONCE, LEAVER_TOKENS, STAY = 200, 50, 64, 1.0  # visitors, how many at a time, and seconds until they leave
FILLERS, EACH, FILLER_TOKENS, FILL = 2, 32, 256, 6.0  # addresses, the sessions of each, and seconds until they leave
SILENT, SOFT_LIMIT, SILENCE = 1_100, 1_024, 25.0  # connections, files that the host may open at first, and seconds
MANY, SHORT_TOKENS = 100, 16  # visitors at once, each with an address of its own
UPLOADERS, ROWS, SMALL_TABLE = 2, 30_000_000, b"prompt\na\nb\nc\n"  # rows of a table of 60 MB, and a table of three
LONG_TABLE = b"prompt\n" + b"a\n" * ROWS
WRONG = 299  # values
MOST_WAIT, MOST_PAGE, MOST_LOG = 10.0, 2.0, 100_000  # seconds, seconds, bytes
MOST_FIRST = 10.0  # seconds of the first page of one who comes with a hundred others
MOST_READ = 10.0  # seconds until a table of 60 MB that has arrived is read as far as it is used
ANSWERED = "s until the next visitor is answered"
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
    yield Finding(done=done, measure=ANSWERED, value=_newcomer(way), most=MOST_WAIT)


def fillers(way: Way, _log: "IO[bytes]") -> Iterator[Finding]:
    """Two addresses fill the queue and leave."""
    with ThreadPoolExecutor(FILLERS * EACH) as pool:
        for number in range(FILLERS * EACH):
            pool.submit(_leave_after, way, _source(3, number % FILLERS), tokens=FILLER_TOKENS, seconds=FILL)
    done = f"{FILLERS} addresses ask for {FILLERS * EACH} answers of {FILLER_TOKENS} tokens and leave"
    yield Finding(done=done, measure=ANSWERED, value=_newcomer(way), most=MOST_WAIT)


def at_once(way: Way, _log: "IO[bytes]") -> Iterator[Finding]:
    """Many visitors ask at the same moment, while one who is there opens pages, and others come."""
    pages, first = list[float](), list[float]()
    with ThreadPoolExecutor(MANY) as pool, way.session("127.9.0.3") as client:
        client.open("inspect")
        asked = [pool.submit(_is_answered, way, _source(7, 50 * number)) for number in range(MANY)]
        for page in cycle(("evidence", "inspect")):
            begun = time.monotonic()
            client.visit(page)
            pages.append(time.monotonic() - begun)
            first.append(_page(way))
            if all(one.done() for one in asked):
                break
            time.sleep(0.5)
    refused, done = sum(not one.result() for one in asked), f"{MANY} visitors at once ask for {SHORT_TOKENS} tokens"
    yield Finding(done=done, measure="without an answer", value=refused, most=0)
    yield Finding(done=done, measure="s of the slowest page of one who is there", value=max(pages), most=MOST_PAGE)
    yield Finding(done=done, measure="s of the slowest first page of others", value=max(first), most=MOST_FIRST)


def _is_answered(way: Way, source: str) -> bool:
    with way.session(source) as client:
        client.patience = 2 * PATIENCE
        client.open("inspect")
        _ask(client, SHORT_TOKENS)
        client.wait_until(lambda: "kept=" in client.query or bool(client.refusals))
        return not client.refusals


def long_tables(way: Way, _log: "IO[bytes]") -> Iterator[Finding]:
    """Visitors upload tables of millions of rows, and another one a table of three."""
    with ThreadPoolExecutor(UPLOADERS) as pool:
        long = [pool.submit(_read_table, way, _source(8, number), LONG_TABLE) for number in range(UPLOADERS)]
        small = list[float]()
        while not all(one.done() for one in long):
            small.append(_read_table(way, _source(8, 200), SMALL_TABLE))
            time.sleep(0.5)
    done = f"{UPLOADERS} tables of {len(LONG_TABLE) // 10**6} MB, {ROWS:,} rows"
    measure = "s until those are read that the form uses"
    yield Finding(done=done, measure=measure, value=max(one.result() for one in long), most=MOST_READ)
    yield Finding(done=done, measure="s until another's three rows are read", value=max(small), most=MOST_PAGE)


def _read_table(way: Way, source: str, content: bytes) -> float:
    """Seconds until a table that has been uploaded is read."""
    with way.session(source) as client:
        client.open("runs", "view=new")
        answer = Browser(way.address, source, source=source).upload(client.session, "file", content)
        if answer.status != HTTPStatus.NO_CONTENT:
            message = f"An upload was refused: {answer.status} {answer.body[:200]!r}"
            raise RuntimeError(message)
        uploaded = UploadedFileInfo(name="table.csv", size=len(content), file_id="file")
        files = FileUploaderState(uploaded_file_info=[uploaded])
        begun = time.monotonic()
        client.change(WidgetState(id=client.widgets["new_run_upload_answers"], file_uploader_state_value=files))
        client.wait_until(lambda: client.settled and "start_run" in client.drawn)
        return time.monotonic() - begun


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


MISUSES: tuple[Misuse, ...] = (leavers, fillers, at_once, long_tables, silent, wrong_values, stranger)


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
        f"ask for {FILLER_TOKENS} tokens and leave after {FILL:g} s; then a visitor asks for four tokens. {MANY} "
        f"visitors ask for {SHORT_TOKENS} tokens at the same moment. {UPLOADERS} upload tables of "
        f"{len(LONG_TABLE) // 10**6} MB, of which the form uses {rules.HOST.rows} rows, while another uploads three "
        f"rows; both are counted from their arrival on. {SILENT} connections say nothing, to a host that may open "
        f"{SOFT_LIMIT} files at first. A session sends {WRONG} values of a wrong kind; a stranger connects with the "
        "name of a session. All visitors have addresses of this machine, and share it with the host.",
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
    waits = [[one.value for one in found if one.measure == ANSWERED] for found in (alone, proxied)]
    return (
        f"After visitors who hang up, or fill the queue and leave, the next one is answered within "
        f"{max(waits[0]):.1f} s, behind nginx within {max(waits[1]):.1f} s."
    )
