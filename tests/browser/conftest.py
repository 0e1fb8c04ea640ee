"""A really started server, and Chromium to look at it."""

import pytest

from benchmarks.support.server import PATIENCE, serving, started
from tests.browser.chromium import DESKTOP, launched, watched


@pytest.fixture(scope="session")
def server():
    with serving() as address:
        yield address


@pytest.fixture(scope="session")
def slow_server():
    """A server that rests where a browser is to see what passes quickly."""
    with started(module="tests.browser.slow_answers") as server:
        yield server.address


@pytest.fixture
def cold_server():
    """A server that has never run the app."""
    with serving() as address:
        yield address


@pytest.fixture(scope="session")
def chromium():
    with launched() as browser:
        yield browser


@pytest.fixture(scope="session")
def tab(chromium):
    """One for all tests: in a new one Chromium compiles the whole app again, which takes it two seconds."""
    with chromium.new_context(viewport=DESKTOP) as context:
        context.set_default_timeout(PATIENCE * 1000)
        yield context.new_page()


@pytest.fixture
def page(tab):
    """A page that remembers nothing; the test fails if it asks anything of another host, or if its script throws."""
    with watched(tab):
        yield tab


@pytest.fixture(scope="module")
def shared_page(tab):
    """The same for all tests of a file, each of which leaves it as it was."""
    with watched(tab):
        yield tab
