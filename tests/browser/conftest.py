"""A really started server, and Chromium to look at it."""

import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

ROOT = Path(__file__).parents[2]
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
]
PATIENCE = 90  # seconds: a machine under load imports torch in half a minute


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextmanager
def serving(script="app.py"):
    """The address of the app, or of another page, served by a process of its own."""
    port = free_port()
    options = [f"--server.port={port}", "--server.fileWatcherType=none"]
    command = [sys.executable, "-m", "streamlit", "run", script, *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            address = f"http://127.0.0.1:{port}"
            until_healthy(f"{address}/_stcore/health", process)
            yield address
        finally:
            process.terminate()


def until_healthy(address, process):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=1):  # noqa: S310 - our own server
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.05)
    pytest.fail("the server did not start")


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
