"""At 200 % zoom, which halves the window, pictures fit and every choice can be seen and reached."""

import pytest
from playwright.sync_api import expect

from benchmarks.support.browser import wait_until_idle

ZOOMED = {"width": 720, "height": 450}
# What reaches beyond the window, or is cut by what is around it.
CUT = """nodes => nodes.filter((node) => {
  const { left, right, width, height } = node.getBoundingClientRect();
  const middle = document.elementFromPoint(left + width / 2, node.getBoundingClientRect().top + height / 2);
  return left < 0 || right > window.innerWidth || !(node.contains(middle) || middle?.contains(node));
}).map((node) => node.innerText)"""


@pytest.fixture
def zoomed(page):
    page.set_viewport_size(ZOOMED)
    return page


@pytest.mark.parametrize("step", range(9))
def test_pictures_of_the_lesson_fit(zoomed, server, step):
    zoomed.goto(f"{server}/learn?step={step}")
    expect(zoomed.locator(".lesson .stage > *").first).to_be_visible()
    box = zoomed.locator(".lesson .stage > *").first.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= ZOOMED["width"]
    stage = zoomed.locator(".lesson .stage")
    assert stage.evaluate("stage => stage.scrollWidth <= stage.clientWidth + 1")


@pytest.mark.parametrize("path", ["methods", "answer_sets?view=gap"])
def test_every_choice_of_a_row_of_fields_is_in_sight(zoomed, server, path):
    zoomed.goto(f"{server}/{path}")
    expect(zoomed.get_by_role("radiogroup").first).to_be_visible()
    wait_until_idle(zoomed)
    assert zoomed.locator("[data-testid=stColumn] [role=radio]").count() > 1
    assert zoomed.locator("[data-testid=stColumn] [role=radio]").evaluate_all(CUT) == []
