"""A really started server, and Chromium to look at it."""

import shutil

import pytest
from playwright.sync_api import expect, sync_playwright

from benchmarks.server import PATIENCE, serving

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
]


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
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    assert path, "Browser tests need Chromium: `make chromium` installs it."
    expect.set_options(timeout=PATIENCE * 1000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


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


def is_foreign(url):
    return not url.startswith(("http://127.0.0.1:", "data:", "blob:"))
