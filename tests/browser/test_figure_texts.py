"""In small windows no text of a figure leaves it or lies on another, and its buttons lie on nothing that is drawn."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from analysis.views.all_views import OF_METHODS
from benchmarks.support.browser import wait_until_idle
from pages.ui.answer_sets.choices import VIEWS
from tests.browser.chromium import PROJECTOR
from tests.browser.test_every_page import ZOOMED
from tests.browser.views_of_runs import go_to_view

FAULTS = (Path(__file__).parent / "figure_texts.js").read_text(encoding="utf-8").rstrip().removesuffix(";")
METHODS = [view for view in OF_METHODS if view.id != "errors" and not view.within]  # which has a table alone


def drawn(page):
    """Wait until the script rests and every figure of its last run is there."""
    expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible()
    wait_until_idle(page)
    expect(page.get_by_test_id("stSpinner")).to_have_count(0)
    expect(page.locator(".stMain [data-stale=true]")).to_have_count(0)
    expect(page.locator(".stPlotlyChart:not(:has(.main-svg))")).to_have_count(0)


@pytest.mark.parametrize(
    ("window", "path", "views"),
    [
        (PROJECTOR, "compare", ()),
        (PROJECTOR, "answer_sets", VIEWS),
        (PROJECTOR, "methods", METHODS),
        (PROJECTOR, "methods?view=attention", ()),
        (PROJECTOR, "evidence?view=results", ()),
        (ZOOMED, "methods", METHODS),
    ],
    ids=["compare", "answer_sets", "methods", "attention replaced", "results", "methods, zoomed"],
)
def test_texts_of_figures_stand_apart_and_inside(page, server, window, path, views):
    page.set_viewport_size(window)
    page.goto(f"{server}/{path}")
    drawn(page)
    faults = {path: page.evaluate(FAULTS)}
    for view in views:
        go_to_view(page, view)
        drawn(page)
        faults[view.title] = page.evaluate(FAULTS)
    assert {where: said for where, said in faults.items() if said} == {}


def test_a_figure_with_each_fault_is_found(chromium):
    page = chromium.new_page()
    page.set_content(
        """<div class="js-plotly-plot" style="position: relative; width: 300px; height: 100px">
        <svg class="main-svg" width="400" height="100" style="overflow: visible">
        <text x="10" y="40">one</text><text x="14" y="40">other</text><text x="290" y="80">outside</text>
        <text x="200" y="20">title</text></svg>
        <a class="modebar-btn" style="position: absolute; left: 200px; top: 5px; width: 9px; height: 9px"></a></div>"""
    )
    assert page.evaluate(FAULTS) == ["out: outside", "on each other: one | other", "below a button: title"]
    page.close()
