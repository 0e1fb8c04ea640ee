"""The inspector's journey, as a person clicks it."""

import math
import re

import numpy as np
from playwright.sync_api import expect

import rauq
from analysis.figures import attention_scale
from benchmarks.support.browser import open_drawer
from rauq.recorded.answers import find_recorded, load_recorded
from rauq.recorded.scores import scores_of
from rauq.scoring.report import weak_points
from tests.browser.inspecting import ask, click_cell, expect_selected, rested
from tests.browser.typing import enter


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


def test_the_first_answer_is_judged_and_ranked_and_its_weakest_point_has_alternatives(page, server):
    recorded = load_recorded()[0]
    trace = recorded.trace()
    page.goto(server)
    rested(page)
    judged = page.locator(".judged")
    expect(judged.locator(".badge")).to_have_text("✕ Incorrect")
    expect(judged.locator(".correct-answer")).to_have_text(f"Correct answer: {recorded.correct_answer}")
    expect(judged.locator(".rank")).to_have_text(re.compile(r"More uncertain than \d+ % of 798 answers of this model"))
    expect(judged.locator(".nearest")).to_contain_text("No share of correct answers: this answer is longer (52 tokens)")
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
    expect(chips.first).to_contain_text(f"{100 * math.exp(first.logprob):.0f} %")
    where = page.locator(".weak .where").first
    expect(where).to_have_text("Weakest point, no clear favourite: ")
    points = weak_points(trace, rauq.score(trace))
    for place in (1, 2):
        page.locator(".next-weak").click()
        expect(page.locator(".token[aria-pressed=true]")).to_have_attribute("data-index", str(points[place]))
        expect(where).to_contain_text(f"Weak point {place + 1} of 3")
    page.locator(".token").nth(2).click()
    expect(where).to_contain_text("Token 2")
    page.get_by_role("button", name="Branch in Compare").click()
    expect(page).to_have_url(re.compile("/compare.*branch=2"))


def test_the_tracks_follow_the_pointer_over_the_map_and_a_click_keeps_the_head(page, server):
    page.goto(server)
    rested(page)
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


def test_the_map_can_show_which_heads_separate_correct_from_incorrect_answers(page, server):
    trace = load_recorded()[0].trace()
    kept = scores_of(trace).heads
    page.goto(server)
    rested(page)
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


def test_every_view_selects_and_all_follow(page, server):
    page.goto(f"{server}/?example=unknown-place")
    rested(page)
    click_cell(page, 0, 3)
    expect_selected(page, 0, 3)
    click_cell(page, 0, 3)  # a second click keeps it
    expect_selected(page, 0, 3)
    enter(page.get_by_label("Layer", exact=True), "2")
    page.get_by_label("Layer", exact=True).press("Enter")
    expect_selected(page, 2, 3)
    page.locator(".heads tbody tr").nth(1).click()
    chosen = page.locator(".heads tr[aria-selected=true] td").all_inner_texts()
    expect_selected(page, int(chosen[0].split()[0]), int(chosen[1]))
    page.locator("canvas.tracks").click()
    pressed = page.locator(".token[aria-pressed=true]")
    expect(pressed).to_have_count(1)
    expect(page).to_have_url(re.compile(f"token={pressed.get_attribute('data-index')}$"))


def test_the_strip_works_with_the_keyboard(page, server):
    page.goto(f"{server}/?example=unknown-place")
    rested(page)
    page.locator(".token[tabindex='0']").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".token:focus")).to_have_attribute("data-index", "1")
    expect(page.locator(".tip .subtitle")).to_contain_text("token 1")
    expect(page.locator(".token").nth(1)).to_have_attribute("aria-pressed", "true")
    expect(page).to_have_url(re.compile("token=1"))
    page.keyboard.press("w")
    expect(page.locator(".token.wrong")).to_have_count(1)
    expect(page.locator(".token").nth(1)).to_have_attribute("aria-label", re.compile("marked as incorrect"))
    expect(page).to_have_url(re.compile("wrong=1"))
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(page.locator(".token[aria-pressed=true]")).to_have_count(0)
    expect(page).not_to_have_url(re.compile("token="))
    expect(page.locator(".token:focus")).to_have_attribute("data-index", "1")


def test_a_selection_runs_nothing_and_draws_no_other_view_again(page, server):
    page.goto(f"{server}/?example=unknown-place")
    rested(page)
    page.locator(".views").evaluate("(views) => { views.querySelector('.token').dataset.kept = 'yes'; }")
    page.locator(".token").nth(3).click()
    click_cell(page, 2, 2)
    for part in ("token=3", "layer=2&head=2"):  # in the order in which they were heard of
        expect(page).to_have_url(re.compile(part))
    rested(page)
    expect(page.locator(".token[data-kept=yes]")).to_have_count(1)


def test_the_colour_of_the_tokens_can_be_another(page, server):
    page.goto(f"{server}/?example=unknown-place")
    rested(page)
    underlined = page.locator(".word.underlined")
    expect(page.locator(".legend .key")).to_have_text(re.compile("one in five tokens of the reference"))
    assert underlined.count() > 0
    page.get_by_label("Colour of the tokens").select_option("probability")
    expect(page.locator(".legend .key")).to_have_text(re.compile("strongest fifth"))
    expect(page).to_have_url(re.compile("colour=probability"))
    levels = page.locator(".token:not(.quiet)").evaluate_all(
        "(all) => all.map((one) => [one.dataset.index, one.style.getPropertyValue('--level')])"
    )
    probability = np.exp(find_recorded("unknown-place").trace().logprobs)
    drawn = {int(index): float(level) for index, level in levels if float(level)}
    assert len(drawn) > 5
    np.testing.assert_allclose([drawn[index] for index in drawn], 1 - probability[list(drawn)], atol=1e-5)


def test_the_maps_suit_a_dark_page(page, server):
    page.emulate_media(color_scheme="dark")
    page.goto(f"{server}/?example=unknown-place")
    rested(page)
    darkest = page.locator("canvas.layer-head").evaluate(
        """(canvas) => {
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          const cell = 4 * (canvas.width * Math.round(canvas.height * 0.8) + Math.round(canvas.width * 0.5));
          return [data[cell], data[cell + 1], data[cell + 2]];
        }"""
    )
    assert sum(darkest) < 3 * 110


def test_the_browser_shows_the_numbers_that_python_computed(page, server):
    page.goto(f"{server}/?example=unknown-place")
    rested(page)
    trace = find_recorded("unknown-place").trace()
    score = rauq.score(trace)
    row, token = score.layers.index(score.layer), 4
    page.locator(".token").nth(token).hover()
    facts = [f"{math.exp(trace.logprobs[token]):.4f}", f"{trace.entropies[token]:.3f} nats"]
    facts += [f"{score.attention[row, token - 1]:.3f}", f"{score.confidence[row, token]:.3f}"]
    facts += [f"{score.collapse[token]:.3f} nats", ", ".join(f"{share:.3f}" for share in score.collapse_shares[token])]
    facts += [f"{score.contributions[token]:.3f}"]
    said = page.locator(".tip .row > span:last-child")
    expect(said).to_have_text([fact.replace("-", "−") for fact in facts])

    weights = trace.previous_token_attention().mean(axis=2)
    used = list(score.layers)  # the colours span their weights
    row, head = np.unravel_index(weights[used].argmax(), weights[used].shape)
    layer = used[int(row)]
    click_cell(page, int(layer), int(head))
    expect(page.locator(".tip .subtitle")).to_have_text(f"attention {weights[layer, head]:.3f}")
    middle = page.locator("canvas.layer-head").evaluate(
        """(canvas, [layer, head, layers, heads]) => {
          const ratio = canvas.width / canvas.clientWidth;
          const x = 44 + (head + 0.8) * (canvas.clientWidth - 96) / heads;
          const y = 6 + (layer + 0.2) * (canvas.clientHeight - 46) / layers;
          return [...canvas.getContext("2d").getImageData(x * ratio, y * ratio, 1, 1).data].slice(0, 3);
        }""",
        [int(layer), int(head), *weights.shape],
    )
    step = weights[layer, head] / (np.ceil(weights[used].max() * 10) / 10) * 5
    below, above = (
        np.array(bytearray.fromhex(colour[1:])) for _, colour in attention_scale(dark=False)[int(step) :][:2]
    )
    np.testing.assert_allclose(middle, below + (above - below.astype(float)) * (step - int(step)), atol=3)
