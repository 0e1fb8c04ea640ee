"""A crowd of visitors of a hosted app: together or at random; some leave, read slowly, or upload a file."""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from threading import Event, Thread

from streamlit.proto.Common_pb2 import FileUploaderState, UploadedFileInfo
from streamlit.proto.WidgetStates_pb2 import WidgetState

from analysis.datasets.names import fact_set
from tests.robustness.client import Client, connected
from tests.robustness.hosted.browser import Browser, as_visitor

SEED = 11
MOST_QUESTIONS = 3  # of a visitor
LEAVING = (0.0, 6.0)  # seconds between a question and the end of its tab
SLOW = 0.2  # seconds that a slow reader takes for each message
UPLOAD = 40 * 2**20  # bytes
PATIENCE = 300.0  # seconds that a visitor waits
_LOOK = 1.0  # seconds between two pages that are opened beside the crowd
_ROW = b"Where is the city number 1234567 of that country?,There\n"


@dataclass(frozen=True, kw_only=True)
class Passing:
    """Visitors who come independently of each other: for how many seconds, and how many a minute on average.

    `reading`: the least and the most seconds between an answer and the next question.
    """

    seconds: float
    each_minute: float
    reading: tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Arrival:
    """A visitor: who it is, its address, when it comes in seconds, and what it does."""

    name: str
    address: str
    at: float
    tokens: int
    questions: int = 1
    reading: tuple[float, float] = (0.0, 0.0)
    leaves: bool = False
    is_slow: bool = False
    uploads: bool = False


@dataclass(frozen=True, kw_only=True)
class Came:
    """What a crowd did: the seconds that each question took until its page was drawn, and those of others' pages.

    `present`: how many visitors were there at once, on average. `repeated`: how often a visitor clicked again, since
    the page had settled without an answer.
    """

    asked: tuple[float, ...]
    present: float
    beside: tuple[float, ...]
    repeated: int
    faults: tuple[str, ...]


def together(name: str, count: int, *, tokens: int, address: str = "") -> list[Arrival]:
    """Visitors who come at the same moment, behind one address or each with its own."""
    each = [(f"{name} {number}", address or f"{name} {number}") for number in range(count)]
    return [Arrival(name=own, address=behind, at=0.0, tokens=tokens) for own, behind in each]


def at_random(name: str, passing: Passing, *, tokens: int) -> list[Arrival]:
    """Visitors who come independently of each other: a third leaves, a tenth reads slowly, a tenth uploads a file."""
    rng, at, found = Random(SEED), 0.0, list[Arrival]()
    while (at := at + rng.expovariate(passing.each_minute / 60)) < passing.seconds:
        own = f"{name} {len(found)}"
        leaves, kind = rng.random() < 1 / 3, rng.random()
        found.append(
            Arrival(
                name=own,
                address=own,
                at=at,
                tokens=tokens,
                questions=rng.randint(1, MOST_QUESTIONS),
                reading=passing.reading,
                leaves=leaves,
                is_slow=kind < 0.1,
                uploads=kind >= 0.9,
            )
        )
    return found


def come(address: str, arrivals: Sequence[Arrival]) -> Came:
    """Let visitors come to a host, and open pages beside them, until the last has left."""
    questions = [example.prompt for example in fact_set("facts", kind="instruct").examples]
    visitors = [_Visitor(host=address, arrival=arrival, questions=questions) for arrival in arrivals]
    begun = time.monotonic()
    with _pages_beside(address) as beside, ThreadPoolExecutor(len(visitors)) as pool:
        list(pool.map(lambda visitor: visitor.come(begun), visitors))
    return Came(
        asked=tuple(seconds for visitor in visitors for seconds in visitor.asked),
        present=sum(visitor.stayed for visitor in visitors) / (time.monotonic() - begun),
        beside=tuple(beside),
        repeated=sum(visitor.repeated for visitor in visitors),
        faults=tuple(fault for visitor in visitors for fault in visitor.faults),
    )


@dataclass(eq=False, kw_only=True)
class _Visitor:
    """One visitor of a host."""

    host: str
    arrival: Arrival
    questions: Sequence[str]
    asked: list[float] = field(default_factory=list)
    stayed: float = 0.0
    repeated: int = 0
    faults: list[str] = field(default_factory=list)

    def come(self, begun: float) -> None:
        """Come at the time of arrival, and stay until all is asked and read."""
        time.sleep(max(0.0, begun + self.arrival.at - time.monotonic()))
        came = time.monotonic()
        try:
            read = _slowly if self.arrival.is_slow else _at_once
            with connected(self.host, read, headers=as_visitor(self.arrival.address)) as client:
                client.patience = PATIENCE
                client.open("inspect")
                self._stay(client, Random(f"{SEED} {self.arrival.name}"))
                self.faults += client.faults
        except Exception as error:  # noqa: BLE001 - every error is a fault
            self.faults.append(f"{self.arrival.name}: {type(error).__name__}: {error}")
        self.stayed = time.monotonic() - came

    def _stay(self, client: Client, rng: Random) -> None:
        for number in range(self.arrival.questions):
            if number:
                time.sleep(rng.uniform(*self.arrival.reading))
            begun, before = time.monotonic(), client.query
            self._ask(client, rng)
            if self.arrival.leaves and number == self.arrival.questions - 1:
                time.sleep(rng.uniform(*LEAVING))
                return
            self._await_answer(client, before, rng)
            self.asked.append(time.monotonic() - begun)
        if self.arrival.uploads:
            self._upload(client)

    def _ask(self, client: Client, rng: Random) -> None:
        limit = WidgetState(id=client.widgets["max_new_tokens"], double_value=self.arrival.tokens)
        client.click("run", client.typed("prompt", rng.choice(self.questions)), limit)

    def _await_answer(self, client: Client, before: str, rng: Random) -> None:
        """Wait as a person does, who clicks again where the page shows neither an answer nor that one is coming."""
        while True:
            client.wait_until(lambda: _is_answered(client, before) or (client.settled and "run" in client.widgets))
            client.settle()
            if _is_answered(client, before):
                return
            self.repeated += 1
            self._ask(client, rng)

    def _upload(self, client: Client) -> None:
        client.open("runs", "view=new")
        content = b"prompt,answer\n" + _ROW * (UPLOAD // len(_ROW))
        Browser(self.host, self.arrival.address).upload(client.session, "file", content)
        uploaded = UploadedFileInfo(name="questions.csv", size=len(content), file_id="file")
        files = FileUploaderState(uploaded_file_info=[uploaded])
        client.change(WidgetState(id=client.widgets["new_run_upload_answers"], file_uploader_state_value=files))
        client.settle()


def _is_answered(client: Client, before: str) -> bool:
    """Whether the address names another answer than before, or the page says why there is none."""
    return ("kept=" in client.query and client.query != before) or bool(client.refusals)


def _at_once(_raw: bytes) -> None:
    """Read a message."""


def _slowly(_raw: bytes) -> None:
    time.sleep(SLOW)


@contextmanager
def _pages_beside(address: str) -> Iterator[list[float]]:
    """The seconds that pages of another visitor take while the body runs."""
    took, ended = list[float](), Event()
    thread = Thread(target=_open_pages, args=(address, took, ended.wait))
    thread.start()
    try:
        yield took
    finally:
        ended.set()
        thread.join()


def _open_pages(address: str, took: list[float], wait: Callable[[float], bool]) -> None:
    with connected(address, headers=as_visitor("beside the crowd")) as client:
        client.open("inspect")
        while not wait(_LOOK):
            for page in ("evidence", "inspect"):
                begun = time.monotonic()
                client.visit(page)
                took.append(time.monotonic() - begun)
