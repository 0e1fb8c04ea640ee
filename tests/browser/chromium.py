"""Chromium, and what a page in it is watched for."""

from contextlib import contextmanager

from playwright.sync_api import expect

from benchmarks.support.browser import chromium
from benchmarks.support.server import PATIENCE


@contextmanager
def launched():
    expect.set_options(timeout=PATIENCE * 1000)
    with chromium() as browser:
        yield browser


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
