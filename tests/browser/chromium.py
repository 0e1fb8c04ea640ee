"""Chromium, and what a page in it is watched for."""

from contextlib import contextmanager

from playwright.sync_api import expect

from benchmarks.support.browser import NAMES, chromium
from benchmarks.support.server import PATIENCE

DESKTOP, PROJECTOR = {"width": 1440, "height": 900}, {"width": 1024, "height": 768}
# Most code of a page runs for less than a second: compiling it again for speed takes longer than it saves.
_UNOPTIMISED = "--js-flags=--no-opt --no-maglev"
# The same engine without windows, which Chromium draws even where nobody sees them. By default it rounds the widths of
# letters to pixels, and lines break elsewhere than in Chromium.
_WITHOUT_WINDOWS, _UNHINTED = "chromium-headless-shell", "--font-render-hinting=none"


@contextmanager
def launched():
    expect.set_options(timeout=PATIENCE * 1000)
    with chromium(_UNOPTIMISED, _UNHINTED, names=(_WITHOUT_WINDOWS, *NAMES)) as browser:
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


@contextmanager
def watched(tab):
    """A page of a new visitor, which forgets all in the end; fails if it asks another host, or its script throws."""
    tab.set_viewport_size(DESKTOP)
    tab.emulate_media(color_scheme="light", reduced_motion="no-preference")
    requests, errors = [], []
    with listening(
        tab,
        request=lambda request: requests.append(request.url),
        pageerror=lambda error: errors.append(str(error)),
    ):
        yield
        tab.evaluate("localStorage.clear(); sessionStorage.clear()")
        tab.context.clear_cookies()
        tab.goto("about:blank")
    assert [url for url in requests if is_foreign(url)] == []
    assert errors == []


def is_foreign(url):
    return not url.startswith(("http://127.0.0.1:", "data:", "blob:"))
