"""Evidence in the browser: a link to the self-check, the check from the keyboard, and the way through the views."""

import re

from playwright.sync_api import expect


def rests(page):
    """Wait until the script rests: going back while it runs is a race with the address that it writes."""
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")


def test_a_link_leads_to_the_check_which_runs_when_asked_and_the_views_follow(page, cold_server):
    page.goto(f"{cold_server}/evidence?view=check")
    headline = page.get_by_role("heading", level=2).first
    expect(headline).to_have_text("Is the captured attention exact for this model?")
    expect(page).to_have_url(re.compile(r"/evidence\?view=check$"))
    page.get_by_role("button", name="Load model and check attention").focus()
    page.keyboard.press("Enter")
    expect(headline).to_contain_text("The captured attention equals the model's own: ")
    expect(page.locator(".st-key-answers_self_check .nsewdrag")).to_be_visible()
    expect(page.get_by_role("button", name="Check attention", exact=True)).to_be_enabled()

    page.get_by_role("radio", name="Exact capture").click()
    expect(page).to_have_url(re.compile("view=models"))
    expect(headline).to_contain_text("4 ways to capture")
    expect(page.get_by_test_id("stDataFrame").first).to_be_visible()
    page.reload()
    expect(headline).to_contain_text("4 ways to capture")


def test_a_claim_leads_to_its_record_and_back_to_the_claims(page, server):
    page.goto(f"{server}/evidence")
    headline = page.get_by_role("heading", level=2)
    expect(headline.first).to_have_text("Claims")
    rests(page)
    claim = page.locator(".st-key-quote-overhead").get_by_test_id("stText")
    expect(claim.last).to_contain_text("more time with RAUQ")
    number = claim.first.inner_text()
    page.get_by_test_id("stMain").get_by_role("button", name="Speed").click()
    expect(page).to_have_url(re.compile(r"view=speed&table=overhead$"))
    expect(headline.last).to_contain_text(f"RAUQ adds {number} to the time of an answer")
    rests(page)
    page.go_back()
    expect(headline.first).to_have_text("Claims")
