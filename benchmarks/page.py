"""Response times of the page Inspect: times in Chromium, medians of ten.

First paints are measured against an empty Streamlit page, opened in turn with ours in a fresh browser each. Bounds:

- token strip at most 1.0 s after the empty page, first chart at most 2.0 s after it;
- a token or a head selected: repainted in 0.3 s with the embedded model, 0.6 s with 32 layers x 32 heads x 200 tokens;
- alpha changed: 0.3 s;
- an answer of 20 tokens, from the click to the complete view: 1.5 s;
- that large trace opened from a file: 2 s.
"""

import math
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser, Locator, Page

from analysis.evidence.record import Record
from benchmarks.support.browser import chromium, fresh_page, open_drawer, wait_until_idle
from benchmarks.support.paired import Ratio, seconds
from benchmarks.support.random_trace import HEADS, LAYERS, random_trace
from benchmarks.support.recording import at_most, interval, measured, tell
from benchmarks.support.server import serving

ROUNDS, TOKENS = 10, 200
PROMPT = "Text: A lottery in Japan was drawn. Maria Keller from Lyon won 2,500 on {day}.\nSummary:"
DAYS = ("Friday", "Monday")
_EMPTY = "import streamlit as st\nst.text('empty')\n"

# Both wait until what they changed is drawn: a label is renewed after a drawing, and a second frame follows the first.
_PRESS = """async (button) => {
  const canvas = button.getRootNode().querySelector(".layer-head");
  const label = canvas.getAttribute("aria-label");
  const frame = () => new Promise(requestAnimationFrame);
  const start = performance.now();
  button.click();
  while (canvas.getAttribute("aria-label") === label) await frame();
  await frame();
  await frame();
  return (performance.now() - start) / 1000;
}"""
_CLICK_CELL = """async (canvas, [x, y]) => {
  const label = canvas.getAttribute("aria-label");
  const box = canvas.getBoundingClientRect();
  const frame = () => new Promise(requestAnimationFrame);
  const start = performance.now();
  const at = { clientX: box.left + x * box.width, clientY: box.top + y * box.height, bubbles: true };
  canvas.dispatchEvent(new MouseEvent("click", at));
  while (canvas.getAttribute("aria-label") === label) await frame();
  await frame();
  await frame();
  return (performance.now() - start) / 1000;
}"""
_WATCH = """(detail) => {
  const frame = () => new Promise(requestAnimationFrame);
  window.repainted = new Promise((resolve) => {
    addEventListener("keydown", () => { window.pressed = performance.now(); }, { once: true, capture: true });
    new MutationObserver(async (_, observer) => {
      observer.disconnect();
      await frame();
      await frame();
      resolve((performance.now() - window.pressed) / 1000);
    }).observe(detail, { childList: true, characterData: true, subtree: true });
  });
}"""


class Row(NamedTuple):
    """What is done, its seconds in each round, and the most that their median may be: nan where nothing is claimed."""

    name: str
    rounds: Sequence[float]
    most: float

    @property
    def found(self) -> Ratio:
        """The median and its interval."""
        return seconds(self.rounds)


def measure() -> Record:
    """What a reader does, in a browser beside the server."""
    rows = []
    with tempfile.TemporaryDirectory() as name, chromium() as browser:
        folder = Path(name)
        (folder / "empty.py").write_text(_EMPTY, encoding="utf-8")
        with serving(folder / "empty.py") as empty, serving() as app:
            for row in chain(_first_paints(browser, empty, app), _interactions(browser, app, folder)):
                rows.append(row)
                tell(f"{row.name}: {row.found} s")
    return _record(rows)


def upload(page: Page, path: Path) -> float:
    """Seconds from a file chosen to its trace of 200 tokens drawn."""
    _chart(page).wait_for()
    wait_until_idle(page)
    open_drawer(page, "more")
    page.get_by_text("Open a saved trace").click()
    start = time.perf_counter()
    page.locator("input[type=file]").set_input_files(path)
    page.locator(f".token[data-index='{TOKENS - 1}']").wait_for(state="attached")
    _chart(page).wait_for()
    seconds = time.perf_counter() - start
    wait_until_idle(page)
    return seconds


def _first_paints(browser: Browser, empty: str, app: str) -> Iterator[Row]:
    """Token strip and first chart, after what an empty page takes."""
    rounds = [(_paint(browser, empty, _empty), _paint(browser, app, _strip), _paint(browser, app, _chart))
              for _ in range(ROUNDS)]  # fmt: skip
    yield Row("empty page", [blank for blank, _, _ in rounds], math.nan)
    yield Row("token strip, after the empty page", [strip - blank for blank, strip, _ in rounds], 1.0)
    yield Row("first chart, after the empty page", [chart - blank for blank, _, chart in rounds], 2.0)


def _paint(browser: Browser, address: str, what: Callable[[Page], Locator]) -> float:
    with fresh_page(browser) as page:
        start = time.perf_counter()
        page.goto(address, wait_until="commit")
        what(page).wait_for()
        return time.perf_counter() - start


def _empty(page: Page) -> Locator:
    return page.get_by_text("empty", exact=True)


def _strip(page: Page) -> Locator:
    return page.locator(".token.collapse")


def _chart(page: Page) -> Locator:
    return page.locator("canvas.tracks[aria-label]").filter(visible=True)  # the answer before stays a moment, unseen


def _interactions(browser: Browser, app: str, folder: Path) -> Iterator[Row]:
    """What a reader does, on a recorded answer and on a large trace."""
    with fresh_page(browser) as page:
        page.goto(f"{app}/?example=unknown-place")
        _chart(page).wait_for()
        wait_until_idle(page)
        yield from _selecting(page, "embedded model", 0.3)
        yield Row("alpha, embedded model", [_change_alpha(page, turn) for turn in range(ROUNDS)], 0.3)
        answers = [_answer(page, DAYS[i % 2]) for i in range(ROUNDS + 1)]
        yield Row("answer of 20 tokens, from click to view", answers[1:], 1.5)
    path = folder / "large.safetensors"
    random_trace(TOKENS).save(path)
    yield Row("large trace opened", [_open(browser, app, path) for _ in range(ROUNDS)], 2.0)
    with fresh_page(browser) as page:
        page.goto(app)
        upload(page, path)
        yield from _selecting(page, "32 x 32 x 200", 0.6)
        yield Row("alpha, 32 x 32 x 200", [_change_alpha(page, turn) for turn in range(ROUNDS)], 0.3)


def _selecting(page: Page, what: str, most: float) -> Iterator[Row]:
    tokens = page.locator(".token")
    if (by_token := page.get_by_role("button", name="All tokens")).is_visible():
        rows = page.locator(".sentences-table tbody tr")
        yield Row(f"sentence, {what}", [rows.nth(i).evaluate(_PRESS) for i in range(ROUNDS)], most)
        by_token.click()
    yield Row(f"token, {what}", [tokens.nth(i + 1).evaluate(_PRESS) for i in range(ROUNDS)], most)
    canvas = page.locator("canvas.layer-head")
    places = [[0.3, 0.2] if i % 2 else [0.6, 0.6] for i in range(ROUNDS)]
    yield Row(f"head, {what}", [canvas.evaluate(_CLICK_CELL, place) for place in places], most)
    wait_until_idle(page)


def _change_alpha(page: Page, turn: int) -> float:
    open_drawer(page, "scoring")
    slider = page.locator(".st-key-settings_alpha input[type=range]")
    slider.focus()
    page.locator(".detail").evaluate(_WATCH)
    slider.press("ArrowRight" if turn % 2 else "ArrowLeft")
    seconds: float = page.evaluate("window.repainted")
    wait_until_idle(page)
    return seconds


def _answer(page: Page, day: str) -> float:
    """The first one loads the model, and does not count; the day tells an answer from the one before."""
    page.keyboard.press("Escape")  # closes a drawer
    page.get_by_label("Prompt").fill(PROMPT.format(day=day))
    open_drawer(page, "more")
    page.get_by_label("Max new tokens").fill("20")
    page.get_by_label("Max new tokens").press("Enter")
    wait_until_idle(page)
    start = time.perf_counter()
    page.get_by_role("button", name="Generate").click()
    page.locator(".views:not(.live) .source", has_text=day).wait_for(state="attached")  # it is folded
    page.locator(".views:not(.live) .token.collapse").wait_for()
    seconds = time.perf_counter() - start
    wait_until_idle(page)
    return seconds


def _open(browser: Browser, app: str, path: Path) -> float:
    with fresh_page(browser) as page:
        page.goto(app)
        return upload(page, path)


def _record(rows: Sequence[Row]) -> Record:
    strip = next(row for row in rows if row.name.startswith("token strip"))
    return measured(
        "page",
        title="Response times of the page Inspect",
        about="Seconds in Chromium from a click, a key or an address to the picture, with the embedded model and with "
        f"a trace of {LAYERS} layers x {HEADS} heads x {TOKENS} tokens; first paints beside an empty Streamlit page.",
        columns=("what is done", "s", "low", "high", "at most, s"),
        rows=[(row.name, *interval(row.found), row.most) for row in rows],
        bounds=[at_most(f"{row.name}, s", row.found, row.most) for row in rows if row.most > 0],
        notes=(f"Medians of {ROUNDS} rounds.",),
        finding=f"The token strip appears {strip.found.median:.1f} s after an empty page does.",
        packages=("streamlit", "playwright"),
    )
