"""Canvases without room: hidden ones, and ones of 0 and 1 pixels, are drawn without end nowhere."""

import re

import pytest
from playwright.sync_api import expect

from benchmarks.support.browser import wait_until_idle
from benchmarks.support.server import PATIENCE
from tests.browser.chromium import DESKTOP
from tests.browser.inspecting import rested
from tests.browser.typing import enter

# A canvas takes its size from its style; the views draw again when their own size changes, or what is selected.
RESIZE = """([views], [width, height, room]) => {
  for (const canvas of views.querySelectorAll("canvas")) Object.assign(canvas.style, { width, height });
  views.style.width = room;
}"""


@pytest.fixture(scope="module")
def own_page(chromium, server):
    """A page in a context of its own: a frozen one would hold up every test after it."""
    with chromium.new_context(viewport=DESKTOP) as context:
        context.set_default_timeout(PATIENCE * 1000)
        page = context.new_page()
        page.goto(f"{server}/?example=unknown-place")
        rested(page)
        yield page


def test_canvases_of_any_size_are_drawn(own_page):
    views, token = own_page.locator(".views"), own_page.locator(".token").nth(2)
    sizes = [("0px", "352px"), ("352px", "0px"), ("0px", "0px"), ("1px", "1px"), ("96px", "352px"), ("97px", "352px")]
    for width, height in [*sizes, ("", "")]:
        views.evaluate_all(RESIZE, [width, height, "1px" if width else ""])
        token.evaluate("button => button.click()")
        expect(own_page.locator("canvas.layer-head")).to_have_attribute("aria-label", re.compile("at token 2 only"))
        token.evaluate("button => button.click()")
        expect(own_page.locator("canvas.layer-head")).to_have_attribute(
            "aria-label", re.compile("mean over the answer")
        )


def test_generate_without_a_prompt_leaves_the_page_working(own_page):
    for _ in range(3):  # the views are hidden and shown again: not every time alike
        enter(own_page.get_by_label("Prompt"), "")
        own_page.get_by_role("button", name="Generate").click()
        expect(own_page.get_by_text("There is no prompt.")).to_be_visible()
        wait_until_idle(own_page)  # it stands there from the time before: a click could meet a page about to move
    own_page.get_by_role("button", name="Paste an answer").click()
    expect(own_page.get_by_role("textbox", name="Answer to score")).to_be_visible()
