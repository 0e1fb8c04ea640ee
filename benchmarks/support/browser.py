"""Chromium, and a page of the app in it."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from playwright.sync_api import Browser, Locator, Page, sync_playwright

from benchmarks.support.server import PATIENCE
from rauq.errors import InvalidInput

NAMES = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update"),
)

# A timer of the page, which a busy page delays as it delays the timers of its fields.
_REST = "() => new Promise((rested) => setTimeout(rested, 250))"
_TWO_FRAMES = "() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))"


@contextmanager
def chromium(*flags: str, names: Sequence[str] = NAMES) -> Iterator[Browser]:
    """The machine's own Chromium, the first of these names that is found, with further flags.

    Raises:
        InvalidInput: there is none.
    """
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        message = "No Chromium was found; `make chromium` installs it."
        raise InvalidInput(message)
    with (
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=path, args=[*_FLAGS, *flags]) as browser,
    ):
        yield browser


@contextmanager
def fresh_page(browser: Browser) -> Iterator[Page]:
    """A page without cache or cookies."""
    with browser.new_context(viewport={"width": 1440, "height": 900}) as context:
        page = context.new_page()
        page.set_default_timeout(PATIENCE * 1000)
        yield page


def open_drawer(page: Page, key: str) -> None:
    """Open a drawer of Inspect, unless it is open."""
    button = page.locator(f".st-key-{key} button").first
    if button.get_attribute("aria-expanded") != "true":
        button.click()


def open_list(field: Locator) -> None:
    """Open the list of choices of a field; first into sight, for the list closes when the page scrolls."""
    field.scroll_into_view_if_needed()
    field.evaluate(_TWO_FRAMES)  # scrolling is reported with the next frame
    field.click()


def wait_until_idle(page: Page) -> None:
    """Wait until the script of the app does not run, and no change is on its way to it."""
    page.evaluate(_REST)  # a change is sent to the server after a short rest
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()
