"""Every popover of every page opens beside its button, closes by Escape and by a click outside, and returns the focus.

Pages are those of the navigation, and popovers those that they show.
"""

import ast
from pathlib import Path

from playwright.sync_api import expect

from benchmarks.support.browser import wait_until_idle
from tests.browser.chromium import DESKTOP, PROJECTOR
from tests.browser.test_typing import at

PAGES = Path(__file__).parents[2] / "pages"
BEHIND_A_CHOICE = 1  # "Undo all corrections" is there once a verdict was corrected
SHARED = 1  # the filters of answers are drawn by one call on Answer sets and on Methods
_BUTTONS = "[data-testid=stPopoverButton]:visible"
_INSIDE = "input, textarea, button, [tabindex='0']"
_NEAR = 12  # pixels between a button and what it opens
# The key that the code gives to the nearest widget around an element; one without has its text.
_KEY = """button => [...button.closest("[class*=st-key-]:has(> [data-testid=stPopover])")?.classList ?? []].find(
  (name) => name.startsWith("st-key-")) ?? button.innerText"""


def popovers_in_code():
    """How many times the code of the pages draws one."""
    return sum(
        isinstance(node, ast.Attribute) and node.attr == "popover"
        for path in PAGES.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    )


def opened(page, button):
    """Open a popover, and return its box."""
    button.click()
    wait_until_idle(page)
    expect(button).to_have_attribute("aria-expanded", "true")
    body = page.get_by_test_id("stPopoverBody")
    expect(body).to_have_count(1)
    return body


def is_beside(button, body):
    """Whether one stands under or over the other, close to it, and inside the window."""
    above, below = sorted((button.bounding_box(), body.bounding_box()), key=lambda box: box["y"])
    gap = below["y"] - above["y"] - above["height"]
    overlap = min(box["x"] + box["width"] for box in (above, below)) - max(box["x"] for box in (above, below))
    window = body.page.viewport_size
    shown = body.bounding_box()
    inside = shown["x"] >= 0 and shown["x"] + shown["width"] <= window["width"]
    return -_NEAR <= gap <= _NEAR and overlap > 0 and inside


def try_popover(page, button):
    name = button.inner_text()
    body = opened(page, button)
    assert is_beside(button, body), name
    body.locator(_INSIDE).first.focus()
    page.keyboard.press("Escape")
    expect(body).to_have_count(0)
    expect(button).to_be_focused()
    body = opened(page, button)
    page.mouse.click(*free_place(page, body))
    expect(body).to_have_count(0)
    expect(button).to_have_attribute("aria-expanded", "false")
    page.keyboard.press("Tab")
    expect(page.locator("body")).not_to_be_focused()  # the focus has a place in the page to go on from
    wait_until_idle(page)


def free_place(page, body):
    """A point on the page's blank edge, outside of what is open."""
    box, window = body.bounding_box(), page.viewport_size
    left = 8 if box["x"] > 16 else window["width"] - 24
    return left, window["height"] - 8


def try_place(page, button):
    """Only where it opens, as for a window of another size."""
    body = opened(page, button)
    assert is_beside(button, body), button.inner_text()
    page.keyboard.press("Escape")
    expect(body).to_have_count(0)


def test_every_popover_of_every_page_opens_and_closes_as_expected(page, server):
    at(page, server)
    tried = set()
    for address in [link.get_attribute("href") for link in page.get_by_test_id("stTopNavLink").all()]:
        at(page, address)
        for place in range(page.locator(_BUTTONS).count()):
            button = page.locator(_BUTTONS).nth(place)
            tried.add((address, button.evaluate(_KEY)))
            try_popover(page, button)
        page.set_viewport_size(PROJECTOR)
        for button in page.locator(_BUTTONS).all():
            try_place(page, button)
        page.set_viewport_size(DESKTOP)
    assert len(tried) == popovers_in_code() - BEHIND_A_CHOICE + SHARED, sorted(tried)
