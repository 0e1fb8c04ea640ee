"""Tracks, maps, table, strip and keys of Inspect, on one page with a recorded answer that all tests share."""

import math
import re

import numpy as np
import pytest
from playwright.sync_api import expect

import rauq
from analysis.figures import attention_scale
from rauq.labels import amount
from rauq.recorded.answers import find_recorded
from rauq.scoring.algorithm import confidence_of
from tests.browser.inspecting import click_cell, expect_selected, rested
from tests.browser.typing import enter

OUTLINED = """() => {
  let node = document.activeElement;
  while (node.shadowRoot?.activeElement) node = node.shadowRoot.activeElement;
  return getComputedStyle(node).outlineStyle !== "none";
}"""
PLACES = {
    "a map": "canvas.token-head",
    "the tracks": "canvas.tracks",
    "a chart": "canvas.confidence",
    "blank space between the views": ".panels",
    "the sentence": ".detail",
    "a row of the table": ".heads tbody tr",
}


@pytest.fixture(scope="module")
def unknown_place(shared_page, server):
    shared_page.goto(f"{server}/?example=unknown-place")
    rested(shared_page)
    shared_page.locator(".finding summary").click()
    return shared_page


@pytest.fixture
def opened(unknown_place):
    """The page with no token selected or marked, and the head that gives the score; a test leaves no mark."""
    yield unknown_place
    for button in (".whole", ".show-score"):
        if unknown_place.locator(button).is_visible():
            unknown_place.locator(button).click()
    unknown_place.mouse.move(2, 2)
    unknown_place.evaluate("document.activeElement.blur()")
    expect(unknown_place.locator(".token:is(.wrong, [aria-pressed=true])")).to_have_count(0)
    expect(unknown_place).to_have_url(re.compile(r"example=unknown-place(&colour=\w+)?$"))
    rested(unknown_place)


def drawn_narrower(page):
    """Draw every view again in a narrower window, and once more in the window it had."""
    tracks, size = page.locator("canvas.tracks"), page.viewport_size
    before = tracks.evaluate("canvas => canvas.width")
    page.set_viewport_size({**size, "width": size["width"] - 40})
    expect(tracks).not_to_have_js_property("width", before)
    page.set_viewport_size(size)
    expect(tracks).to_have_js_property("width", before)


def test_keys_work_after_a_click_anywhere_in_the_views(opened):
    for place, selector in PLACES.items():
        where = {"x": 2, "y": 2} if place == "blank space between the views" else None
        opened.locator(selector).first.click(position=where)
        opened.keyboard.press("ArrowLeft")
        chosen = opened.locator(".token[aria-pressed=true]")
        expect(chosen, place).to_have_count(1)
        first = int(chosen.get_attribute("data-index"))
        opened.keyboard.press("ArrowRight")
        expect(chosen, place).to_have_attribute("data-index", str(first + 1))
        opened.keyboard.press("w")
        expect(opened.locator(".token.wrong"), place).to_have_attribute("data-index", str(first + 1))
        assert not opened.evaluate(OUTLINED), place
        expect(opened).to_have_url(re.compile(f"wrong={first + 1}"))
        opened.keyboard.press("w")
        expect(opened.locator(".token.wrong"), place).to_have_count(0)
        opened.keyboard.press("Escape")
        expect(chosen, place).to_have_count(0)


def test_no_frame_surrounds_the_page_after_a_click_beside_the_views(opened):
    main = opened.get_by_test_id("stMain")
    box = main.bounding_box()
    opened.mouse.click(box["x"] + 8, box["y"] + box["height"] / 2)
    opened.keyboard.press("ArrowDown")
    expect(main).to_be_focused()
    assert main.evaluate("main => getComputedStyle(main, '::before').content") == "none"


def test_after_a_cell_the_arrows_show_its_head_at_each_token(opened):
    click_cell(opened, 0, 3)
    opened.keyboard.press("ArrowRight")
    expect(opened.locator(".map-sub")).to_have_text(re.compile(r"at token \d+ only"))
    expect_selected(opened, 0, 3)


def test_keys_of_a_field_stay_its_own(opened):
    field = opened.get_by_label("Layer", exact=True)
    before = int(field.input_value())
    field.focus()
    field.press("ArrowUp")
    field.press("w")
    expect(field).to_have_value(str(before + 1))
    expect(opened.locator(".token[aria-pressed=true]")).to_have_count(0)
    expect(opened.locator(".token.wrong")).to_have_count(0)


def test_a_number_being_typed_outlives_a_new_picture(opened):
    field = opened.get_by_label("Layer", exact=True)
    other = "3" if field.input_value() == "2" else "2"
    enter(field, other)
    drawn_narrower(opened)
    expect(field).to_have_value(other)
    field.press("Enter")
    expect(opened).to_have_url(re.compile(f"layer={other}$"))
    enter(field, "")
    drawn_narrower(opened)
    expect(field).to_have_value("")
    field.press("Enter")
    expect(field).to_have_value(other)


def test_keys_work_after_the_button_that_hides_itself(opened):
    opened.locator(".token").nth(2).click()
    opened.get_by_role("button", name="Whole answer").click()
    expect(opened.locator(".token[aria-pressed=true]")).to_have_count(0)
    opened.keyboard.press("ArrowRight")
    expect(opened.locator(".token[aria-pressed=true]")).to_have_count(1)


def test_a_cell_stays_under_the_pointer_when_the_sentence_above_takes_another_line(opened):
    canvas, sentence = opened.locator("canvas.layer-head"), opened.locator(".finding p")
    height = sentence.evaluate("p => p.offsetHeight")
    canvas.scroll_into_view_if_needed()
    before = canvas.bounding_box()
    click_cell(opened, 0, 3)
    opened.wait_for_function("([p, height]) => p.offsetHeight > height", arg=[sentence.element_handle(), height])
    assert canvas.bounding_box() == before


def test_every_view_selects_and_all_follow(opened):
    click_cell(opened, 0, 3)
    expect_selected(opened, 0, 3)
    click_cell(opened, 0, 3)  # a second click keeps it
    expect_selected(opened, 0, 3)
    enter(opened.get_by_label("Layer", exact=True), "2")
    opened.get_by_label("Layer", exact=True).press("Enter")
    expect_selected(opened, 2, 3)
    opened.locator(".heads tbody tr").nth(1).click()
    chosen = opened.locator(".heads tr[aria-selected=true] td").all_inner_texts()
    expect_selected(opened, int(chosen[0].split()[0]), int(chosen[1]))
    opened.locator("canvas.tracks").click()
    pressed = opened.locator(".token[aria-pressed=true]")
    expect(pressed).to_have_count(1)
    expect(opened).to_have_url(re.compile(f"token={pressed.get_attribute('data-index')}$"))


def test_the_strip_works_with_the_keyboard(opened):
    opened.locator(".token[tabindex='0']").focus()
    opened.keyboard.press("Home")
    opened.keyboard.press("ArrowRight")
    expect(opened.locator(".token:focus")).to_have_attribute("data-index", "1")
    expect(opened.locator(".tip .subtitle")).to_contain_text("token 1")
    expect(opened.locator(".token").nth(1)).to_have_attribute("aria-pressed", "true")
    expect(opened).to_have_url(re.compile("token=1"))
    opened.keyboard.press("w")
    expect(opened.locator(".token.wrong")).to_have_count(1)
    expect(opened.locator(".token").nth(1)).to_have_attribute("aria-label", re.compile("marked as incorrect"))
    expect(opened).to_have_url(re.compile("wrong=1"))
    opened.keyboard.press("w")
    expect(opened.locator(".token.wrong")).to_have_count(0)
    opened.keyboard.press("Escape")
    opened.keyboard.press("Escape")
    expect(opened.locator(".token[aria-pressed=true]")).to_have_count(0)
    expect(opened).not_to_have_url(re.compile("token="))
    expect(opened.locator(".token:focus")).to_have_attribute("data-index", "1")


def test_a_selection_runs_nothing_and_draws_no_other_view_again(opened):
    opened.locator(".views").evaluate("(views) => { views.querySelector('.token').dataset.kept = 'yes'; }")
    opened.locator(".token").nth(3).click()
    click_cell(opened, 2, 2)
    for part in ("token=3", "layer=2&head=2"):  # in the order in which they were heard of
        expect(opened).to_have_url(re.compile(part))
    rested(opened)
    expect(opened.locator(".token[data-kept=yes]")).to_have_count(1)


def test_the_browser_shows_the_numbers_that_python_computed(opened):
    trace = find_recorded("unknown-place").trace()
    score = rauq.score(trace)
    row, token = score.layers.index(score.layer), 4
    opened.locator(".token").nth(token).hover()
    facts = [f"{math.exp(trace.logprobs[token]):.4f}", f"{trace.entropies[token]:.3f} nats"]
    facts += [f"{score.attention[row, token - 1]:.3f}", f"{score.confidence[row, token]:.3f}"]
    facts += [f"{score.collapse[token]:.3f} nats", ", ".join(f"{share:.3f}" for share in score.collapse_shares[token])]
    facts += [f"{score.contributions[token]:.3f}"]
    said = opened.locator(".tip .row > span:last-child")
    expect(said).to_have_text([fact.replace("-", "−") for fact in facts])

    weights = trace.previous_token_attention().mean(axis=2)
    used = list(score.layers)  # the colours span their weights
    row, head = np.unravel_index(weights[used].argmax(), weights[used].shape)
    layer = used[int(row)]
    click_cell(opened, int(layer), int(head))
    expect(opened.locator(".tip .subtitle")).to_have_text(f"attention {weights[layer, head]:.3f}")
    middle = opened.locator("canvas.layer-head").evaluate(
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


def test_confidence_of_any_head_is_the_recurrence_of_the_library(opened):
    """The last two heads are not selected by RAUQ, so the browser computes theirs."""
    trace = find_recorded("unknown-place").trace()
    score = rauq.score(trace)
    for layer, head in ((8, 1), (6, 5), (1, 6)):
        weights = trace.previous_token_attention()[trace.layers.index(layer), head]
        confidence = confidence_of(score.signal, weights, alpha=score.settings.alpha)
        click_cell(opened, layer, head)
        for token in (4, 9, 13):
            opened.locator(".token").nth(token).click()
            weight = amount(weights[token - 1], places=3)
            label = f"layer {layer}, head {head}. At token {token}: attention {weight}, confidence "
            expect(opened.locator("canvas.tracks")).to_have_attribute("aria-label", re.compile(re.escape(label)))
            shown = opened.locator("canvas.tracks").get_attribute("aria-label")
            small, number = re.search(r"confidence (< )?([\d.]+)\.$", shown).groups()
            assert confidence[token] < 6e-4 if small else abs(float(number) - confidence[token]) < 6e-4
            opened.locator(".token").nth(token).click()


def test_the_colour_of_the_tokens_can_be_another(opened):
    underlined = opened.locator(".word.underlined")
    expect(opened.locator(".legend .key")).to_have_text(re.compile(r"^Underlined: beyond \d\.\d\d$"))
    expect(opened.locator(".number .limit")).to_have_text(re.compile("one in five tokens of the reference"))
    assert underlined.count() > 0
    before = opened.get_by_label("Colour of the tokens").input_value()
    opened.get_by_label("Colour of the tokens").select_option("probability")
    expect(opened.locator(".legend .key")).to_have_text(re.compile("strongest fifth"))
    expect(opened).to_have_url(re.compile("colour=probability"))
    levels = opened.locator(".token:not(.quiet)").evaluate_all(
        "(all) => all.map((one) => [one.dataset.index, one.style.getPropertyValue('--level')])"
    )
    probability = np.exp(find_recorded("unknown-place").trace().logprobs)
    drawn = {int(index): float(level) for index, level in levels if float(level)}
    assert len(drawn) > 5
    np.testing.assert_allclose([drawn[index] for index in drawn], 1 - probability[list(drawn)], atol=1e-5)
    opened.get_by_label("Colour of the tokens").select_option(before)
    expect(opened.locator(".legend .key")).to_have_text(re.compile("Underlined: beyond"))
