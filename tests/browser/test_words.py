"""An explained word shows its sentence on hover, by the keyboard and by a tap, in Learn, on Inspect and elsewhere."""

import pytest
from playwright.sync_api import expect

from tests.browser.test_typing import at

SHOWN = "word => getComputedStyle(word, '::after').content"
BOX = """word => {
  const { left, width } = word.getBoundingClientRect();
  const style = getComputedStyle(word, "::after");
  return [left + parseFloat(style.left), left + parseFloat(style.left) + parseFloat(style.width)];
}"""


def is_shown(word):
    return word.evaluate(SHOWN) not in ("none", "normal")


@pytest.mark.parametrize("path", ["learn", "learn?step=6", "inspect"])
@pytest.mark.parametrize("width", [1440, 1024])
def test_a_word_in_a_text_of_the_app_is_explained_by_every_means(page, server, path, width):
    page.set_viewport_size({"width": width, "height": 900})
    at(page, f"{server}/{path}")
    words = page.locator(".term").filter(visible=True)
    expect(words.first).to_be_visible()
    for word in words.all():
        word.hover()
        assert is_shown(word)
        left, right = word.evaluate(BOX)
        assert left >= 0
        assert right <= width
        page.mouse.move(2, 2)
        assert not is_shown(word)
        word.focus()
        assert is_shown(word)
        assert word.get_attribute("aria-description").endswith(".")
        page.keyboard.press("Escape")
        assert not is_shown(word)
