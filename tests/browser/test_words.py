"""An explained word shows its sentence on hover, by the keyboard and by a tap, in Learn, on Inspect and elsewhere."""

import pytest
from playwright.sync_api import expect

from pages.ui.shared.words import WORDS, words_in
from tests.browser.fields import at
from tests.browser.inspecting import rested

WIDTHS, HEIGHT = (1440, 1024), 900  # the first is that of every new page
EXPLANATIONS = {word.explanation for word in WORDS}
SHOWN = "word => word.shadowRoot.querySelector('[popover]').matches(':popover-open')"
BOX = """word => {
  const tip = word.shadowRoot.querySelector("[popover]");
  const { left, right, top, bottom } = tip.getBoundingClientRect();
  const own = word.getBoundingClientRect();
  const isBeside = Math.max(own.top - bottom, top - own.bottom) < 8 && left < own.right && right > own.left;
  return { left, right, top, bottom, isBeside, text: tip.innerText };
}"""


def is_shown(word):
    return word.evaluate(SHOWN)


@pytest.mark.parametrize("path", ["learn", "learn?step=6", "inspect"])
def test_a_word_in_a_text_of_the_app_is_explained_by_every_means(page, server, path):
    at(page, f"{server}/{path}")
    if path == "inspect":
        rested(page)  # a sentence that comes moves the words below it
    words = page.locator(".term").filter(visible=True)
    expect(words.first).to_be_visible()
    for word in words.all():
        is_explained_by_the_pointer(word, WIDTHS[0])
        word.focus()
        assert is_shown(word)
        assert word.get_attribute("aria-description") in EXPLANATIONS
        page.keyboard.press("Escape")
        assert not is_shown(word)
    page.set_viewport_size({"width": WIDTHS[1], "height": HEIGHT})
    for word in words.all():
        is_explained_by_the_pointer(word, WIDTHS[1])


def is_explained_by_the_pointer(word, width):
    """Its sentence is beside it and inside the window, and goes with the pointer."""
    word.hover()
    assert is_shown(word)
    box = word.evaluate(BOX)
    assert 0 <= box["left"] < box["right"] <= width
    assert 0 <= box["top"] < box["bottom"] <= HEIGHT
    assert box["isBeside"]
    assert box["text"] == word.get_attribute("aria-description")
    word.page.mouse.move(2, 2)
    assert not is_shown(word)


# The parts of Inspect with texts of the app. Left out of them: what can hold nothing that has a focus of its own.
PARTS = (".shown-head", ".finding", ".legend", ".standing", ".panel")
TEXT = """part => {
  const copy = part.cloneNode(true);
  copy.querySelectorAll("button, select, td, label").forEach((one) => one.remove());
  return copy.textContent;
}"""
EXPLAINED = "part => [...part.querySelectorAll('.term')].map((term) => term.getAttribute('aria-description'))"


@pytest.mark.parametrize("mode", ["attention", "correct vs incorrect"])
def test_every_word_of_the_list_is_explained_in_each_part_of_inspect_that_has_it(page, server, mode):
    at(page, f"{server}/inspect")
    rested(page)
    page.get_by_role("button", name=mode, exact=True).click()
    page.get_by_text("About this number").click()
    for place in PARTS:
        parts = page.locator(place).filter(visible=True)
        assert parts.count()
        for part in parts.all():
            needed = {word.explanation for word in words_in(part.evaluate(TEXT))}
            assert needed - set(part.evaluate(EXPLAINED)) == set(), place


def test_every_column_of_the_table_of_heads_is_explained_by_a_tap(chromium, server):
    with chromium.new_context(has_touch=True) as context:
        touched = context.new_page()
        at(touched, f"{server}/inspect")
        rested(touched)
        titles = touched.locator(".heads th")
        expect(titles).to_have_text(["layer", "head", "mean attention", "ROC-AUC", "margin", "ul"])
        assert titles.locator(".term").count() == titles.count()
        for word in titles.locator(".term").all():
            word.tap()
            assert is_shown(word)
            assert word.get_attribute("aria-description") in EXPLANATIONS
        assert sum(map(is_shown, titles.locator(".term").all())) == 1
