"""What a person does on the page Inspect, again and again."""

import re

from playwright.sync_api import expect

from benchmarks.support.browser import open_drawer
from tests.browser.typing import enter

PROMPT = "Q: In which country is Lyon?\nA: Lyon is in France.\nQ: In which country is Gliwice?\nA:"
ENDLESS = "Once upon a time"  # which the embedded model goes on from for more than a hundred tokens


def ask(page, address, prompt=PROMPT):
    page.goto(f"{address}/?example=unknown-place")
    rested(page)
    enter(page.get_by_label("Prompt"), prompt)
    page.get_by_role("button", name="Generate").click()
    expect(answered(page, "Gliwice")).to_be_visible()  # not the recorded answer that the page opens on
    expect(page.locator(".token.collapse")).to_have_count(1)
    rested(page)


def answered(page, said):
    """The views of the complete answer whose source says this; the source itself is folded."""
    return page.locator(".views:not(.live)", has=page.locator(".source", has_text=said))


def open_trace(page, server, trace, folder):
    trace.save(folder / "answer.safetensors")
    page.goto(f"{server}/?example=unknown-place")
    rested(page)
    open_drawer(page, "more")
    page.get_by_text("Open a saved trace").click()
    page.locator("input[type=file]").set_input_files(folder / "answer.safetensors")
    expect(answered(page, trace.model)).to_be_visible()
    page.keyboard.press("Escape")
    rested(page)


def rested(page):
    """Wait until the script rests, the tracks are drawn, and the bar has its buttons: they are drawn a little later.

    The answer before stays in the page for a moment, unseen, when another one comes.
    """
    expect(page.locator(".views:not(.live) canvas.tracks[aria-label]").filter(visible=True)).to_have_count(1)
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    expect(page.locator(".st-key-run button")).to_be_visible()
    expect(page.locator(".st-key-scoring")).to_be_visible()


def go_to(page, title):
    """Follow a link of the navigation once the page rests."""
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    page.get_by_role("link", name=title, exact=True).click()


def click_cell(page, layer, head, *, layers=12, heads=8):
    """Click the middle of a cell of the map, where the pointer reads its numbers first."""
    canvas = page.locator("canvas.layer-head")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    width, height = box["width"] - 96, box["height"] - 46  # beside the numbers and the scale
    x = box["x"] + 44 + (head + 0.5) * width / heads
    y = box["y"] + 6 + (layer + 0.5) * height / layers
    page.mouse.move(x, y)
    expect(page.locator(".tip .title")).to_have_text(f"layer {layer} · head {head}")
    page.mouse.click(x, y)


def expect_selected(page, layer, head):
    expect(page.get_by_label("Layer", exact=True)).to_have_value(str(layer))
    expect(page.get_by_label("Head", exact=True)).to_have_value(str(head))
    expect(page.locator("canvas.layer-head")).to_have_attribute(
        "aria-label", re.compile(f"Shown: layer {layer}, head {head}")
    )
    expect(page.locator("canvas.token-head")).to_have_attribute("aria-label", re.compile(f"Heads of layer {layer},"))
