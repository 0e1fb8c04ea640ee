"""A client of the app without a browser: one session over the server's websocket, which opens pages, clicks, types."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from streamlit.proto.Alert_pb2 import Alert
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Block_pb2 import Block
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.Common_pb2 import StringArray
from streamlit.proto.Delta_pb2 import Delta
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.sync.client import ClientConnection, connect

PATIENCE = 120.0  # seconds that a page may take
OF_ATLAS = "example=unknown-place"  # opens Inspect on an answer of the embedded model, which the form then names
LONG_PROMPT = "{}. Once upon a time "  # the answer has more than a hundred tokens
NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})
NO_HEADERS: Mapping[str, str] = MappingProxyType({})
_WAIT = 0.05  # seconds for a message, until it is checked again which fragments are due


@dataclass(eq=False)
class Client:
    """What a browser knows of its session.

    `receive` is given every raw message, and a page may take `patience` seconds. `session` is the session's name.
    `asked`: a run of the page was requested and has not begun; `running`: it has. `pages` maps addresses of pages to
    their hashes, `widgets` keys of widgets to their ids, `drawn` those of the latest run, `kinds` all ids to the kinds
    of their elements, and `polls` each fragment that reruns to its interval and its next time. `faults` are errors that
    no page should show, `refusals` the titles of error messages that it shows by design.
    """

    connection: ClientConnection
    address: str
    receive: Callable[[bytes], None]
    patience: float = PATIENCE
    query: str = ""
    page: str = ""
    session: str = ""
    asked: bool = False
    running: bool = False
    pages: dict[str, str] = field(default_factory=dict)
    widgets: dict[str, str] = field(default_factory=dict)
    drawn: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    polls: dict[str, tuple[float, float]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)

    @property
    def settled(self) -> bool:
        """Whether the page is drawn and no fragment reruns."""
        return not (self.asked or self.running or self.polls)

    def open(self, page: str, query: str = "") -> None:
        """Open a page, the first one by its address, others by a click on it, and wait until it has settled."""
        self.visit(page, query)
        self.settle()

    def visit(self, page: str, query: str = "") -> None:
        """Open a page, and wait until it is drawn, whether or not fragments rerun."""
        self.query, self.page = query, self.pages.get(page, "")
        self._run("" if self.page else page)
        self.wait_for_page()
        self.page = self.pages.get(page, self.page)  # the hash of an address is not that of its page

    def change(self, *states: WidgetState) -> None:
        """Give widgets new values; returns at once."""
        self._run(states=states)

    def click(self, key: str, *typed: WidgetState) -> None:
        """Wait for a button and click it, with new values of other widgets; returns at once."""
        self.wait_until(lambda: key in self.widgets)
        self._run(states=(*typed, WidgetState(id=self.widgets[key], trigger_value=True)))

    def typed(self, key: str, text: str) -> WidgetState:
        """A text in a field."""
        return WidgetState(id=self.widgets[key], string_value=text)

    def chosen(self, key: str, *options: str) -> WidgetState:
        """Options of a group, or of a slider, by their labels."""
        return WidgetState(id=self.widgets[key], string_array_value=StringArray(data=options))

    def settle(self) -> None:
        """Wait until the page is drawn and no fragment reruns."""
        self.wait_until(lambda: self.settled)

    def wait_for_page(self) -> None:
        """Wait until the page is drawn, whether or not fragments rerun."""
        self.wait_until(lambda: not (self.asked or self.running))

    def wait_until(self, reached: Callable[[], bool]) -> None:
        """Receive messages, and rerun the fragments that are due, until a condition holds.

        Raises:
            TimeoutError: it takes longer than its patience.
        """
        deadline = time.monotonic() + self.patience
        while not reached():
            if time.monotonic() > deadline:
                what = "to be drawn" if self.asked or self.running else "to end its job"
                message = f"A page took more than {self.patience:g} s {what}: {self.query}"
                raise TimeoutError(message)
            with suppress(TimeoutError):
                self._receive(self.connection.recv(_WAIT, decode=False))
            self._poll()

    def _run(self, page_name: str = "", *, states: Sequence[WidgetState] = ()) -> None:
        self.asked, self.polls = True, {}
        rerun = ClientState(query_string=self.query, page_script_hash=self.page, page_name=page_name)
        rerun.context_info.url = f"{self.address}/{page_name}"
        rerun.widget_states.widgets.extend(states)
        self.connection.send(BackMsg(rerun_script=rerun).SerializeToString())

    def _poll(self) -> None:
        for fragment, (interval, due) in self.polls.items():
            if time.monotonic() > due:
                self.polls[fragment] = (interval, time.monotonic() + interval)
                rerun = ClientState(query_string=self.query, page_script_hash=self.page, fragment_id=fragment)
                rerun.is_auto_rerun = True
                self.connection.send(BackMsg(rerun_script=rerun).SerializeToString())

    def _receive(self, raw: bytes) -> None:
        self.receive(raw)
        message = ForwardMsg.FromString(raw)
        kind = message.WhichOneof("type")
        if kind == "new_session" and not message.metadata.run.fragment_ids:
            self.page, self.session = message.new_session.page_script_hash, message.new_session.initialize.session_id
            self.asked, self.running, self.polls, self.drawn = False, True, {}, {}
        elif kind == "script_finished":
            self._finished(message.script_finished)
        elif kind == "page_info_changed":
            self.query = message.page_info_changed.query_string
        elif kind == "navigation":
            self.pages = {page.url_pathname: page.page_script_hash for page in message.navigation.app_pages}
        elif kind == "auto_rerun":
            interval = message.auto_rerun.interval
            self.polls[message.auto_rerun.fragment_id] = (interval, time.monotonic() + interval)
        elif kind == "page_not_found":
            self.faults.append(f"page not found: {message.page_not_found.page_name}")
        elif kind == "delta":
            self._draw(message.delta)

    def _finished(self, status: int) -> None:
        if status == ForwardMsg.FINISHED_WITH_COMPILE_ERROR:
            self.faults.append("the script does not compile")
        if status == ForwardMsg.FINISHED_SUCCESSFULLY:
            self.widgets = self.drawn  # after a run that was cut off, those of the page before stay
        if status != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
            self.running = False  # a run of a fragment may have cut off that of the page

    def _draw(self, delta: Delta) -> None:
        kind = delta.WhichOneof("type")
        if kind == "new_element":
            self._show(delta.new_element)
        elif kind == "add_block":
            self._show_block(delta.add_block)

    def _show_block(self, block: Block) -> None:
        kind = block.WhichOneof("type")
        if kind is not None and (widget := getattr(getattr(block, kind), "id", "")):
            self._know(widget)

    def _know(self, widget: str) -> None:
        key = widget.rpartition("-")[2]
        self.widgets[key] = self.drawn[key] = widget

    def _show(self, element: Element) -> None:
        kind = element.WhichOneof("type")
        shown = getattr(element, kind)
        if kind == "exception":
            self.faults.append(f"{shown.type}: {shown.message}")
        elif kind == "alert" and shown.format == Alert.ERROR:
            self.refusals.append(shown.body)
        elif hasattr(shown, "id"):
            self._know(shown.id)
            self.kinds[shown.id] = kind


@contextmanager
def connected(
    address: str,
    receive: Callable[[bytes], None] = lambda _raw: None,
    *,
    headers: Mapping[str, str] = NO_HEADERS,
    protocols: Sequence[str] = ("streamlit",),
    options: Mapping[str, Any] = NO_OPTIONS,
) -> Iterator[Client]:
    """A new session of the server at an address; `options` are further ones of the connection."""
    scheme = "wss" if urlsplit(address).scheme == "https" else "ws"
    with connect(
        f"{scheme}://{urlsplit(address).netloc}/_stcore/stream",
        subprotocols=list(protocols),
        max_size=None,
        ping_interval=None,
        additional_headers=headers,
        **options,
    ) as connection:
        yield Client(connection, address, receive)
