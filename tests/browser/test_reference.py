"""The reference of a score: it follows the settings once the page is drawn, and another one is chosen in its drawer."""

import re

import pytest
from playwright.sync_api import expect

from analysis.runs.library import FOLDER_VARIABLE
from benchmarks.support.server import serving
from tests.browser.typing import enter


@pytest.fixture
def runs_server(monkeypatch, tmp_path):
    """The app with a folder of runs of its own."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    with serving() as address:
        yield address


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
    expect(page.locator(".judged .rank")).to_contain_text("of 798 answers of this model")

    page.goto(f"{server}/inspect?example=canberra&reference=smollm2-facts")
    expect(about(page)).to_contain_text("the run smollm2-facts")
    opened(page)
    page.get_by_role("combobox", name="Compare with").click()
    page.get_by_role("option", name="The table that came with the app").click()
    expect(about(page)).to_contain_text("the table that came with the app")
    expect(page).to_have_url(re.compile("reference=_table"))


def test_a_reference_is_made_from_the_drawer_and_then_follows_the_settings(page, runs_server):
    page.goto(f"{runs_server}/inspect?example=myth&alpha=0.5")
    expect(page.locator(".judged .nearest")).to_contain_text("make a reference")
    opened(page)
    page.get_by_text("Make a reference", exact=True).click()
    enter(page.get_by_label("Number of questions"), "20")
    page.get_by_label("Number of questions").press("Tab")
    expect(page.get_by_text("How long this takes is unknown")).to_be_visible()
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_text("It becomes the reference of this model.")).to_be_visible()
    expect(about(page)).to_contain_text("Reference: the run atlas-atlas, answers of atlas to the data set atlas.")
    expect(page.locator(".judged .rank")).to_contain_text("20 answers of this model")
    expect(page.get_by_text("It becomes the reference of this model.")).to_have_count(0)
