"""The researcher's journey, its second half: from a run to the paper's figures, to one generation, and back."""

import re

from playwright.sync_api import expect

from analysis.views.answer_sets import BEST
from benchmarks.support.browser import open_drawer
from tests.browser.views_of_runs import go_to_view

FIGURE = ".st-key-answers_correct_against_incorrect"


def settled(page):
    """Wait until the script rests and all that stands is its last result, so that a click meets nothing about to go."""
    expect(page.locator(".js-plotly-plot .nsewdrag").first).to_be_visible()
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    expect(page.locator(".stMain [data-stale=true]")).to_have_count(0)
    expect(page.locator(".stPlotlyChart:not(:has(.nsewdrag))")).to_have_count(0)  # Plotly draws after the script


def hit(page, point):
    """Click the middle of a point, once the pointer reads it."""
    box = point.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    expect(page.locator(".hoverlayer .hovertext").first).to_be_visible()
    page.mouse.click(x, y)


def test_journey_from_a_run_to_one_generation_and_back(page, server):
    page.goto(f"{server}/answer_sets?run=smollm2-facts&view=gap&group=cities")
    expect(page.get_by_role("heading", level=2)).to_contain_text("selected head of layer")
    expect(page.get_by_text("74 answers: ").first).to_be_visible()
    settled(page)
    page.get_by_role("radio", name="Fact tokens").click()
    expect(page).to_have_url(re.compile("tokens=fact"))
    expect(page.get_by_text("Mean attention over the tokens that carry the fact")).to_be_visible()
    settled(page)

    headline = page.get_by_role("heading", level=2).first.inner_text()
    hit(page, page.locator(f"{FIGURE} .boxlayer .point").nth(37))
    expect(page).to_have_url(re.compile(r"/inspect\?.*number=\d+"))
    expect(page.locator(".token.collapse")).to_have_count(1)
    expect(page.locator(".views .source")).to_contain_text("of the run smollm2-facts; quality")
    source = page.locator(".views .source").text_content()
    page.reload()
    expect(page.locator(".views .source")).to_have_text(source)
    open_drawer(page, "drawer_reference")
    ranked = page.get_by_text(re.compile(r"More (uncertain|confident) than \d+ % of 798 answers\. Near this score"))
    expect(ranked).to_be_visible()

    page.get_by_role("link", name="Back to the answer set").click()
    expect(page).to_have_url(re.compile("/answer_sets.*tokens=fact"))
    expect(page.get_by_role("heading", level=2).first).to_have_text(headline)
    settled(page)
    go_to_view(page, BEST)
    expect(page.locator(".st-key-answers_best_and_worst .nsewdrag")).to_be_visible()
    settled(page)
    hit(page, page.locator(".st-key-answers_best_and_worst .scatterlayer .trace .point").last)
    expect(page.locator(".views .source")).to_contain_text("of the run smollm2-facts; quality 0.00")
    page.go_back()
    expect(page.locator(".st-key-answers_best_and_worst .nsewdrag")).to_be_visible()


def test_a_point_of_a_layer_chooses_the_layer(page, server):
    page.goto(f"{server}/answer_sets?run=smollm2-facts&view=gap")
    expect(page.get_by_role("heading", level=2).first).to_contain_text("selected head of layer 15")
    settled(page)
    hit(page, page.locator(".st-key-answers_difference_by_layer .scatterlayer .trace").first.locator(".point").nth(19))
    expect(page).to_have_url(re.compile("layer=19"))
    expect(page.get_by_role("heading", level=2).first).to_contain_text("selected head of layer 19")
    settled(page)
    hit(page, page.locator(".st-key-answers_difference_by_layer .scatterlayer .trace").first.locator(".point").nth(12))
    expect(page).to_have_url(re.compile("layer=12"))


def test_a_cell_and_a_row_choose_a_head_and_its_worst_answer_opens_with_it(page, server):
    page.goto(f"{server}/answer_sets?run=smollm2-facts")
    expect(page.get_by_role("heading", level=2)).to_contain_text(
        "heads attend differently in correct and in incorrect answers"
    )
    settled(page)
    hit(page, page.locator(".st-key-answers_heads .scatterlayer .trace").last.locator(".point").nth(16 * 9 + 5))
    expect(page).to_have_url(re.compile("layer=16&head=5"))
    expect(page.get_by_text("Layer 16, head 5", exact=True)).to_be_visible()
    settled(page)
    table = page.get_by_test_id("stDataFrame").first.bounding_box()
    page.mouse.click(table["x"] + 18, table["y"] + 52)  # the tick of the first row
    expect(page).to_have_url(re.compile("layer=19&head=3"))
    expect(page.get_by_text("Layer 19, head 3", exact=True)).to_be_visible()
    settled(page)
    page.get_by_role("button", name="Worst answer in Inspect").click()
    expect(page).to_have_url(re.compile(r"/inspect\?(?=.*layer=19)(?=.*head=3)"))
    expect(page.locator(".views .source")).to_contain_text("of the run smollm2-facts; quality 0.00")
    page.get_by_role("link", name="Back to the answer set").click()
    expect(page.get_by_text("Layer 19, head 3", exact=True)).to_be_visible()
