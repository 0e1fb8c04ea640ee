"""One browser's worth of the app: a session over the websocket of its server, which opens pages, clicks and types."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from streamlit.proto.Alert_pb2 import Alert
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.Common_pb2 import StringArray
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.sync.client import ClientConnection, connect

PATIENCE = 120.0  # seconds that a page may take
_LOOK = 0.05  # seconds of waiting for a message, before it is seen whether a fragment is to be run again


@dataclass(eq=False)
class Visitor:
    """What a browser knows of its session.

    `heard` is given every message as it came. The page is `asked` for until its run begins, and then it is `running`.
    `pages` are the hashes of pages by their address, `widgets` the ids of the widgets on the page by their key, those
    `drawn` by the latest run among them, and `polls` how often each fragment is to be run again, and when. `faults` are
    what no page should show, and `refusals` the titles of errors that it shows by design.
    """

    connection: ClientConnection
    address: str
    heard: Callable[[bytes], None]
    query: str = ""
    page: str = ""
    asked: bool = False
    running: bool = False
    pages: dict[str, str] = field(default_factory=dict)
    widgets: dict[str, str] = field(default_factory=dict)
    drawn: dict[str, str] = field(default_factory=dict)
    polls: dict[str, tuple[float, float]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)

    def open(self, page: str, query: str = "") -> None:
        """Go to a page, at first by its address, then by a click on it.

        Raises:
            TimeoutError: it is not drawn in time.
        """
        self.query, self.page = query, self.pages.get(page, "")
        self._run("" if self.page else page)
        self.settle()

    def change(self, *states: WidgetState) -> None:
        """Give widgets new values; returns at once."""
        self._run(states=states)

    def click(self, key: str, *typed: WidgetState) -> None:
        """Click a button, once it is there, after values were typed into other widgets; returns at once.

        Raises:
            TimeoutError: there is no such button in time.
        """
        self.look_until(lambda: key in self.widgets)
        self._run(states=(*typed, WidgetState(id=self.widgets[key], trigger_value=True)))

    def typed(self, key: str, text: str) -> WidgetState:
        """A text in a field."""
        return WidgetState(id=self.widgets[key], string_value=text)

    def chosen(self, key: str, *options: str) -> WidgetState:
        """Options of a group, or a place on a slider of options, by what they say."""
        return WidgetState(id=self.widgets[key], string_array_value=StringArray(data=options))

    def settle(self, patience: float = PATIENCE) -> None:
        """Look until the page is drawn and nothing on it is followed any longer.

        Raises:
            TimeoutError: it takes longer.
        """
        self.look_until(lambda: not (self.asked or self.running or self.polls), patience)

    def wait_for_page(self) -> None:
        """Look until the page is drawn, whatever is followed on it.

        Raises:
            TimeoutError: it takes longer.
        """
        self.look_until(lambda: not (self.asked or self.running))

    def look_until(self, reached: Callable[[], bool], patience: float = PATIENCE) -> None:
        """Take in messages, and run the fragments that are due, until something is reached.

        Raises:
            TimeoutError: it takes longer.
        """
        deadline = time.monotonic() + patience
        while not reached():
            if time.monotonic() > deadline:
                doing = "to be drawn" if self.asked or self.running else "to end its job"
                message = f"A page took more than {patience:g} s {doing}: {self.query}"
                raise TimeoutError(message)
            with suppress(TimeoutError):
                self._hear(self.connection.recv(_LOOK, decode=False))
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

    def _hear(self, raw: bytes) -> None:
        self.heard(raw)
        message = ForwardMsg.FromString(raw)
        kind = message.WhichOneof("type")
        if kind == "new_session" and not message.metadata.run.fragment_ids:
            self.page = message.new_session.page_script_hash
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
        elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            self._see(message.delta.new_element)

    def _finished(self, status: int) -> None:
        if status == ForwardMsg.FINISHED_WITH_COMPILE_ERROR:
            self.faults.append("the script does not compile")
        if status == ForwardMsg.FINISHED_SUCCESSFULLY:
            self.widgets = self.drawn  # those of the page before are gone; of a run that was cut off they stay
        if status != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
            self.running = False  # a fragment's run may have cut off that of the page

    def _see(self, element: Element) -> None:
        kind = element.WhichOneof("type")
        shown = getattr(element, kind)
        if kind == "exception":
            self.faults.append(f"{shown.type}: {shown.message}")
        elif kind == "alert" and shown.format == Alert.ERROR:
            self.refusals.append(shown.body)
        elif hasattr(shown, "id"):
            key = shown.id.rpartition("-")[2]
            self.widgets[key] = self.drawn[key] = shown.id


@contextmanager
def visiting(address: str, heard: Callable[[bytes], None]) -> Iterator[Visitor]:
    """A new session of the server at an address."""
    uri = f"ws://{urlsplit(address).netloc}/_stcore/stream"
    with connect(uri, subprotocols=["streamlit"], max_size=None) as connection:
        yield Visitor(connection, address, heard)
