"""What is done on Inspect just before it is left is reported in time, or not at all: the next page stays as it is."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.inspecting import rested

# The report of a key waits for 120 ms: the click on the link comes when it is about to be sent.
LATE = """([link, token]) => {
  setTimeout(() => link.click(), 120);
  token.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true, composed: true }));
}"""
# A field of the fragment reports at once, before the server has answered the click on the link.
AFTERWARDS = """([link]) => {
  link.click();
  document.querySelector(".st-key-folded_Figures summary").click();
}"""
WITHOUT_PAUSES_THAT_END = """() => {
  const own = window.setTimeout;
  window.setTimeout = (act, pause, ...rest) => (pause === 120 ? 1 : own(act, pause, ...rest));
}"""
LINKS = {"Compare": (".st-key-links a", ".lane.b .cell"), "Evidence": ("header a[href$=evidence]", "h2")}


@pytest.fixture
def token(page, server):
    """A token of Inspect that is selected."""
    page.goto(f"{server}/?example=unknown-place")
    rested(page)
    token = page.locator(".token").nth(1)
    token.click()
    expect(page).to_have_url(re.compile(r"&token=1$"))
    rested(page)
    return token


@pytest.mark.parametrize("report", [LATE, AFTERWARDS], ids=["late", "afterwards"])
@pytest.mark.parametrize("name", LINKS)
def test_the_page_that_follows_is_not_changed(page, token, name, report):
    link, shown = LINKS[name]
    page.evaluate(report, [page.locator(link).element_handle(), token.element_handle()])
    expect(page.get_by_role("link", name="? Help")).to_have_attribute("href", re.compile(f"document={name.lower()}"))
    expect(page.locator(shown).first).to_be_visible()
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    expect(page.locator(shown).first).to_be_visible()
    assert "token" not in page.url


def test_a_press_on_a_link_reports_the_selection_at_once(page, token):
    page.evaluate(WITHOUT_PAUSES_THAT_END)
    token.press("ArrowRight")
    page.locator(".st-key-links a").hover()
    page.mouse.down()
    expect(page).to_have_url(re.compile(r"&token=2$"))
    page.mouse.up()
    expect(page.locator(".lane.b .cell").first).to_be_visible()
    page.get_by_role("link", name="Inspect", exact=True).click()
    expect(page.locator(".token[aria-pressed=true]")).to_have_attribute("data-index", "2")
