"""The server of the user's own machine: how it stops."""

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from types import FrameType

import streamlit as st
import uvicorn


@asynccontextmanager
async def ended_in_order(_app: st.App) -> AsyncIterator[None]:
    """Let the process end in order, with 0, when it is asked to stop.

    Uvicorn repeats the signal once the server has closed: the process then dies by it, without what is to be done at
    its end, or reports that it was aborted.
    """
    server = getattr(signal.getsignal(signal.SIGTERM), "__self__", None)
    if isinstance(server, uvicorn.Server):  # not, where another program runs the app
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, partial(_stop, server))
    yield


def _stop(server: uvicorn.Server, number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - of a signal handler
    """Ask the server to close; asked twice, it does not wait for what is running."""
    server.force_exit, server.should_exit = server.should_exit, True
