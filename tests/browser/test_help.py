"""The link to a page's document, top right, and the document, by the keyboard and on a server that has just started."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.test_typing import at

PAGES = ("inspect", "compare", "answer_sets", "methods", "runs", "learn", "evidence")


def link(page):
    return page.locator(".st-key-help a")


def heading(page):
    return page.locator(".st-key-document h1")


@pytest.mark.parametrize("path", PAGES)
def test_each_page_links_to_its_document_at_the_top_right(page, server, path):
    at(page, f"{server}/{path}")
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
