"""The server of the user's own machine: how it stops."""

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from types import FrameType

import streamlit as st
import uvicorn


@asynccontextmanager
async def graceful_shutdown(_app: st.App) -> AsyncIterator[None]:
    """Let the process end with exit code 0 when it is asked to stop.

    Uvicorn raises the signal again once the server has closed: SIGTERM then kills the process before its exit handlers
    run, and SIGINT ends it with 1.
    """
    server = getattr(signal.getsignal(signal.SIGTERM), "__self__", None)
    if isinstance(server, uvicorn.Server):  # another program may run the app
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, partial(_stop, server))
    yield


def _stop(server: uvicorn.Server, number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - of a signal handler
    """Ask the server to close; the second time, without waiting for open connections."""
    server.force_exit, server.should_exit = server.should_exit, True
