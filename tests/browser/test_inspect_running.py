"""Answers being written: stopped, sent twice, left alone, sent by key."""

import re

from playwright.sync_api import expect

from benchmarks.support.browser import open_drawer
from tests.browser.inspecting import ENDLESS, PROMPT, answered, go_to, rested
from tests.browser.typing import enter


def begin_long(page, address):
    page.goto(f"{address}/?example=unknown-place")
    rested(page)
    enter(page.get_by_label("Prompt"), ENDLESS)
    open_drawer(page, "more")
    enter(page.get_by_label("Max new tokens"), "1000")
    page.get_by_label("Max new tokens").press("Enter")
    expect(page.get_by_text("up to 1,000 new")).to_be_visible()
    page.keyboard.press("Escape")
    rested(page)
    page.get_by_role("button", name="Generate").click()
    growing = page.locator(".views.live.scored .token").first
    expect(growing.or_(answered(page, ENDLESS))).to_be_visible()  # a fast machine may be done


def test_stop_keeps_the_partial_answer(page, server):
    begin_long(page, server)
    done = answered(page, re.compile("stopped by you|ended|stop string")).locator(".rank")
    page.locator(".st-key-stop button").or_(done).first.click()  # a fast machine may be done
    expect(done).to_be_visible()
    expect(page.locator(".token.collapse")).to_have_count(1)


def test_a_job_survives_a_switch_of_pages(page, server):
    begin_long(page, server)
    go_to(page, "Learn")
    expect(page.locator(".lesson .title")).to_be_visible()
    go_to(page, "Inspect")
    expect(answered(page, ENDLESS)).to_be_visible()
    expect(page.get_by_label("Prompt")).to_have_value(ENDLESS)


def test_a_tab_that_is_loaded_again_finds_the_answer_that_it_asked_for(page, server):
    begin_long(page, server)  # a person takes longer than the page until the browser has the key, or the answer
    page.wait_for_function("() => sessionStorage.getItem('rauq-job') || location.search.includes('kept=')")
    page.reload()
    live = page.locator(".views.live .headline", has_text="Generating")
    expect(live.or_(answered(page, ENDLESS))).to_be_visible()
    expect(page.get_by_label("Prompt")).to_have_value(ENDLESS)
    expect(answered(page, ENDLESS)).to_be_visible()
    expect(page).to_have_url(re.compile("kept="))
    page.wait_for_function("() => sessionStorage.getItem('rauq-job') === null")


def test_rapid_clicks_are_one_generation_and_the_last_selection(page, server):
    page.goto(f"{server}/?example=unknown-place")
    rested(page)
    enter(page.get_by_label("Prompt"), PROMPT)
    page.get_by_role("button", name="Generate").click(click_count=5)
    expect(answered(page, "Gliwice")).to_be_visible()
    rested(page)
    address = re.search("kept=[^&]+", page.url)[0]
    for index in (0, 1, 2, 3, 4, 3, 2):
        page.locator(".token").nth(index).click()
    expect(page).to_have_url(re.compile(f"{address}&token=2$"))
    expect(page.locator(".token").nth(2)).to_have_attribute("aria-pressed", "true")


def test_control_and_enter_send_what_was_typed_and_back_leads_to_the_answer_before(page, server):
    page.goto(f"{server}/?example=unknown-place")
    rested(page)
    before = page.url
    enter(page.get_by_label("Prompt"), PROMPT)
    page.get_by_label("Prompt").press("Control+Enter")
    expect(answered(page, "Gliwice")).to_be_visible()
    expect(page).to_have_url(re.compile("kept="))
    rested(page)
    page.go_back()
    expect(page.locator(".source", has_text="Gliwice")).to_have_count(0)
    expect(page).to_have_url(before)
