"""At 200 % zoom, which halves the window, and on a projector, pictures fit and every choice can be seen and reached."""

import pytest
from playwright.sync_api import expect

from benchmarks.support.browser import wait_until_idle

ZOOMED, PROJECTOR = {"width": 720, "height": 450}, {"width": 1024, "height": 768}
# What reaches beyond the window, or is cut by what is around it.
CUT = """nodes => nodes.filter((node) => {
  const { left, right, width, height } = node.getBoundingClientRect();
  const middle = document.elementFromPoint(left + width / 2, node.getBoundingClientRect().top + height / 2);
  return left < 0 || right > window.innerWidth || !(node.contains(middle) || middle?.contains(node));
}).map((node) => node.innerText)"""

# Which buttons and choices do not show all of their name.
SHORTENED = """nodes => nodes.filter((node) => {
  const { left, right } = node.getBoundingClientRect();
  if (left < 0 || right > window.innerWidth) return true;
  const clips = (one) => getComputedStyle(one).overflowX !== "visible";
  const shortens = (one) => clips(one) && one.scrollWidth > one.clientWidth + 1;
  if ([node, ...node.querySelectorAll("*")].some(shortens)) return true;
  for (let around = node.parentElement; around && !around.matches(".stMain"); around = around.parentElement) {
    if (clips(around) && right > around.getBoundingClientRect().right + 1) return true;
  }
  return false;
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


PAGES = ("inspect", "compare", "answer_sets", "methods", "methods?view=alpha", "runs", "runs?view=new", "evidence")


@pytest.mark.parametrize("path", PAGES)
def test_no_name_is_cut_on_a_projector(page, server, path):
    page.set_viewport_size(PROJECTOR)
    page.goto(f"{server}/{path}")
    names = page.locator(".stMain").locator("button, [role=radio], a").filter(visible=True)
    expect(names.first).to_be_visible()
    wait_until_idle(page)
    assert names.count() > 1
    assert names.evaluate_all(SHORTENED) == []
