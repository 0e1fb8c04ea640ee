"""A real server of a tiny chat model, in a thread of the test's process."""

import asyncio
import threading
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import uvicorn

from rauq.model.loading import wrap
from rauq.scoring.settings import Settings
from serve.endpoint import application
from serve.server import Server
from serve.service import Service
from serve.worker import Limits, Worker
from tests.chat_templates import CHATML, chat_model

NAME = "tiny"
MESSAGES = [{"role": "user", "content": "Where is it?"}]
CHAT = {"model": NAME, "messages": MESSAGES, "max_tokens": 12}
TEXT = {"model": NAME, "prompt": "Where is it?", "max_tokens": 12}


@dataclass(frozen=True)
class Running:
    """A server that listens: its parts, and where clients find it."""

    service: Service
    address: str

    @property
    def base(self):
        return f"{self.address}/v1"

    def post(self, body, *, kind="chat", **options):
        path = "/chat/completions" if kind == "chat" else "/completions"
        return httpx.post(self.base + path, json=body, timeout=60, **options)


class Gate:
    """Lets a model run so many passes, and then wait."""

    def __init__(self, lm):
        self.passes = threading.Semaphore(0)
        self.hook = lm.model.register_forward_pre_hook(self._wait)

    def _wait(self, *_):
        self.passes.acquire()

    def open(self, passes):
        if passes:
            self.passes.release(passes)

    def remove(self):
        self.hook.remove()
        self.open(10_000)


@pytest.fixture(scope="session")
def tiny():
    model, tokenizer = chat_model(CHATML)
    return wrap(model, tokenizer, name=NAME, kind="instruct")


@pytest.fixture
def serving(tiny):
    """Start servers; each ends with the test."""
    started = []

    def start(lm=tiny, *, limits=None, settings=None, worker=None, **options: Any):
        worker = worker or Worker(lm, limits or Limits(tokens=64))
        service = Service(lm=lm, worker=worker, settings=settings or Settings(), **options)
        config = uvicorn.Config(application(service), port=0, log_config=None, access_log=False)
        server, ready = Server(config, service, stop_seconds=5), threading.Event()
        startup = server.startup

        async def told(sockets=None):
            await startup(sockets)
            ready.set()

        server.startup = told
        thread = threading.Thread(target=lambda: asyncio.run(server.serve()), daemon=True)
        thread.start()
        started.append((server, thread))
        assert ready.wait(60)
        return Running(service, f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}")

    yield start
    for server, thread in started:
        server.service.worker.abort()
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive()


@pytest.fixture
def server(serving):
    return serving()


@pytest.fixture
def gate(tiny):
    """The tiny model waits before each pass until the test lets it go on."""
    found = Gate(tiny)
    yield found
    found.remove()
