"""A really started server, and Chromium to look at it."""

import pytest

from benchmarks.server import PATIENCE, serving
from tests.browser.chromium import is_foreign, launched


@pytest.fixture(scope="session")
def server():
    with serving() as address:
        yield address


@pytest.fixture
def cold_server():
    """A server that has never run the app."""
    with serving() as address:
        yield address


@pytest.fixture(scope="session")
def chromium():
    with launched() as browser:
        yield browser


@pytest.fixture
def page(chromium):
    """A fresh page; the test fails if it asks anything of another host, or if its script throws."""
    context = chromium.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.set_default_timeout(PATIENCE * 1000)
    strangers, errors = [], []
    page.on("request", lambda request: strangers.append(request.url) if is_foreign(request.url) else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    context.close()
    assert strangers == []
    assert errors == []
