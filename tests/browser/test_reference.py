"""The reference of a score: it follows the settings once the page is drawn, and another one is chosen in its drawer."""

import re

from playwright.sync_api import expect

from benchmarks.support.browser import open_list


def about(page):
    return page.locator(".judged .reference")


def opened(page):
    """Open the drawer and wait until its script rests: a list that is unfolded before closes again."""
    page.locator(".st-key-drawer_reference button").click()
    expect(page.get_by_text("Make a reference", exact=True)).to_be_visible()
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")


def test_a_setting_is_compared_with_the_run_and_the_drawer_changes_what_the_first_screen_says(page, server):
    page.goto(f"{server}/inspect?example=canberra")
    expect(about(page)).to_contain_text("the table that came with the app")
    page.goto(f"{server}/inspect?example=canberra&alpha=0.5")
    expect(about(page)).to_contain_text("the run smollm2-facts")
    expect(page.locator(".judged .rank")).to_contain_text("of 798 answers")

    page.goto(f"{server}/inspect?example=canberra&reference=smollm2-facts")
    expect(about(page)).to_contain_text("the run smollm2-facts")
    opened(page)
    open_list(page.get_by_role("combobox", name="Compare with"))
    page.get_by_role("option", name="The table that came with the app").click()
    expect(about(page)).to_contain_text("the table that came with the app")
    expect(page).to_have_url(re.compile("reference=_table"))


def test_where_there_is_no_reference_a_button_opens_the_form_of_a_new_one(page, server):
    page.goto(f"{server}/inspect?example=canberra")
    expect(page.locator(".judged .rank")).to_contain_text("of 798 answers")
    expect(page.locator(".make-reference")).to_be_hidden()

    page.goto(f"{server}/inspect?example=myth&alpha=0.5")
    page.locator(".make-reference").click()
    expect(page.get_by_role("button", name="Start")).to_be_visible()
