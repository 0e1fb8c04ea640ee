"""While an answer is being written nothing fades, nothing moves, and the number of prompt tokens stands beside it."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from benchmarks.support.browser import open_drawer
from tests.browser.inspecting import ENDLESS, answered, rested
from tests.browser.typing import enter

WATCH = Path(__file__).with_name("watching.js").read_text(encoding="utf-8")
# Where the buttons at the right side of the bar begin, in every frame from now on.
FOLLOW = """() => {
  window.places = new Set();
  const look = () => {
    const parts = [...document.querySelectorAll(".st-key-run button, .st-key-stop button, .st-key-scoring")];
    const drawn = parts.filter((one) => one.offsetHeight > 0 && !one.closest("[data-retained]"));
    if (drawn.length > 1) window.places.add(drawn.map((one) => one.getBoundingClientRect().x).join(" "));
    requestAnimationFrame(look);
  };
  look();
}"""
FAINTEST = 0.6  # of what is meant to be faint; Streamlit draws at a third what it calls stale
READS = 80  # tokens from which a complete answer reads by sentences; from 60 on one that grows is drawn smaller
TOKENS = 96  # the browser is some seconds late on a busy machine


@pytest.fixture
def watched_page(page, slow_server):
    """What was seen in every frame while an answer was written, by the page's own script."""
    page.goto(f"{slow_server}/?example=unknown-place")
    rested(page)
    open_drawer(page, "more")
    enter(page.get_by_label("Max new tokens"), str(TOKENS))
    page.get_by_label("Max new tokens").press("Enter")
    expect(page.get_by_text(f"up to {TOKENS} new")).to_be_visible()
    page.keyboard.press("Escape")
    rested(page)
    enter(page.get_by_label("Prompt"), ENDLESS)
    page.evaluate(WATCH)
    page.get_by_label("Prompt").press("Control+Enter")
    expect(answered(page, ENDLESS)).to_be_visible()
    return page


def test_nothing_fades_or_moves_and_the_tokens_are_counted(watched_page):
    seen = watched_page.evaluate("window.seen()")
    assert seen["stale"] > 0  # Streamlit called something stale, or there was nothing to fade
    assert [name for name, opacity in seen["faint"].items() if opacity < FAINTEST] == []
    assert {name: places for name, places in seen["places"].items() if len(places) != 1} == {}
    assert len(seen["places"]) == 6
    assert seen["tokens"] > READS
    counted = [said for said in seen["counts"] if re.match(r"\d+ of 256 tokens", said)]
    assert seen["counts"][-1:] == counted
    assert "Counting prompt tokens" not in seen["counts"]


def test_stop_stands_at_once_where_generate_stood(page, slow_server):
    page.goto(f"{slow_server}/?example=unknown-place")
    rested(page)
    enter(page.get_by_label("Prompt"), ENDLESS)
    page.keyboard.press("Tab")
    rested(page)
    page.evaluate(FOLLOW)
    page.get_by_role("button", name="Generate").click()
    expect(page.locator(".views.live.scored")).to_be_visible()
    page.wait_for_function("() => !document.querySelector('[data-retained]')")
    assert len(page.evaluate("[...window.places]")) == 1
