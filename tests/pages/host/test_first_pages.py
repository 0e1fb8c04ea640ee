"""The first pages of a crowd: the guard counts those that come, and what a host says of a wait counts them too."""

import asyncio
import re
import time

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from pages.ui.host import hosting, looking, models
from pages.ui.host.guarding.guard import Guard, Rules
from pages.ui.host.hosting import ModelChoice
from pages.ui.host.jobs import Job
from pages.ui.host.queueing.first_pages import FirstPages
from pages.ui.host.queueing.pace import Pace
from pages.ui.host.queueing.queue import Place, Queue
from pages.ui.host.request import Request
from pages.ui.host.store import store
from tests.event_loops import run_apart

SCOPE = {"type": "websocket", "path": "/_stcore/stream", "headers": [(b"host", b"here")], "client": ("10.0.0.1", 1)}
RERUN = BackMsg(rerun_script=ClientState()).SerializeToString()
FINISHED = ForwardMsg(script_finished=ForwardMsg.FINISHED_SUCCESSFULLY).SerializeToString()


@pytest.fixture(autouse=True)
def first_pages(monkeypatch):
    pages = FirstPages()
    monkeypatch.setattr(store(), "first_pages", pages)
    return pages


def test_the_guard_counts_a_first_page_from_its_request_to_its_end(first_pages):
    coming, sent = [], []

    async def app(_scope, receive, send):
        await receive()
        coming.append(first_pages.coming)
        await receive()
        coming.append(first_pages.coming)
        await send({"type": "websocket.send", "bytes": FINISHED})
        coming.append(first_pages.coming)

    async def receive():
        return {"type": "websocket.receive", "bytes": RERUN} if coming else {"type": "websocket.connect"}

    async def send(message):
        sent.append(message)

    run_apart(Guard(app, Rules(names=("here",)))(SCOPE, receive, send))
    assert coming == [0, 1, 0]
    assert first_pages.spent > 0
    assert len(sent) == 1


def test_a_session_that_leaves_before_its_first_page_is_counted_no_more(first_pages):
    async def leave(_scope, receive, _send):
        await receive()
        raise asyncio.CancelledError

    async def receive():
        return {"type": "websocket.receive", "bytes": RERUN}

    with pytest.raises(asyncio.CancelledError):
        run_apart(Guard(leave, Rules(names=("here",)))(SCOPE, receive, receive))
    assert (first_pages.coming, first_pages.spent) == (0, 0.0)


def test_a_stated_wait_counts_the_first_pages_that_are_still_to_be_drawn(first_pages, monkeypatch):
    request = Request(model=ModelChoice(name="made-up"), prompt="Where?")
    running, job = Job(request), Job(request)
    queue = Queue(pace=Pace(alone=0.1, together=0.1), running=Place("a", 0, running, begun=time.monotonic()))
    queue.waiting.append(Place("b", 1, job))
    monkeypatch.setattr(hosting, "is_hosted", lambda: True)
    monkeypatch.setattr(models, "if_loaded", lambda _choice: queue)
    monkeypatch.setattr(models, "queue", lambda lm: lm)

    def stated():
        return int(re.search(r"Waiting for the running answer, about (\d+) s", looking.stage(job))[1])

    before = stated()
    first_pages.coming = 100
    first_pages.each = 0.1
    assert stated() == pytest.approx(before + 8, abs=1)
    assert job.stated == pytest.approx(before, abs=1)  # what its page said first
