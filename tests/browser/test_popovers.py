"""What opens over a page opens beside its button, closes by Escape and by a click outside, and returns the focus.

What opens is Streamlit's popovers and the drawers of Inspect, which are containers
that a rule of page.css lays over the page: each is behind a button that says whether it is open.
"""

import ast
import re
from pathlib import Path

from playwright.sync_api import expect

from benchmarks.support.browser import open_drawer, open_list, wait_until_idle
from tests.browser.chromium import DESKTOP, PROJECTOR
from tests.browser.inspecting import go_to, rested

PAGES = Path(__file__).parents[2] / "pages"
BEHIND_A_CHOICE = 2  # "Undo all corrections", once a verdict was corrected, and "Columns" of a file with own scores
SHARED = 1  # the filters of answers are drawn by one call on Answer sets and on Methods
# By keys: the link to a document is always there, and nothing of the last is seen.
OVER_THE_PAGE = {"open_drawer", "help", "closing"}
_BUTTONS = "[data-testid=stMain] button[aria-expanded]:not([aria-haspopup=listbox]):visible"
_SILENT = "[class*=st-key-drawer_] button:not([aria-expanded])"
_BODIES = "[data-testid=stPopoverBody], .st-key-open_drawer"
_DRAWS = {"popover", "_drawer_button"}
_INSIDE = "input, textarea, button, [tabindex='0']"
_NEAR = 12  # pixels between a button and what it opens
# The key that the code gives to the nearest widget around an element; one without has its text.
_KEY = """button => [
  ...button.closest("[class*=st-key-]:has(> [data-testid=stPopover]), [class*=st-key-drawer_]")?.classList ?? []
].find((name) => name.startsWith("st-key-")) ?? button.innerText"""


def popovers_in_code():
    """How many times the code of the pages draws one, or a drawer."""
    return sum(
        isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in _DRAWS
        for path in PAGES.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    )


def test_what_a_style_lays_over_the_page_is_known_to_this_law():
    style = (PAGES / "ui" / "serving" / "page.css").read_text(encoding="utf-8")
    rules = re.findall(r"([^{}]*)\{[^{}]*position: (?:absolute|fixed)", style)
    assert {key for selector in rules for key in re.findall(r"st-key-(\w+)", selector)} == OVER_THE_PAGE


def opened(page, button):
    """Open a popover, and return its box."""
    button.click()
    wait_until_idle(page)
    expect(button).to_have_attribute("aria-expanded", "true")
    body = page.locator(_BODIES)
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


def anchor_of(button):
    """What stands beside the content: the button, or the row of links with the button of a drawer, which may wrap."""
    is_drawer = button.evaluate(_KEY).startswith("st-key-drawer_")
    return button.page.locator(".st-key-links") if is_drawer else button


def try_popover(page, button, look_inside):
    name = button.inner_text()
    body = opened(page, button)
    assert is_beside(anchor_of(button), body), name
    look_inside(button.element_handle())
    body.locator(_INSIDE).first.focus()
    page.keyboard.press("Escape")
    expect(body).to_have_count(0)
    expect(button).to_be_focused()
    wait_until_idle(page)  # a rerun from closing that ends after the next click closes the popover again
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
    assert is_beside(anchor_of(button), body), button.inner_text()
    page.keyboard.press("Escape")
    expect(body).to_have_count(0)


def try_popovers(page, tried, look_inside):
    """All of a page, at two sizes of the window; what is inside each is tried while it is open."""
    expect(page.locator(_SILENT)).to_have_count(0)
    for place in range(page.locator(_BUTTONS).count()):
        button = page.locator(_BUTTONS).nth(place)
        tried.add((page.url.partition("?")[0], button.evaluate(_KEY)))
        try_popover(page, button, look_inside)
    page.set_viewport_size(PROJECTOR)
    for button in page.locator(_BUTTONS).all():
        try_place(page, button)
    page.set_viewport_size(DESKTOP)


def popovers_of_navigation():
    """How many there are on the pages of the navigation."""
    return popovers_in_code() - BEHIND_A_CHOICE + SHARED


def test_a_drawer_is_closed_where_another_answer_or_page_is_shown(page, server):
    page.goto(f"{server}/inspect?example=canberra")
    rested(page)
    drawer, button = page.locator(".st-key-open_drawer"), page.locator(".st-key-drawer_export button")
    open_drawer(page, "drawer_export")
    expect(drawer).to_be_visible()
    wait_until_idle(page)
    go_to(page, "Learn")
    expect(page.get_by_role("main").get_by_role("heading").first).to_be_visible()
    wait_until_idle(page)
    go_to(page, "Inspect")
    rested(page)
    expect(button).to_have_attribute("aria-expanded", "false")
    expect(drawer).to_have_count(0)
    page.goto(f"{server}/inspect?prompt=Q: Where is Oslo?%0AA:&max_new_tokens=5")
    page.locator(".st-key-run_link button").click()
    rested(page)
    button.click()
    expect(drawer).to_be_visible()
    wait_until_idle(page)
    before = page.url
    page.keyboard.press("ControlOrMeta+Enter")
    expect(page).not_to_have_url(before)
    rested(page)
    expect(button).to_have_attribute("aria-expanded", "false")
    expect(drawer).to_have_count(0)


def test_escape_closes_what_is_in_front_of_a_drawer_first(page, server):
    page.goto(f"{server}/inspect?example=canberra")
    rested(page)
    open_drawer(page, "drawer_reference")
    drawer, choices = page.locator(".st-key-open_drawer"), page.get_by_role("listbox")
    expect(drawer).to_be_visible()
    wait_until_idle(page)
    open_list(drawer.get_by_role("combobox").first)
    expect(choices).to_be_visible()
    page.keyboard.press("Escape")
    expect(choices).to_have_count(0)
    expect(drawer).to_be_visible()
    page.keyboard.press("Escape")
    expect(drawer).to_have_count(0)
    expect(page.locator(".st-key-drawer_reference button")).to_be_focused()


def test_the_label_of_an_open_popover_is_read_as_well_as_before(page, server):
    page.emulate_media(color_scheme="dark")
    page.goto(f"{server}/inspect")
    rested(page)
    button = page.locator(".st-key-more button").first
    expect(button).to_have_attribute("aria-expanded", "false")
    colour = button.evaluate("one => getComputedStyle(one).color")
    open_drawer(page, "more")
    expect(button).to_have_attribute("aria-expanded", "true")
    page.mouse.move(0, 0)
    expect(button).to_have_css("color", colour)
