"""The first screen of Inspect: verdict, continuation, any head's recurrence, a window over a long answer."""

import re
from dataclasses import replace

import numpy as np
import pytest
from playwright.sync_api import expect

import rauq
from benchmarks.support.random_trace import random_trace
from pages.ui.shared import url_state
from rauq.recorded.answers import find_recorded
from rauq.scoring import report
from tests.browser.inspecting import answered, open_trace, rested
from tests.browser.typing import enter

PIXELS = """(canvas) => [...canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data].join()"""


def opened(page, server, query="example=unknown-place"):
    page.goto(f"{server}/inspect?{query}")
    rested(page)


def test_a_click_on_an_alternative_continues_the_answer_in_the_same_tracks(page, server):
    opened(page, server)
    before = page.locator("canvas.tracks").evaluate(PIXELS)
    other = page.locator(".chip:not(.chosen)").first
    said = other.locator(".said").inner_text()
    other.click()
    expect(page.locator(".other-text")).to_have_text(re.compile(f"^The currency of Kiribati is the {re.escape(said)}"))
    expect(page.locator(".other-compare")).to_be_visible()
    expect(page.locator(".other-facts")).to_contain_text("the answer above has 1.67")
    assert page.locator("canvas.tracks").evaluate(PIXELS) != before
    rested(page)
    page.locator(".token").nth(3).click()
    expect(page).to_have_url(re.compile("token=3"))
    expect(page.locator(".other-text")).to_be_visible()
    page.locator(".other-close").click()
    expect(page.locator(".other")).to_be_hidden()
    page.locator(".token").nth(3).click()
    rested(page)
    assert page.locator("canvas.tracks").evaluate(PIXELS) == before
    page.locator(".chip:not(.chosen)").first.click()
    page.locator(".other-compare").click()
    expect(page).to_have_url(re.compile("/compare.*b=kept"))


def test_a_correct_answer_is_typed_and_the_verdict_overruled(page, server):
    page.goto(f"{server}/inspect?example=unknown-place")
    rested(page)
    enter(page.get_by_label("Prompt"), "Q: Where is Lima?\nA:")
    page.get_by_role("button", name="Generate").click()
    expect(answered(page, "Where is Lima")).to_be_visible()
    rested(page)
    badge = page.locator(".verdict .badge")
    expect(badge).to_have_text("Correct or not?")
    enter(page.get_by_label("Correct answer"), "Atlantis <b>")
    page.get_by_role("button", name="Judge").click()
    expect(badge).to_have_text("✕ Incorrect")
    expect(page.locator(".correct-answer")).to_have_text("Correct answer: Atlantis <b>")
    expect(page.locator(".verdict-source")).to_contain_text("Verdict: by")
    rested(page)
    page.get_by_role("group", name="Your verdict").get_by_role("button", name="Correct", exact=True).click()
    expect(badge).to_have_text("✓ Correct")
    expect(page.locator(".verdict-source")).to_have_text("Verdict: set by you.")


def test_another_head_moves_the_whole_picture_and_one_click_leads_back(page, server):
    """Tracks, headline, tooltip and sentence are of one head: by default of the one that gives the score."""
    opened(page, server, "example=canberra")
    score = rauq.score(find_recorded("canberra").trace())
    gives = f"layer {score.layer}, head {score.heads[score.layers.index(score.layer)]}"
    shown = page.locator(".shown-what")
    expect(shown).to_have_text(f"L{gives[1:]} gives the score")
    expect(page.locator(".finding .detail")).to_contain_text(f"The score comes from {gives}.")
    page.get_by_text("About this number").click()
    page.get_by_role("button", name="which separates answers best of the selected heads").click()
    expect(shown).to_have_text(
        re.compile(r"^Layer 20, head 1, which separates answers best of the selected heads .*: not the one that gives")
    )
    expect(page.locator(".finding .detail")).to_contain_text(
        f"Layer 20, head 1: not the one that gives the score, which is {gives}."
    )
    expect(page).to_have_url(re.compile("layer=20&head=1"))
    page.locator(".token").nth(5).hover()
    tip = page.locator(".tip").inner_text()
    assert set(re.findall(r"layer (\d+), head (\d+)", tip)) == {("20", "1")}
    page.get_by_role("button", name="which gives the score").click()
    expect(shown).to_have_text(f"L{gives[1:]} gives the score")
    expect(page.locator(".finding .detail")).to_contain_text(f"The score comes from {gives}.")
    expect(page.locator(".auc-caption")).to_contain_text("The head that separates best, layer 19 head 3")
    little_attention_offers_settings_under_which_it_counts(page)


def little_attention_offers_settings_under_which_it_counts(page):
    page.locator(".finding summary").click()
    page.get_by_role("button", name="Try alpha 0.5").click()
    expect(page.locator(".st-key-scoring button").first).to_have_text(re.compile("Scoring: alpha 0.5"))
    expect(page).to_have_url(re.compile("alpha=0.5"))
    expect(page.locator(".offer")).to_be_hidden()


def test_a_long_answer_has_a_window_that_follows_text_keys_and_overview(page, server, tmp_path):
    open_trace(page, server, random_trace(400), tmp_path)
    overview, strip = page.locator("canvas.overview"), page.locator(".strip")
    trace = random_trace(400)
    assert min(report.weak_points(trace, rauq.score(trace))) in window(overview)
    box = overview.bounding_box()
    page.mouse.click(box["x"] + box["width"] * 0.9, box["y"] + 5)
    expect(overview).to_have_attribute("aria-label", re.compile(r"tokens 3\d\d to 39\d of 400"))
    assert strip.evaluate("strip => strip.scrollTop") > 100
    strip.evaluate("strip => { strip.scrollTop = 0; }")
    expect(overview).to_have_attribute("aria-label", re.compile("tokens 0 to"))
    page.locator(".sentence").first.click()
    page.keyboard.press("End")
    expect(page.locator(".token[data-index='399']")).to_be_in_viewport()
    expect(overview).to_have_attribute("aria-label", re.compile("to 399 of 400"))


def test_a_link_opens_on_its_sentence_and_a_pasted_answer_has_largest_surprisals(page, server, tmp_path):
    open_trace(page, server, replace(random_trace(100), stop_reason="given"), tmp_path)
    page.locator("tr[data-place='4']").click()
    expect(page).to_have_url(re.compile(r"token=\d+$"))
    page.reload()
    rested(page)
    expect(page.locator(".sentence.open")).to_have_attribute("data-sentence", "4")
    expect(page.get_by_role("columnheader", name="largest surprisal, nats")).to_be_visible()


def test_an_answer_below_80_tokens_has_tokens_alone(page, server, tmp_path):
    open_trace(page, server, random_trace(79), tmp_path)
    expect(page.locator(".token[role=button]")).to_have_count(79)
    expect(page.locator(".sentence, .sentences:visible")).to_have_count(0)


def window(overview):
    """The tokens in the tracks."""
    first, last = re.search(r"tokens (\d+) to (\d+)", overview.get_attribute("aria-label")).groups()
    return range(int(first), int(last) + 1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_small_screen_shows_question_answer_verdict_and_first_track(page, server, scheme):
    page.set_viewport_size({"width": 1280, "height": 720})
    page.emulate_media(color_scheme=scheme)
    opened(page, server, "example=canberra")
    assert len(find_recorded("canberra").trace().pieces) <= 40
    for part in (".strip", ".weak", ".verdict", ".rank"):
        box = page.locator(part).bounding_box()
        assert box["y"] + box["height"] < 720
    tracks = page.locator("canvas.tracks").bounding_box()
    assert tracks["y"] + tracks["height"] / 3 < 720
    assert page.get_by_label("Prompt").bounding_box()["y"] < 120
    if scheme == "dark":
        maps_are_dark(page)
    else:
        a_phone_shows_one_column_without_sideways_scrolling(page)
        paper_has_the_answer_and_no_links(page)


def maps_are_dark(page):
    darkest = page.locator("canvas.layer-head").evaluate(
        """(canvas) => {
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          const cell = 4 * (canvas.width * Math.round(canvas.height * 0.8) + Math.round(canvas.width * 0.5));
          return [data[cell], data[cell + 1], data[cell + 2]];
        }"""
    )
    assert sum(darkest) < 3 * 110


def a_phone_shows_one_column_without_sideways_scrolling(page):
    page.set_viewport_size({"width": 390, "height": 844})
    rested(page)
    assert page.get_by_test_id("stMain").evaluate("main => main.scrollWidth <= main.clientWidth")
    strip, verdict, tracks = (page.locator(name).bounding_box() for name in (".strip", ".verdict", "canvas.tracks"))
    assert strip["y"] < verdict["y"] < tracks["y"]
    assert tracks["x"] >= 0
    assert tracks["x"] + tracks["width"] <= 390
    np.testing.assert_allclose(strip["x"], tracks["x"], atol=6)
    assert strip["y"] < 0.45 * 844


def paper_has_the_answer_and_no_links(page):
    page.emulate_media(media="print")
    expect(page.locator(".strip")).to_be_visible()
    for name in ("help", "links", "run"):
        expect(page.locator(f".st-key-{name}")).to_be_hidden()
    page.emulate_media(media="screen")


def test_a_click_on_another_page_leaves_an_open_drawer(page, server):
    opened(page, server)
    for name in ("drawer_export", "drawer_reference"):
        page.locator(f".st-key-{name} button").click()
        expect(page.locator(".st-key-open_drawer")).to_be_visible()
    page.get_by_role("link", name="Runs", exact=True).click()
    expect(page).to_have_url(re.compile("/runs"))
    expect(page.get_by_text("Export", exact=True)).to_have_count(0)
    assert url_state.KEPT not in page.url
