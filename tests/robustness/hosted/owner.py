"""A session whose texts no other session may see: its prompt, pasted answer, uploaded file and run name a word."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from streamlit.proto.Common_pb2 import FileUploaderState, UploadedFileInfo
from streamlit.proto.WidgetStates_pb2 import WidgetState

from benchmarks.support.server import Server
from tests.robustness.client import OF_ATLAS, Client, connected
from tests.robustness.hosted.browser import Browser, as_visitor


@dataclass(eq=False, kw_only=True)
class Owner:
    """A session, the word in all its texts, the address of its answer, and the id of its uploaded file.

    `received` are the messages since it last looked at a page.
    """

    server: Server
    client: Client
    word: str
    visitor: str
    received: list[bytes]
    link: str = ""
    file: str = ""

    @property
    def secrets(self) -> tuple[bytes, ...]:
        """What no other session may see: also the names by which its session and its answer are found."""
        return tuple(text.encode() for text in (self.word, self.client.session, self.link.partition("=")[2]))

    def make(self) -> None:
        """Make its answer and its run."""
        self.client.open("inspect", OF_ATLAS)
        self.client.click("task_link")
        self.client.settle()
        prompt, answer = f"Q: Where is {self.word}?\nA:", f" In {self.word}.\n"
        self.client.click("run", self.client.typed("prompt", prompt), self.client.typed("answer", answer))
        self.client.settle()
        self.link = self.client.query
        self._start_a_run()

    def losses(self) -> tuple[str, ...]:
        """What the session has lost."""
        kept = self._sees("inspect", self.link)
        with connected(self.server.address, self.received.append, headers=as_visitor(self.visitor)) as again:
            opened = self._sees("inspect", self.link, client=again)
        listed = self._sees("runs", "") and f"details_{self.word}" in self.client.widgets
        found = {"its answer": kept, "the link to its answer": opened, "its run": listed}
        return tuple(f"{self.word} has lost {what}" for what, there in found.items() if not there)

    def _start_a_run(self) -> None:
        self.client.open("runs", "view=new")
        self.file = f"file-of-{self.word}"
        content = f"prompt\nWhere is {self.word}?\n".encode()
        Browser(self.server.address, self.visitor).upload(self.client.session, self.file, content)
        uploaded = UploadedFileInfo(name="questions.csv", size=len(content), file_id=self.file)
        files = FileUploaderState(uploaded_file_info=[uploaded])
        self.client.change(
            WidgetState(id=self.client.widgets["new_run_upload_answers"], file_uploader_state_value=files)
        )
        self.client.settle()
        self.client.click("start_run", self.client.typed("new_run_name", self.word))
        self.client.wait_for_page()

    def _sees(self, page: str, query: str, *, client: Client | None = None) -> bool:
        self.received.clear()
        (client or self.client).visit(page, query)
        return any(self.word.encode() in raw for raw in self.received)


@contextmanager
def owners(server: Server, words: list[str]) -> Iterator[list[Owner]]:
    """Sessions of as many visitors as there are words, each with an answer and a run."""
    with ExitStack() as stack:
        made = []
        for word in words:
            received: list[bytes] = []
            client = stack.enter_context(connected(server.address, received.append, headers=as_visitor(word)))
            made.append(Owner(server=server, client=client, word=word, visitor=word, received=received))
            made[-1].make()
        yield made


@dataclass(eq=False)
class Watch:
    """Looks for what others may not see in all that they receive."""

    secrets: tuple[bytes, ...]
    seen: list[str] = field(default_factory=list)

    def __call__(self, raw: bytes) -> None:
        """Look through what a session received."""
        self.seen += [f"another session was shown {secret.decode()}" for secret in self.secrets if secret in raw]
