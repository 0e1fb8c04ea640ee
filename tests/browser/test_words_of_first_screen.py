"""At most 90 words stand on the first screen of a page, without the navigation, the question, the answer and axes."""

import pytest
from playwright.sync_api import expect

from benchmarks.support.browser import wait_until_idle
from benchmarks.support.first_screen import words_of_first_screen
from tests.browser.inspecting import rested
from tests.listed import PAGES

MOST, LEAST = 90, 40
LAST_DRAWN = {
    "inspect": ".st-key-views .standing .nearest",
    "compare": ".st-key-difference_map .js-plotly-plot",
    "answer_sets": ".st-key-answers_head_answers .js-plotly-plot",
    "methods": "[data-testid=stDataFrame] canvas",
    "runs": ".st-key-next_Facts",
    "runs?view=new": ".st-key-example_file",
    "evidence": ".st-key-quote-bounds",
}

# The lists of views lead from one to another as the navigation leads from page to page.
LISTS = (".st-key-answers_topic", ".st-key-answers_view")
WORDIEST = ("answer_sets?view=gap", "methods?view=ablations", "methods?view=alarms")


@pytest.mark.parametrize("path", WORDIEST)
def test_the_first_screen_of_a_view_has_few_words(page, server, path):
    page.goto(f"{server}/{path}")
    expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible()
    wait_until_idle(page)
    words = words_of_first_screen(page, without=LISTS)
    assert LEAST < len(words) <= MOST, " ".join(words)


def test_every_page_is_counted_but_the_lesson():
    assert set(PAGES) - set(LAST_DRAWN) == {"learn"}


@pytest.mark.parametrize("path", LAST_DRAWN)
def test_the_first_screen_has_few_words(page, server, path):
    page.goto(f"{server}/{path}")
    expect(page.locator(LAST_DRAWN[path]).first).to_be_visible()
    wait_until_idle(page)
    if path == "inspect":
        rested(page)
    words = words_of_first_screen(page)
    assert LEAST < len(words) <= MOST, " ".join(words)
