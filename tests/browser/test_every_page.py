"""What holds on every page, each opened once: document, explained words, what opens, focus, fields, small windows."""

import re

import pytest
from playwright.sync_api import expect

from benchmarks.support.browser import wait_until_idle
from tests.browser.chromium import DESKTOP, PROJECTOR
from tests.browser.fields import at, try_a_new_run, try_behind_choices, try_within, untried, walk
from tests.browser.test_popovers import popovers_of_navigation, try_popovers
from tests.listed import PAGES

ZOOMED = {"width": 720, "height": 450}  # 200 % zoom halves the window
EXPLAINED = ("answer_sets", "methods", "runs", "evidence", "compare")
NEW_RUN = "runs?view=new"
BY_KEYBOARD = ("answer_sets", "methods", "runs", NEW_RUN, "evidence")
PROJECTED = (*PAGES, "methods?view=alpha", "methods?view=rejection", NEW_RUN)
WITH_CHOICES = ("methods", "answer_sets?view=gap")
IN_ROWS = ("answer_sets?view=further", "answer_sets?view=bins")  # choices of which one begins or ends a row
PATHS = tuple(dict.fromkeys((*PAGES, *EXPLAINED, *BY_KEYBOARD, *PROJECTED, *WITH_CHOICES, *IN_ROWS)))


@pytest.mark.timeout(1200)  # it opens thirteen pages: seven minutes beside two other workers on a slow machine
def test_of_every_page(page, server, tmp_path):
    at(page, server)
    navigation = [link.get_attribute("href") for link in page.get_by_test_id("stTopNavLink").all()]
    assert [address.removeprefix(f"{server}/") for address in navigation] == list(PAGES)
    popovers, fields, opened = set(), set(), set()
    checks = {
        links_to_its_document: PAGES,
        explains_its_words_at_a_question_mark: EXPLAINED,
        lambda page: try_popovers(page, popovers, lambda opener: try_within(page, fields, opened, opener)): PAGES,
        marks_what_has_the_focus: BY_KEYBOARD,
        lambda page: walk(page, fields, opened): PAGES,
        lambda page: try_a_new_run(page, fields, opened): (NEW_RUN,),
        cuts_no_name_on_a_projector: PROJECTED,
        frames_every_choice: IN_ROWS,
        shows_every_choice_of_a_row: WITH_CHOICES,
    }
    for path in PATHS:
        page.set_viewport_size(DESKTOP)
        at(page, f"{server}/{path}")
        for check, paths in checks.items():
            if path in paths:
                check(page)
    page.set_viewport_size(DESKTOP)
    assert len(popovers) == popovers_of_navigation(), sorted(popovers)
    try_behind_choices(page, server, fields, opened, tmp_path)
    assert untried(fields) == []


# Its document.


def link(page):
    return page.locator(".st-key-help a")


def heading(page):
    return page.locator(".st-key-document h1")


def links_to_its_document(page):
    path = re.search(r"/(\w+)(?:\?|$)", page.url)[1]
    expect(link(page)).to_have_attribute("href", f"help?document={path}")
    box = link(page).bounding_box()
    assert 0 <= box["y"] < 60
    assert box["x"] + box["width"] > page.viewport_size["width"] - 64


def test_the_document_opens_beside_a_page_that_stays_as_it_is(page, server):
    at(page, f"{server}/runs?view=new")
    link(page).focus()
    with page.context.expect_page() as opened:
        page.keyboard.press("Enter")
    beside = opened.value
    expect(heading(beside)).to_have_text(re.compile("^Runs"))
    beside.close()
    assert page.url == f"{server}/runs?view=new"


def test_a_document_has_an_address_that_a_fresh_server_opens_and_back_leads_to_the_one_before(page, cold_server):
    page.goto(f"{cold_server}/help?document=models")
    expect(heading(page)).to_have_text("Models")
    page.locator(".st-key-documents").get_by_role("link", name="Ray", exact=True).press("Enter")
    expect(heading(page)).to_have_text(re.compile("^Ray"))
    expect(page).to_have_url(re.compile("document=ray$"))
    page.go_back()
    expect(heading(page)).to_have_text("Models")


# Its words.


def explains_its_words_at_a_question_mark(page):
    page.get_by_role("button", name="Help").first.focus()
    explanation = page.get_by_test_id("stTooltipContent")
    expect(explanation.locator("strong").first).to_be_visible()
    page.keyboard.press("Escape")
    page.evaluate("document.activeElement.blur()")
    expect(explanation).to_have_count(0)


# With the keyboard alone: Tab reaches everything, and what has the focus looks different from what has not.

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


def marks_what_has_the_focus(page):
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


# On a projector and at 200 % zoom, pictures fit and every choice can be seen and reached.

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

# What was chosen in a field, and what the field for a file takes.
CHOSEN = "[role=combobox], [data-tag], [data-testid=stFileUploaderDropzoneInstructions]"

# Which choices have no frame at their left or right.
OPEN_FRAMES = """nodes => nodes.map((node) => node.closest("[data-variant]") ?? node).filter((node) => {
  const { borderLeftColor, borderRightColor } = getComputedStyle(node);
  return [borderLeftColor, borderRightColor].some((colour) => /^rgba.*, 0\\)$/.test(colour));
}).map((node) => node.innerText)"""


def cuts_no_name_on_a_projector(page):
    page.set_viewport_size(PROJECTOR)
    wait_until_idle(page)
    names = page.locator(".stMain").locator("button, [role=radio], a").filter(visible=True)
    assert names.count() > 1
    assert names.evaluate_all(SHORTENED) == []
    chosen = page.locator(".stMain").locator(CHOSEN).filter(visible=True)
    assert chosen.evaluate_all(SHORTENED) == []


def frames_every_choice(page):
    page.set_viewport_size(PROJECTOR)
    wait_until_idle(page)
    choices = page.locator(".st-key-answers_topic [role=radio], .st-key-answers_view [role=radio]")
    assert choices.count() > 1
    assert choices.evaluate_all(OPEN_FRAMES) == []


def shows_every_choice_of_a_row(page):
    page.set_viewport_size(ZOOMED)
    page.evaluate("document.activeElement.blur(); document.querySelector('.stMain').scrollTop = 0")
    wait_until_idle(page)
    choices = page.locator("[data-testid=stColumn] [role=radio]")
    assert choices.count() > 1
    assert choices.evaluate_all(CUT) == []


def test_pictures_of_the_lesson_fit(page, server):
    page.set_viewport_size(ZOOMED)
    page.goto(f"{server}/learn?step=0")
    for step in range(9):
        expect(page.locator(".dot").nth(step)).to_have_attribute("aria-current", "step")
        expect(page.locator(".lesson .stage > *").first).to_be_visible()
        box = page.locator(".lesson .stage > *").first.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= ZOOMED["width"]
        stage = page.locator(".lesson .stage")
        assert stage.evaluate("stage => stage.scrollWidth <= stage.clientWidth + 1")
        page.keyboard.press("ArrowRight")
