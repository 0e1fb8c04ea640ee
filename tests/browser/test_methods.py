"""The researcher's journey across methods: from the table to an answer on which they disagree, and back."""

import re

from playwright.sync_api import expect

from analysis.views.methods import AGREEMENT
from tests.browser.views_of_runs import go_to_view


def test_journey_from_the_table_to_a_disagreement_and_back(page, server):
    page.goto(f"{server}/methods?run=smollm2-facts")
    headline = page.get_by_role("heading", level=2).first
    expect(headline).to_contain_text("RAUQ is shown to rank better than")
    expect(page.get_by_test_id("stDataFrame").first).to_be_visible()
    panels = page.locator(".st-key-answers_paired_prr .nsewdrag")
    expect(panels).to_have_count(2)  # all answers, and the mean within families
    expect(panels.first).to_be_visible()

    go_to_view(page, AGREEMENT)
    expect(page).to_have_url(re.compile("view=agreement"))
    expect(headline).to_contain_text("orders answers most like")
    table = page.locator(".st-key-disagreement_table .dvn-scroller")
    expect(table).to_be_visible()
    expect(page.locator(".st-key-answers_agreement_of_methods .nsewdrag")).to_be_visible()
    opening = page.get_by_role("button", name="Open in Inspect")
    expect(opening).to_be_disabled()
    table.click(position={"x": 18, "y": 52})  # the box of the first row: cells are drawn, not elements
    expect(opening).to_be_enabled()
    opening.click()
    expect(page).to_have_url(re.compile(r"/inspect\?.*number=\d+"))
    expect(page.locator(".views .source")).to_contain_text("of the run smollm2-facts; quality")

    page.get_by_role("link", name="Back to the methods of the run").click()
    expect(page).to_have_url(re.compile("/methods.*view=agreement"))
    expect(headline).to_contain_text("orders answers most like")
