"""Keys of Inspect wherever was clicked before."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.inspecting import click_cell, expect_selected, rested

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


@pytest.fixture
def opened(page, server):
    page.goto(f"{server}/?example=unknown-place")
    rested(page)
    return page


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


def test_keys_work_after_the_button_that_hides_itself(opened):
    opened.locator(".token").nth(2).click()
    opened.get_by_role("button", name="Whole answer").click()
    expect(opened.locator(".token[aria-pressed=true]")).to_have_count(0)
    opened.keyboard.press("ArrowRight")
    expect(opened.locator(".token[aria-pressed=true]")).to_have_count(1)
