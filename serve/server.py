"""The server's process: what it says when it starts, and how it lets running answers end when it is asked to stop."""

import math
import socket
import time
from types import FrameType

import uvicorn

from rauq.cli.commands import say
from serve.service import Service


class Server(uvicorn.Server):
    """A server that takes no new answers once it is asked to stop, and lets running ones end; asked twice, it ends."""

    def __init__(self, config: uvicorn.Config, service: Service, *, stop_seconds: float) -> None:
        super().__init__(config)
        self.service, self.stop_seconds, self.stop_by = service, stop_seconds, math.inf

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As of uvicorn, with a line that says where clients find the server."""
        await super().startup(sockets)
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            address = f"[{host}]" if ":" in host else host
            if self.service.keep is not None:
                say(f"The app is on http://{address}:{port}")
            say(f"Serving {self.service.lm.name} on http://{address}:{port}/v1")

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - uvicorn calls it
        """Stop taking work; unlike uvicorn's own, the process then ends with 0, not by the signal."""
        self.should_exit = self.service.worker.is_stopping
        self.service.worker.stop()
        self.stop_by = min(self.stop_by, time.monotonic() + self.stop_seconds)

    async def on_tick(self, counter: int) -> bool:
        """Look, ten times a second, whether the server is to end."""
        worker = self.service.worker
        if worker.is_stopping and (worker.is_idle or self.should_exit or time.monotonic() >= self.stop_by):
            worker.abort()
            self.should_exit = True
        return await super().on_tick(counter)
