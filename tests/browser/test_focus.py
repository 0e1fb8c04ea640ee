"""With the keyboard alone: Tab reaches everything, and what has the focus looks different from what has not."""

import pytest
from playwright.sync_api import expect

MOST_STOPS = 80
# The colours that mark an element, those of the boxes around it, and whether it is drawn: with the focus, and without.
STILL = "*, *::before, *::after { transition: none !important; animation: none !important; }"
MARKS = """async () => {
  let element = document.activeElement;
  while (element.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
  const around = [];
  for (let node = element; node && around.length < 5; node = node.parentElement) around.push(node);
  const look = () => around.map((node) => {
    const { outlineStyle, outlineColor, boxShadow, borderColor } = getComputedStyle(node);
    return [outlineStyle, outlineStyle === "none" ? "" : outlineColor, boxShadow, borderColor].join();
  }).join(";");
  const focused = look();
  const opacity = Math.min(...around.map((node) => Number(getComputedStyle(node).opacity)));
  const { top, left, width } = element.getBoundingClientRect();
  const drawn = () => new Promise((resolve) => requestAnimationFrame(resolve));
  element.blur();
  if (element.tagName === "INPUT") await drawn();  // React draws the box around a field
  const blurred = look();
  element.focus();
  if (element.tagName === "INPUT") await drawn();
  const name = `${element.tagName} ${element.getAttribute("aria-label") || element.innerText || ""}`.slice(0, 60);
  return { tag: element.tagName, name, place: `${top} ${left} ${width}`, marked: focused !== blurred, opacity };
}"""
DRAWN_BY_ITSELF = {"CANVAS", "TD", "BODY"}  # a table draws its frame around a cell; BODY: the browser's own


@pytest.mark.parametrize("path", ["answer_sets", "methods", "runs", "runs?view=new", "evidence"])
def test_what_has_the_focus_is_marked(page, server, path):
    page.goto(f"{server}/{path}")
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    expect(page.get_by_role("main").locator("button, [role=radio], select, input").first).to_be_visible()
    page.add_style_tag(content=STILL)
    stops, unmarked, faint = {}, [], []
    for _ in range(MOST_STOPS):
        page.keyboard.press("Tab")
        found = page.evaluate(MARKS)
        place = found["name"], found["place"]
        if place == next(iter(stops), None):
            break  # it has come round
        if found["tag"] in DRAWN_BY_ITSELF or place in stops:
            continue
        stops[place] = found["marked"]
        unmarked += [] if found["marked"] else [found["name"]]
        faint += [] if found["opacity"] > 0.3 else [found["name"]]
    assert len(stops) > 8
    assert unmarked == []
    assert faint == []
