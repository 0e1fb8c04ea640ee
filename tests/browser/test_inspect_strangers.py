"""Hostile texts, broken files, and two people at once."""

import re

from playwright.sync_api import expect

from benchmarks.support.browser import open_drawer
from tests.browser.inspecting import answered, rested
from tests.browser.typing import enter
from tests.hostile import hostile_trace

HOSTILE = (
    " <img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    " ![](http://evil.example/a.png) [link](http://evil.example) <b>bold</b> $x^2$"
)


def test_hostile_input_is_drawn_as_text(page, server):
    page.goto(f"{server}/?example=unknown-place")
    rested(page)
    page.get_by_role("button", name="Paste an answer").click()
    enter(page.get_by_role("textbox", name="Answer to score"), HOSTILE)
    enter(page.get_by_label("Prompt"), f"Q:{HOSTILE}\nA:")
    page.get_by_role("button", name="Score answer").click()
    expect(answered(page, "as given")).to_be_visible()
    rested(page)
    assert page.locator(".strip").evaluate("strip => strip.textContent") == HOSTILE
    expect(page.locator(".shown-what")).to_contain_text("which the score does not use")
    expect(page.locator(".tracks")).to_have_attribute("aria-label", re.compile("surprisal and confidence by token"))
    expect_unharmed(page, "RAUQ")


def test_a_file_that_is_no_trace_is_refused_and_a_hostile_trace_is_drawn_as_text(page, server, tmp_path):
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(b"\x80\x04 no trace")
    file = tmp_path / "<img src=x onerror=alert(1)> ![](http:evil).safetensors"
    file.write_bytes(hostile_trace().to_bytes())
    page.goto(f"{server}/?example=unknown-place")
    rested(page)
    open_drawer(page, "more")
    page.get_by_text("Open a saved trace").click()
    headline = page.locator(".headline").inner_text()
    page.locator("input[type=file]").set_input_files(broken)
    expect(page.get_by_text("This trace cannot be opened")).to_be_visible()
    expect(page.locator(".headline")).to_have_text(headline)
    page.locator("input[type=file]").set_input_files(file)
    attack = page.locator(".token", has_text="<img").first
    expect(attack).to_contain_text("<img·src=x·onerror=")
    rested(page)
    for place, said in ((".headline", "<sup>2</sup>"), (".source", "<b>bold</b>")):
        expect(page.locator(place)).to_contain_text(said)
    attack.hover()
    expect(page.locator(".tip .title")).to_contain_text("<img·src=x")
    expect(page.locator(".tip .alternative .text").first).to_contain_text("<b>bold</b>")
    attack.click()
    expect(page.locator(".token-facts")).to_contain_text("<img·src=x")
    page.get_by_text("Figures for print").click()
    ticks = page.locator(".js-plotly-plot .xaxislayer-above text")
    expect(ticks.filter(has_text="$x^2$").first).to_have_text("·$x^2$·<sup…")
    expect_unharmed(page, "RAUQ")


def expect_unharmed(page, title):
    expect(page).to_have_title(title)
    strange = page.locator("[data-testid=stMain] :is(script, img, b, iframe, a[href*=evil], a[href^=javascript])")
    expect(strange).to_have_count(0)


def test_two_people_at_once_do_not_mix(page, server):
    with page.context.browser.new_context() as context:
        other = context.new_page()
        for who, country in ((page, "Peru"), (other, "Japan")):
            who.goto(f"{server}/?example=unknown-place")
            rested(who)
            enter(who.get_by_label("Prompt"), f"Q: What is the capital of {country}?\nA:")
        for who in (page, other):
            who.get_by_role("button", name="Generate").click()
        for who, country in ((page, "Peru"), (other, "Japan")):
            expect(answered(who, f"capital of {country}")).to_be_visible()
            expect(who.locator(".token.collapse")).to_have_count(1)
