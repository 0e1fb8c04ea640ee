"""Chromium, and what a page in it is watched for."""

import shutil
from contextlib import contextmanager

from playwright.sync_api import expect, sync_playwright

from benchmarks.server import PATIENCE

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
]


@contextmanager
def launched():
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    assert path, "Browser tests need Chromium: `make chromium` installs it."
    expect.set_options(timeout=PATIENCE * 1000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def listening(page, **hears):
    """Call functions for what a page does meanwhile, each by the event's name."""
    for event, hear in hears.items():
        page.on(event, hear)
    try:
        yield
    finally:
        for event, hear in hears.items():
            page.remove_listener(event, hear)


def is_foreign(url):
    return not url.startswith(("http://127.0.0.1:", "data:", "blob:"))
