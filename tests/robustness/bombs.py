"""Uploads that are small and become large when they are read: each is refused, and nobody else notices.

A raw client uploads each to a server for strangers; meanwhile a second session changes alpha again and again.
"""

import io
import json
import os
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from safetensors.numpy import save
from streamlit.proto.Common_pb2 import FileUploaderState, FileURLs, UploadedFileInfo
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState

from analysis.evidence.record import Bound, Record
from analysis.runs.archive import export_zip
from analysis.runs.files.examples import EXAMPLES
from analysis.runs.manifest import MANIFEST, answers_path
from benchmarks.support.recording import measured
from benchmarks.support.server import Server, hosting
from rauq.trace.file import LARGEST_UPLOADED_HEADER
from rauq.trace.trace import Alternative
from tests.analysis.report.made_run import made_run
from tests.answers import random_trace
from tests.robustness.client import OF_ATLAS, Client, connected

SLOWEST_CLICK = 1.0  # seconds that a click of another session may take meanwhile
MOST_GROWTH = 256.0  # MiB that the server may grow by
_COOKIE, _BOUNDARY = "_streamlit_xsrf", "part"


@dataclass(frozen=True, kw_only=True)
class Bomb:
    """A file, and how a session gets to the field that takes it; `in_short`: it is quickly made, for `make test`."""

    name: str
    file: str
    content: Callable[[Path], bytes]
    reach: Callable[[Client], str]
    in_short: bool = False


@dataclass(frozen=True, kw_only=True)
class Damage:
    """What became of a bomb: its size, what the page said, in how many seconds, and what others felt."""

    bomb: str
    num_bytes: int
    said: str
    seconds: float
    slowest_click: float
    growth_mib: float


def _new_run(client: Client) -> str:
    client.open("runs")
    client.click("new_run")
    return "new_run_upload_answers"


def _import(client: Client) -> str:
    client.open("runs")
    return _unfolded(client, "import_run", "import_run_0")


def _compare(client: Client) -> str:
    client.open("compare", "a=example:unknown-place&b=example:planets")
    return _unfolded(client, "make", "upload_0")


def _unfolded(client: Client, popover: str, field: str) -> str:
    client.wait_until(lambda: popover in client.widgets)
    client.change(WidgetState(id=client.widgets[popover], bool_value=True))
    return field


def _table(_folder: Path) -> bytes:
    repeated = pa.DictionaryArray.from_arrays(pa.array(np.zeros(2000, np.int32)), pa.array(["x" * 2_000_000]))
    return _parquet(pa.table({"prompt": repeated}))


def _parquet(table: pa.Table) -> bytes:
    target = io.BytesIO()
    pq.write_table(table, target, compression="zstd")
    return target.getvalue()


def _run_with(folder: Path, name: str, content: bytes) -> bytes:
    """An exported run with another file in it."""
    made_run(folder / "made", quality=[1.0, 0.0])
    with export_zip(folder / "made") as archive, ZipFile(archive) as files:
        entries = {entry: files.read(entry) for entry in files.namelist()}
    packed = io.BytesIO()
    with ZipFile(packed, "w", ZIP_DEFLATED) as files:
        for entry, usual in (entries | {name: content}).items():
            files.writestr(entry, usual)
    return packed.getvalue()


def _manifest(folder: Path) -> bytes:
    return _run_with(folder, MANIFEST, b"[" + b"[]," * (60 * 2**20) + b"[]]")


def _widened(folder: Path, name: str, column: str) -> bytes:
    """An exported run in whose table each row has the same text of 2 MB, which is stored once."""
    made = folder / "source"
    made_run(made, quality=[1.0, 0.0] * 100)
    table = pq.read_table(made / name)
    repeated = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(len(table), np.int32)), pa.array(["x" * 2_000_000])
    ).cast(pa.dictionary(pa.int32(), pa.string()))
    wide = table.set_column(table.column_names.index(column), column, repeated)
    packed = io.BytesIO()
    with ZipFile(packed, "w", ZIP_DEFLATED) as files:
        for path in sorted(made.iterdir()):
            if path.is_file() and path.suffix in {".json", ".parquet", ".safetensors", ".jsonl"}:
                files.writestr(path.name, _parquet(wide) if path.name == name else path.read_bytes())
    return packed.getvalue()


def _examples(folder: Path) -> bytes:
    return _widened(folder, EXAMPLES, "prompt")


def _answers(folder: Path) -> bytes:
    return _widened(folder, answers_path(folder, 0).name, "answer")


def _rows(_folder: Path) -> bytes:
    trace = random_trace(4096, seed=0, num_layers=1, num_heads=1)
    rows = tuple(tuple(Alternative(number, " a", -1.0) for number in range(100)) for _ in range(4096))
    return replace(trace, alternatives=rows).to_bytes()


def _header(_folder: Path) -> bytes:
    nested = json.dumps({"schema": 1, "layers": "L"}).replace(
        '"L"', "[" + "[]," * (LARGEST_UPLOADED_HEADER // 4) + "[]]"
    )
    return save({"logprobs": np.zeros(1, np.float32)}, {"rauq_trace": nested})


_LISTS = b"[" + b"[]," * 20_000_000 + b"[]]"
BOMBS = (
    Bomb(name="Parquet, one text in 2,000 rows", file="a.parquet", content=_table, reach=_new_run, in_short=True),
    Bomb(name="JSON, 20 million lists", file="a.json", content=lambda _: _LISTS, reach=_new_run),
    Bomb(name="JSONL, one line", file="a.jsonl", content=lambda _: b'{"a": ' + _LISTS + b"}", reach=_new_run),
    Bomb(name="JSON, nested", file="a.json", content=lambda _: b"[" * 60_000_000, reach=_new_run),
    Bomb(name="run, 180 MiB of manifest", file="a.zip", content=_manifest, reach=_import),
    Bomb(name="run, one prompt in all examples", file="a.zip", content=_examples, reach=_import, in_short=True),
    Bomb(name="run, one answer in a table", file="a.zip", content=_answers, reach=_import),
    Bomb(name="trace, 409,600 alternatives", file="a.safetensors", content=_rows, reach=_compare, in_short=True),
    Bomb(name="trace, 4 MiB of lists", file="a.safetensors", content=_header, reach=_compare),
)  # fmt: skip


def measure() -> Record:
    """Each bomb, one after the other, on one server."""
    with hosting() as server, TemporaryDirectory() as folder:
        found = [exploded(server, bomb, Path(folder) / str(number)) for number, bomb in enumerate(BOMBS)]
    slowest, growth = (max(getattr(one, name) for one in found) for name in ("slowest_click", "growth_mib"))
    return measured(
        "bombs",
        title="Uploads that become large",
        about="Files of strangers that are small, and large when they are read, uploaded to a server for strangers, "
        "which is started as make host starts it. Meanwhile another session changes alpha without a pause.",
        columns=("upload", "bytes", "said", "seconds", "slowest click of another session, s", "growth, MiB"),
        rows=[(one.bomb, one.num_bytes, one.said, one.seconds, one.slowest_click, one.growth_mib) for one in found],
        bounds=[
            Bound(text="every one is refused in words", met=all(one.said for one in found)),
            Bound(
                text=f"the slowest click of another session took {slowest:.2f} s: {SLOWEST_CLICK:g} s allowed",
                met=slowest <= SLOWEST_CLICK,
            ),
            Bound(
                text=f"the server grew by up to {growth:.0f} MiB: {MOST_GROWTH:.0f} MiB allowed",
                met=growth <= MOST_GROWTH,
            ),
        ],
        packages=("streamlit", "pyarrow", "safetensors"),
        finding=f"{len(found)} uploads that become large were refused; the slowest click of another session meanwhile "
        f"took {slowest:.2f} s, and the server grew by up to {growth:.0f} MiB.",
    )


def exploded(server: Server, bomb: Bomb, folder: Path) -> Damage:
    """Upload a bomb, and watch another session and the server meanwhile."""
    folder.mkdir()
    content = bomb.content(folder)
    with session(server.address) as hostile, watching(server) as seen:
        key = bomb.reach(hostile.client)
        hostile.client.wait_until(lambda: key in hostile.client.widgets)
        hostile.client.settle()
        begun, before = time.monotonic(), seen.memory()
        hostile.client.refusals.clear()
        seen.start()
        hostile.upload(key, bomb.file, content)
        hostile.client.settle()
        seconds = time.monotonic() - begun
        hostile.remove(bomb.file)
    return Damage(
        bomb=bomb.name,
        num_bytes=len(content),
        said=" ".join([*hostile.client.refusals, *hostile.client.faults]),
        seconds=seconds,
        slowest_click=max(seen.clicks, default=0.0),
        growth_mib=max(seen.mib, default=before) - before - len(content) / 2**20,
    )


@dataclass(eq=False)
class Stranger:
    """A session that uploads without a browser."""

    client: Client
    address: str
    token: str = ""
    name: str = ""

    def note(self, raw: bytes) -> None:
        """Take note of the session's own name."""
        message = ForwardMsg.FromString(raw)
        if message.WhichOneof("type") == "new_session":
            self.name = message.new_session.initialize.session_id

    def upload(self, key: str, file: str, content: bytes) -> None:
        """Send a file to the endpoint of uploads, and tell the field of it."""
        body = f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{file}"\r\n\r\n'.encode()
        url = self._ask("PUT", file, body + content + f"\r\n--{_BOUNDARY}--\r\n".encode())
        urls = FileURLs(file_id=file, upload_url=url, delete_url=url)
        info = UploadedFileInfo(file_id=file, name=file, size=len(content), file_urls=urls)
        state = FileUploaderState(uploaded_file_info=[info])
        self.client.change(WidgetState(id=self.client.widgets[key], file_uploader_state_value=state))

    def remove(self, file: str) -> None:
        """Delete an uploaded file, as a browser does whose user removes it."""
        self._ask("DELETE", file)

    def _ask(self, method: str, file: str, body: bytes | None = None) -> str:
        """Send a request about a file to the endpoint of uploads, and return the file's path there."""
        path = f"/_stcore/upload_file/{self.name}/{file}"
        headers = {"Content-Type": f"multipart/form-data; boundary={_BOUNDARY}"} if body else {}
        headers |= {"Cookie": f"{_COOKIE}={self.token}", "X-Xsrftoken": self.token}
        request = urllib.request.Request(self.address + path, body, headers, method=method)  # noqa: S310 - our own server
        urllib.request.urlopen(request, timeout=60).close()  # noqa: S310 - our own server
        return path


@contextmanager
def session(address: str) -> Iterator[Stranger]:
    """A session that can upload."""
    with urllib.request.urlopen(f"{address}/_stcore/health", timeout=60) as answer:  # noqa: S310 - our own server
        cookies = answer.headers.get_all("Set-Cookie") or []
    token = next(cookie for cookie in cookies if cookie.startswith(_COOKIE)).partition("=")[2].partition(";")[0]
    noted: list[Stranger] = []
    with connected(address, lambda raw: noted[0].note(raw)) as client:  # noqa: PLW0108 - it is not there yet
        noted.append(Stranger(client, address, token=token))
        yield noted[0]


@dataclass(eq=False)
class Seen:
    """What another session and the server felt since `start`."""

    server: Server
    begun: threading.Event
    clicks: list[float]
    mib: list[float]

    def start(self) -> None:
        """Watch from now on."""
        self.begun.set()

    def memory(self) -> float:
        """Memory of the server, in MiB."""
        pages = int(Path(f"/proc/{self.server.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def click(self, client: Client, alpha: float) -> None:
        """Change alpha, and keep how long the page took."""
        begun = time.monotonic()
        client.change(client.chosen("settings_alpha", f"{alpha:g}"))
        client.settle()
        if self.begun.is_set():
            self.clicks.append(time.monotonic() - begun)
            self.mib.append(self.memory())


@contextmanager
def watching(server: Server) -> Iterator[Seen]:
    """Change alpha in a session of its own until the body ends."""
    seen, ended = Seen(server, threading.Event(), [], []), threading.Event()
    with connected(server.address) as client:
        client.open("inspect", OF_ATLAS)
        thread = threading.Thread(target=_click_on, args=(seen, client, ended))
        thread.start()
        try:
            yield seen
        finally:
            ended.set()
            thread.join()


def _click_on(seen: Seen, client: Client, ended: threading.Event) -> None:
    number = 0
    while not ended.is_set():
        number += 1
        seen.click(client, 0.05 * (1 + number % 18))
