"""The inspector's journey, as a person clicks it."""

import math
import re

from playwright.sync_api import expect

import rauq
from benchmarks.support.browser import open_drawer
from rauq.recorded.answers import load_recorded
from rauq.recorded.scores import scores_of
from rauq.scoring.report import weak_points
from tests.browser.inspecting import ask, click_cell, expect_selected, rested


def test_journey_from_a_prompt_to_a_head(page, server):
    ask(page, server)
    collapse = page.locator(".token.collapse")
    expect(page.locator(".headline")).to_contain_text(f"token {collapse.get_attribute('data-index')},")
    expect(page.get_by_text("Selected heads; the score comes from layer")).to_be_visible()

    collapse.hover()
    tip = page.locator(".tip")
    for fact in ("probability", "entropy", "attention", "confidence", "contribution", "Most probable tokens"):
        expect(tip).to_contain_text(fact)
    expect(tip.locator(".alternative")).to_have_count(10)

    page.locator(".token").nth(2).click()
    expect(page.locator(".map-sub")).to_have_text("at token 2 only")
    expect(page).to_have_url(re.compile("token=2"))

    click_cell(page, 1, 6)
    expect_selected(page, 1, 6)
    expect(page).to_have_url(re.compile("layer=1&head=6"))

    before = page.locator(".judged .reference").text_content()
    open_drawer(page, "scoring")
    slider = page.locator(".st-key-settings_alpha input[type=range]")
    slider.focus()
    slider.press("ArrowRight")
    expect(page.get_by_text("not the paper's setting")).to_be_visible()
    expect(page.locator(".judged .reference")).not_to_have_text(before)
    expect(page.locator(".st-key-scoring button").first).to_have_text(re.compile("Scoring: alpha 0.25"))
    page.keyboard.press("Escape")
    expect(page).to_have_url(re.compile("alpha=0.25"))
    expect_selected(page, 1, 6)

    page.locator(".token").nth(2).click()
    expect(page.locator(".map-sub")).to_have_text("mean over the answer")
    expect(page).not_to_have_url(re.compile("token="))


def test_the_first_answer_in_its_maps_and_tracks_and_by_its_verdict_and_weakest_point(page, server):
    recorded = load_recorded()[0]
    page.goto(server)
    rested(page)
    tracks_follow_the_pointer_over_the_map_and_a_click_keeps_the_head(page)
    the_map_can_show_which_heads_separate_correct_from_incorrect_answers(page, recorded.trace())
    it_is_judged_and_ranked_and_its_weakest_point_has_alternatives(page, recorded)


def tracks_follow_the_pointer_over_the_map_and_a_click_keeps_the_head(page):
    pixels = """(canvas) => [...canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data].join()"""
    tracks, heads = page.locator("canvas.tracks"), page.locator("canvas.layer-head")
    before = tracks.evaluate(pixels)
    heads.hover()
    over = tracks.evaluate(pixels)
    assert over != before
    page.locator(".heads-title").hover()
    assert tracks.evaluate(pixels) == before
    click_cell(page, 11, 6, layers=30, heads=9)
    page.locator(".heads-title").hover()
    assert tracks.evaluate(pixels) not in {before, over}


def the_map_can_show_which_heads_separate_correct_from_incorrect_answers(page, trace):
    kept = scores_of(trace).heads
    colours = """(canvas) => [...canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data].join()"""
    before = page.locator("canvas.layer-head").evaluate(colours)
    page.get_by_role("button", name="correct vs incorrect").click()
    expect(page.locator(".map-sub")).to_have_text("ROC-AUC in 798 answers of this model")
    expect(page.locator(".map-caption")).to_contain_text("where the best of 270 heads stays with shuffled labels")
    assert page.locator("canvas.layer-head").evaluate(colours) != before
    click_cell(page, 19, 3, layers=30, heads=9)
    expect(page.locator(".tip .subtitle")).to_have_text(f"ROC-AUC {kept.auc[19][3]:.3f}")
    expect(page.locator(".heads th").nth(3)).to_have_text("ROC-AUC")
    page.get_by_role("button", name="attention", exact=True).click()
    expect(page.locator(".map-sub")).to_have_text("mean over the answer")


def it_is_judged_and_ranked_and_its_weakest_point_has_alternatives(page, recorded):
    trace = recorded.trace()
    judged = page.locator(".judged")
    expect(judged.locator(".badge")).to_have_text("✕ Incorrect")
    expect(judged.locator(".correct-answer")).to_have_text(f"Correct answer: {recorded.correct_answer}")
    expect(judged.locator(".rank")).to_have_text(re.compile(r"More uncertain than \d+ % of 798 answers$"))
    expect(judged.locator(".nearest")).to_contain_text("Near this score, 2 % are correct")
    assert judged.locator("canvas").evaluate(
        """(canvas) => {
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          return data.some((value) => value > 0);
        }"""
    )

    collapse = int(rauq.score(trace).collapse.argmax())
    first = trace.alternatives[collapse][0]
    chips = page.locator(".weak .chip")
    expect(chips).to_have_count(5)
    expect(page.locator(".weak .or")).to_have_text("or")
    expect(chips.first).to_contain_text(f"{100 * math.exp(first.logprob):.0f} %")
    where = page.locator(".weak .where").first
    expect(where).to_have_text("Weakest of 3 points")
    points = weak_points(trace, rauq.score(trace))
    for place in (1, 2):
        rested(page)
        page.locator(".next-weak").click()
        expect(page.locator(".token[aria-pressed=true]")).to_have_attribute("data-index", str(points[place]))
        expect(where).to_contain_text(f"Weak point {place + 1} of 3")
    page.locator(".token").nth(2).click()
    expect(where).to_contain_text("Token 2")
    page.get_by_role("button", name="Branch in Compare").click()
    expect(page).to_have_url(re.compile("/compare.*branch=2"))
