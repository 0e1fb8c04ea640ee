"""Connections of a host: as many as the machine has files for, none of them silent for long."""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

SILENT_SECONDS = 20.0  # within which a request must have come, from the beginning or the answer before
_RESERVED = 256  # files that models, runs and uploads may open
_MOST_CONNECTIONS = 8_192


def room_for_connections() -> int:
    """Let this process open more files if the machine allows it, and return how many connections have room.

    A connection takes two: a file may be sent over it.
    """
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return _MOST_CONNECTIONS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = max(soft, 2 * _MOST_CONNECTIONS + _RESERVED)
    most = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return max(16, min(_MOST_CONNECTIONS, (most - _RESERVED) // 2))


class Connection(H11Protocol):
    """A connection that is closed if a request does not come in time, or if there are too many."""

    _silent: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Take a connection, or hang up."""
        super().connection_made(transport)
        if self.limit_concurrency is not None and len(self.connections) > self.limit_concurrency:
            transport.abort()
        else:
            self._expect_request()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._expect_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Let a connection go."""
        self._forget()
        super().connection_lost(exc)

    def _expect_request(self) -> None:
        self._forget()
        self._silent = self.loop.call_later(SILENT_SECONDS, self._hang_up_if_silent)

    def _forget(self) -> None:
        if self._silent is not None:
            self._silent.cancel()

    def _hang_up_if_silent(self) -> None:
        if self.conn.their_state is h11.IDLE:
            self.transport.abort()
