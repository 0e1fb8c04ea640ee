"""The server looks after what sessions have left: at answers each second, at all else more rarely."""

import asyncio
import time
from types import SimpleNamespace

import pytest

from pages.ui.host import server
from pages.ui.host.hosting import ModelChoice
from pages.ui.host.jobs import Job
from pages.ui.host.monitoring.quiet_log import Seldom, _handlers
from pages.ui.host.queueing import leaving
from pages.ui.host.request import Request
from pages.ui.host.store import store
from tests.event_loops import run_apart


@pytest.fixture
def loud():
    yield
    for handler in _handlers():
        handler.filters = [known for known in handler.filters if not isinstance(known, Seldom)]


@pytest.mark.usefixtures("loud")
@pytest.mark.parametrize("fails_once", [False, True])
def test_a_waiting_answer_of_a_session_that_has_left_is_stopped(monkeypatch, fails_once):
    job = Job(Request(model=ModelChoice(), prompt="Where?"), shown=time.monotonic() - 2 * leaving.GONE_SECONDS)
    looks = []

    def is_active_session(session):
        looks.append(session)
        if fails_once and len(looks) == 1:
            raise RuntimeError
        return False

    async def look():
        async with server.clearing(None):
            while not job.cancel.is_set():
                await asyncio.sleep(0.01)

    monkeypatch.setattr(leaving, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(server, "get_instance", lambda: SimpleNamespace(is_active_session=is_active_session))
    monkeypatch.setattr(store().jobs, "jobs", {job: ""})
    run_apart(asyncio.wait_for(look(), 60))
    assert set(looks) == job.sessions
