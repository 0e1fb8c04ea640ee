"""A text field takes what is typed, pasted, composed and deleted, and no shortcut of the page fires.

Fields are those that a page shows, at once or after one click on what opens.
"""

import ast
import re
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import expect

from benchmarks.support.browser import open_drawer, open_list, wait_until_idle
from tests.browser.inspecting import answered, rested
from tests.traces import trace_of_text

ROOT = Path(__file__).parents[2]
TYPED, COMPOSED = "aé1 ", "日本"
_TEXTS = "input:not([type=file]):not([type=checkbox]):not([type=radio]):not([type=range]), textarea"
_WIDGETS = ("text_input", "text_area", "number_input", "chat_input")
_OPENERS = "[aria-expanded=false]:not(input):visible, summary:visible"
_CONTENT = "[data-testid=stPopoverBody] [data-testid=stElementContainer]"
# Which fields can be written, by name and kind, and by their place among those in sight.
_NAMES = """fields => fields.map((field) => field.disabled || field.readOnly ? "" : `${field.type} ${
  field.getAttribute("aria-label") ?? field.labels?.[0]?.innerText ?? field.placeholder
}`)"""
# What names an opener: the key that the code gives to it, and its text.
_OPENER = """opener => `${opener.innerText} ${
  [...opener.closest("[class*=st-key-]")?.classList ?? []].filter((name) => name.startsWith("st-key-"))
}`"""


@dataclass(frozen=True)
class Untouched:
    """What a shortcut of the page would change."""

    address: str
    selected: int
    marked: int


def untouched(page):
    return Untouched(page.url, *(page.locator(name).count() for name in (".token[aria-pressed=true]", ".token.wrong")))


def keys_arrive(page, field):
    """Type, paste, delete, compose, and leave the field with what it had."""
    kind, before, had = field.get_attribute("type"), untouched(page), field.input_value()
    typed, composed = ("1", "") if kind == "number" else (TYPED, COMPOSED)
    everything = lambda: field.press("ControlOrMeta+a")  # noqa: E731
    field.click()
    everything()
    page.keyboard.type(TYPED)
    expect(field).to_have_value(typed)
    everything()
    page.keyboard.press("ControlOrMeta+x")
    expect(field).to_have_value("")
    page.keyboard.press("ControlOrMeta+v")
    expect(field).to_have_value(typed)
    everything()
    page.keyboard.press("Backspace")
    expect(field).to_have_value("")
    compose(page, COMPOSED)
    expect(field).to_have_value(composed)
    everything()
    page.keyboard.press("Backspace")
    page.keyboard.insert_text(had)
    if field.get_attribute("aria-expanded") == "true":
        page.keyboard.press("Escape")  # the list of choices is over what the key would lead to
    page.keyboard.press("Tab")
    expect(field).not_to_be_focused()
    wait_until_idle(page)
    assert untouched(page) == before


def compose(page, text):
    """What an input method does: the text grows under the caret, and is then put in its place."""
    session = page.context.new_cdp_session(page)
    for end in range(1, len(text) + 1):
        session.send("Input.imeSetComposition", {"text": text[:end], "selectionStart": end, "selectionEnd": end})
    session.send("Input.insertText", {"text": text})
    session.detach()


def next_field(page, tried):
    """The place, among the fields in sight, and the name of the first that was not tried yet; None without one."""
    names = page.locator(_TEXTS).filter(visible=True).evaluate_all(_NAMES)
    return next(((place, name) for place, name in enumerate(names) if name and name not in tried), None)


def try_new(page, tried, opener=None):
    """Try the fields in sight that were not tried yet; `opener` shows them again where they were closed meanwhile."""
    while True:
        if opener is not None and opener.get_attribute("aria-expanded") == "false":
            opener.click()
            wait_until_idle(page)
        if (found := next_field(page, tried)) is None:
            return
        place, name = found
        field = page.locator(_TEXTS).filter(visible=True).nth(place)
        field.evaluate("(field, place) => { field.dataset.tried = place; }", str(len(tried)))  # others come and go
        keys_arrive(page, page.locator(f"[data-tried='{len(tried)}']"))
        tried.add(name)


def try_within(page, tried, opened, opener):
    """Try the fields that an open opener shows."""
    opened.add((page.url, opener.evaluate(_OPENER)))
    try_new(page, tried, opener)


def walk(page, tried, opened):
    """Try all fields in sight, then those that each opener shows which was not `opened` at this address before."""
    try_new(page, tried)
    for place in range(page.locator(_OPENERS).count()):
        opener = page.locator(_OPENERS).nth(place).element_handle()
        name = page.url, opener.evaluate(_OPENER)
        if name in opened:
            continue
        opened.add(name)
        opener.click()
        if opener.evaluate("opener => opener.closest('[data-testid=stPopover]') !== null"):
            page.locator(_CONTENT).first.wait_for()  # it comes from the server
        wait_until_idle(page)
        try_new(page, tried, opener)
        page.keyboard.press("Escape")
        wait_until_idle(page)
        expect(page.locator(_CONTENT)).to_have_count(0)


def labels_of_fields():
    """The labels of the fields that are written in the code of the pages."""
    calls = [
        node
        for path in (ROOT / "pages").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _WIDGETS
    ]
    return {call.args[0].value for call in calls if isinstance(call.args[0], ast.Constant)}


def at(page, address):
    """Open a page, and wait until it is drawn; between the runs that lead to it, the script rests too."""
    page.goto(address)
    page.get_by_test_id("stTopNavLink").first.wait_for()
    page.locator(".st-key-help a").wait_for()
    for _ in range(2):
        wait_until_idle(page)


def choose(page, role, name):
    page.get_by_role(role, name=name, exact=True).click()
    wait_until_idle(page)


def pick(page, name, option):
    open_list(page.get_by_role("combobox", name=name))
    page.get_by_role("option", name=option, exact=True).click()
    wait_until_idle(page)


def try_a_new_run(page, tried, opened):
    """The fields of the form for a new run, under the choices that show others."""
    for name in ("another", "Facts"):
        choose(page, "radio", name)
        walk(page, tried, opened)
    pick(page, "Measure of quality", "AlignScore of the reference, given the answer")
    try_new(page, tried)
    choose(page, "radio", "The paper's")
    try_new(page, tried)


def try_behind_choices(page, server, tried, opened, folder):
    """The fields of other pages that take more than one click to reach."""
    at(page, f"{server}/compare?a=example:canberra")
    choose(page, "button", "Make another B")
    pick(page, "Instead", "My own text")
    try_new(page, tried, page.get_by_role("button", name="Make another B").element_handle())
    at(page, f"{server}/answer_sets?view=best")
    walk(page, tried, opened)
    at(page, f"{server}/evidence?view=check")
    try_new(page, tried)
    at(page, f"{server}/inspect")
    choose(page, "button", "More")
    page.get_by_text(re.compile("^Sampling: ")).click()
    page.get_by_text("Sample tokens at random").click()
    wait_until_idle(page)
    try_new(page, tried)
    answer = folder / "answer.safetensors"
    trace_of_text("Lima").save(answer)
    open_drawer(page, "more")
    page.get_by_text("Open a saved trace").click()
    page.locator("input[type=file]").set_input_files(answer)
    expect(answered(page, "made-up")).to_be_visible()
    page.keyboard.press("Escape")
    rested(page)
    try_new(page, tried)
    assert any("Correct answer" in name for name in tried)
    open_drawer(page, "drawer_reference")
    page.get_by_text("Make a reference", exact=True).click()
    wait_until_idle(page)
    try_new(page, tried)
    choose(page, "button", "Paste an answer")
    try_new(page, tried)


def untried(tried):
    """The labels of fields in the code of the pages that were not tried."""
    return [label for label in labels_of_fields() if not any(label in name for name in tried)]
