"""A server for strangers lets go of what a session owned some time after it has left."""

import time

from benchmarks.support.server import PATIENCE, hosting
from tests.robustness.client import OF_ATLAS, connected
from tests.robustness.short_lived_host import LEFT

GONE = b"This answer is no longer in memory"


def test_an_answer_goes_with_the_last_session_that_uses_it(tmp_path):
    with (tmp_path / "log").open("wb") as log, hosting(module="tests.robustness.short_lived_host", log=log) as server:
        with connected(server.address) as owner:
            owner.open("inspect", OF_ATLAS)
            owner.click("run", owner.typed("prompt", "Where is Lima?"))
            owner.settle()
            link = owner.query
            assert link.startswith("kept=")
            assert not said(server, link)
        until_left(tmp_path / "log", 2)
        assert said(server, link)


def said(server, link):
    """Whether the page says that the answer is gone, to a session that then leaves."""
    received = []
    with connected(server.address, received.append) as client:
        client.open("inspect", link)
    return any(GONE in raw for raw in received)


def until_left(log, count):
    """Wait until the server has let go of so many sessions."""
    deadline = time.monotonic() + PATIENCE
    while sum(int(line.rpartition(" ")[2]) for line in log.read_text().splitlines() if LEFT in line) < count:
        assert time.monotonic() < deadline
        time.sleep(0.05)
