"""What a person does on the page Compare, again and again."""

from playwright.sync_api import expect


def settled(page):
    """Wait until the charts stand and the script rests, so that a click does not meet an element about to go."""
    expect(page.locator(".js-plotly-plot .nsewdrag").first).to_be_visible()
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")


def open_compare(page, address, query="?a=example:unknown-place&b=example:known-place"):
    page.goto(f"{address}/compare{query}")
    expect(page.locator(".lane.b .cell").first).to_be_visible()
    settled(page)


def cells(page, lane):
    return page.locator(f".lane.{lane} .cell .text").all_inner_texts()


def open_fields(page, tab):
    page.get_by_role("button", name="Make another B").click()
    page.get_by_role("tab", name=tab).click()
