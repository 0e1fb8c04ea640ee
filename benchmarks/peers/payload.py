"""What the browser is sent of one answer: by the page Inspect, and as BertViz's head view."""

import tempfile
from pathlib import Path

from playwright.sync_api import WebSocket

from analysis.evidence.record import Record
from benchmarks.page import TOKENS, upload
from benchmarks.peers.asking import peers_python, said, with_versions
from benchmarks.support.browser import chromium, fresh_page
from benchmarks.support.random_trace import HEADS, LAYERS, random_trace
from benchmarks.support.recording import measured
from benchmarks.support.server import serving

PROMPT = 32
_MIB = 2**20


def measure() -> Record:
    """Both for a random answer in the shape of a model of 8 billion parameters."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.safetensors"
        random_trace(TOKENS).save(path)
        ours = _received(path)
    shape = (str(size) for size in (LAYERS, HEADS, PROMPT + TOKENS))
    theirs = int(said(peers_python(), "benchmarks.peers.head_view", *shape))
    return with_versions(_record(ours, theirs), ("bertviz", "torch"))


def _received(path: Path) -> int:
    """Bytes over the websockets of a new browser until the trace is drawn, with the page and the answer it opens on."""
    sizes = []

    def listen(socket: WebSocket) -> None:
        socket.on("framereceived", lambda frame: sizes.append(len(frame)))

    with chromium() as browser, serving() as app, fresh_page(browser) as page:
        page.on("websocket", listen)
        page.goto(app)
        upload(page, path)
    return sum(sizes)


def _record(ours: int, theirs: int) -> Record:
    times = theirs / ours
    return measured(
        "payload",
        title="Data sent to the browser for one answer, compared with BertViz",
        about=f"A random answer of {TOKENS} tokens to a prompt of {PROMPT}, by a model of {LAYERS} layers x {HEADS} "
        "heads. BertViz: the HTML of its head view. Ours: all messages of a new session on the page Inspect until "
        "the answer is drawn, so with the page itself and the recorded answer that it opens on.",
        columns=("tool", "MiB", "times ours"),
        rows=[("rauq, page Inspect", ours / _MIB, 1.0), ("BertViz, head view", theirs / _MIB, times)],
        notes=(
            "They show different things: BertViz all attention of prompt and answer, we previous-token attention.",
            "Scripts that either loads from other servers are not counted.",
        ),
        finding=f"For one answer of {TOKENS} tokens BertViz's head view takes {times:,.0f} times the bytes of the page "
        "Inspect, and contains more attention than RAUQ uses.",
        packages=("streamlit", "playwright"),
    )
