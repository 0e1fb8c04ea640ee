"""Memory and CPU of an open tab: growth over 200 interactions, and the processor time of an idle server.

The server is started as `make app` starts it. The interactions are those of a reader of the page Inspect: tokens,
cells, alpha, alignment, recorded examples and answers of the embedded model, and in between the other pages and back.
Garbage is collected before each look, so what is counted is what is kept. Bounds:

- growth of the memory of Chromium's renderer over 200 interactions, after 60 others in which every page was opened
  once: at most 100 MiB;
- processor time of the server with one page open and no interaction: at most 5 % of a core.
"""

import time
from typing import NamedTuple

from playwright.sync_api import Browser, CDPSession, Page

from analysis.evidence.record import Record
from benchmarks.support.browser import chromium, fresh_page, open_drawer, open_list, wait_until_idle
from benchmarks.support.processes import memory_mib
from benchmarks.support.recording import at_most, measured, tell
from benchmarks.support.server import Server, processor_seconds, started

INTERACTIONS, WARM_UP, EVERY = 200, 60, 20
MOST_MIB, MOST_PERCENT = 100, 5
REST, COLLECTIONS = 30.0, 3  # seconds of rest that are measured; garbage collections before a look
OTHER_PAGES = ("Compare", "Answer sets", "Methods", "Runs", "Learn", "Evidence")


class Look(NamedTuple):
    """What a tab holds after so many interactions; memory in MiB."""

    interactions: int
    memory: float
    heap: float
    nodes: int
    listeners: int


def measure() -> Record:
    """All interactions in one tab, then a rest."""
    with started() as server, chromium() as browser:
        return _record(*_looks(browser, server))


def _interact(page: Page, number: int) -> None:
    """One interaction of ten that take turns."""
    turn = number % 10
    if turn == 8:
        _follow(page, OTHER_PAGES[number // 10 % len(OTHER_PAGES)])
    elif turn == 9:
        _follow(page, "Inspect")
        page.locator("canvas.tracks[aria-label]").wait_for()
        page.locator(".st-key-scoring").wait_for()
    else:
        (_token, _cell, _alpha, _alignment, _token, _cell, _example, _answer)[turn](page, number)
    wait_until_idle(page)


def _token(page: Page, number: int) -> None:
    tokens = page.locator(".token")
    tokens.nth(number % tokens.count()).click()


def _cell(page: Page, number: int) -> None:
    page.locator("canvas.layer-head").click(position={"x": 60 + 37 * (number % 9), "y": 20 + 23 * (number % 11)})


def _alpha(page: Page, number: int) -> None:
    open_drawer(page, "scoring")
    page.locator(".st-key-settings_alpha input[type=range]").press("ArrowLeft" if number % 4 < 2 else "ArrowRight")


def _alignment(page: Page, number: int) -> None:
    open_drawer(page, "scoring")
    page.get_by_text(("own", "predicting")[number // 10 % 2], exact=True).click()


def _example(page: Page, number: int) -> None:
    open_list(page.get_by_role("combobox", name="Example"))
    options = page.get_by_role("option")
    options.nth(number // 10 % options.count()).click()


def _answer(page: Page, number: int) -> None:
    page.get_by_label("Prompt").fill(f"Q: In which country is Gliwice?\nA: Poland.\nQ: What is {number} + 1?\nA:")
    page.get_by_role("button", name="Generate").click()
    page.locator(".source", has_text=f"What is {number} + 1").wait_for()


def _follow(page: Page, title: str) -> None:
    page.get_by_role("link", name=title, exact=True).click()
    if title != "Inspect":
        page.locator("canvas.tracks").wait_for(state="detached")


def _looks(browser: Browser, server: Server) -> tuple[list[Look], float]:
    """What the tab held after each 20 interactions, and the share of a core, in percent, of the server at rest."""
    found = []
    with fresh_page(browser) as page:
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")
        whole = browser.new_browser_cdp_session()
        page.goto(server.address)
        page.locator("canvas.tracks[aria-label]").wait_for()
        wait_until_idle(page)
        for number in range(WARM_UP + INTERACTIONS):
            _interact(page, number)
            done = number + 1 - WARM_UP
            if done >= 0 and done % EVERY == 0:
                found.append(_look(done, page, session, whole))
                tell(f"{found[-1]}")
        return found, _percent_at_rest(server)


def _look(interactions: int, page: Page, session: CDPSession, whole: CDPSession) -> Look:
    for _ in range(COLLECTIONS):
        session.send("HeapProfiler.collectGarbage")
        page.wait_for_timeout(300)
    values = {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}
    processes = whole.send("SystemInfo.getProcessInfo")["processInfo"]
    memory = sum(
        memory_mib("Pss", process=each["id"], file="smaps_rollup") for each in processes if each["type"] == "renderer"
    )
    heap, nodes, listeners = (values[name] for name in ("JSHeapUsedSize", "Nodes", "JSEventListeners"))
    return Look(interactions, memory, heap / 2**20, int(nodes), int(listeners))


def _percent_at_rest(server: Server) -> float:
    """Processor time of a server without requests, in percent of a core."""
    begun, before = time.monotonic(), processor_seconds(server)
    time.sleep(REST)
    return 100 * (processor_seconds(server) - before) / (time.monotonic() - begun)


def _record(found: list[Look], resting: float) -> Record:
    first, last = found[0], found[-1]
    growth = last.memory - first.memory
    return measured(
        "tab_memory",
        title="Memory and CPU of an open tab",
        about=f"Memory of Chromium's renderer after garbage was collected, over interactions on the page Inspect: "
        "tokens, cells, alpha, alignment, recorded examples, answers of the embedded model, and the other pages and "
        f"back. Counted from {WARM_UP} interactions on, when every page was open once. The server is started as make "
        "app starts it.",
        columns=("interactions", "renderer MiB", "JavaScript heap MiB", "nodes", "listeners"),
        rows=[tuple(look) for look in found],
        bounds=[
            at_most(f"growth over {last.interactions} interactions, MiB", growth, MOST_MIB),
            at_most("server at rest with one page open, % of a core", resting, MOST_PERCENT),
        ],
        finding=f"Over {last.interactions} interactions the tab's memory changes by {growth:+.0f} MiB; the server at "
        f"rest takes {resting:.1f} % of a core.",
        packages=("streamlit", "playwright"),
    )
