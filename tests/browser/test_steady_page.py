"""While the app works: notices lie on no button, controls do not fade, and a sign says that a view is computed."""

import re
from contextlib import contextmanager

from playwright.sync_api import expect

from benchmarks.support.browser import wait_until_idle
from tests.browser.chromium import DESKTOP
from tests.browser.fields import at
from tests.browser.inspecting import rested

# The least opacity of what waits for the script, from now on, in every frame.
WATCH = """() => {
  window.faintest = 1;
  window.waited = 0;
  const look = () => {
    for (const one of document.querySelectorAll("[data-stale=true]")) {
      window.waited += 1;
      window.faintest = Math.min(window.faintest, Number(getComputedStyle(one).opacity));
    }
    requestAnimationFrame(look);
  };
  look();
}"""

# Where the first figure begins, from now on, in every frame, the most signs that stood at once, and where the last did.
FOLLOW = """() => {
  window.places = new Set();
  window.signs = 0;
  const look = () => {
    const drawn = [...document.querySelectorAll(".stPlotlyChart")].filter((one) => one.offsetHeight > 0);
    window.places.add(drawn.length ? drawn[0].getBoundingClientRect().top : null);
    const signs = [...document.querySelectorAll("[data-testid=stSpinner]")];
    window.signs = Math.max(window.signs, signs.length);
    if (signs.length) window.sign = signs[0].getBoundingClientRect().toJSON();
    requestAnimationFrame(look);
  };
  look();
}"""


# Where a page begins below the bar and from the left, and where the tracks of Inspect stand, in every frame of a new
# document in which no font is missing: with another one lines would break elsewhere.
OPENED = """
window.begins = new Set();
window.tracks = new Set();
const look = () => {
  const main = document.querySelector(".stMainBlockContainer");
  if (main) window.begins.add(`${getComputedStyle(main).paddingTop}, ${main.getBoundingClientRect().left}`);
  const drawn = [...document.querySelectorAll(".st-key-views *")].find((one) => one.shadowRoot);
  const tracks = drawn && drawn.shadowRoot.querySelector(".tracks");
  const isSeen = tracks && getComputedStyle(tracks).visibility === "visible" && document.fonts.status === "loaded";
  if (isSeen) window.tracks.add(tracks.getBoundingClientRect().top);
  requestAnimationFrame(look);
};
look();
"""


# Whether a sign with this text has stood at any time, from now on.
NOTE = """(text) => {
  window.noted = false;
  new MutationObserver(() => {
    const signs = [...document.querySelectorAll("[data-testid=stSpinner]")];
    window.noted ||= signs.some((one) => one.textContent.includes(text));
  }).observe(document, { childList: true, subtree: true, characterData: true });
}"""


def overlap(first, second):
    return all(
        min(first[start] + first[size], second[start] + second[size]) > max(first[start], second[start])
        for start, size in (("x", "width"), ("y", "height"))
    )


def test_a_notice_does_not_lie_on_the_main_button(page, server):
    page.goto(f"{server}/inspect?example=none-of-them")
    notice = page.get_by_test_id("stToast")
    expect(notice).to_be_visible()
    expect(page.locator(".st-key-run button")).to_be_visible()
    assert not overlap(notice.bounding_box(), page.locator(".st-key-run button").bounding_box())


def test_controls_keep_their_colour_when_a_setting_changes(page, server):
    page.goto(f"{server}/inspect")
    rested(page)
    page.locator(".st-key-scoring button").first.click()
    wait_until_idle(page)
    page.evaluate(WATCH)
    page.get_by_role("slider").first.press("ArrowLeft")
    expect(page.locator(".st-key-scoring button").first).to_contain_text("alpha")
    page.wait_for_function("window.waited > 0")
    wait_until_idle(page)
    assert page.evaluate("window.faintest") == 1


def test_a_view_that_is_computed_says_so_once_and_nothing_moves(page, slow_server):
    page.goto(f"{slow_server}/methods?view=survives")
    sign, figure = page.get_by_test_id("stSpinner"), page.locator(".stPlotlyChart .nsewdrag").first
    expect(page.get_by_role("radio", name="Alpha", exact=True)).to_be_visible()
    wait_until_idle(page)
    page.evaluate(NOTE, "Computing this view")
    page.get_by_role("radio", name="Alpha", exact=True).click()
    page.wait_for_function("window.noted")
    wait_until_idle(page)
    expect(sign).to_have_count(0)
    expect(figure).to_be_visible()
    page.evaluate(FOLLOW)
    page.get_by_role("radio", name="Probability").click()
    expect(page).to_have_url(re.compile("signal=probability"))
    page.wait_for_function("window.sign")
    wait_until_idle(page)
    expect(sign).to_have_count(0)
    stood = page.evaluate("window.sign")
    assert not overlap(stood, page.locator(".st-key-answers_view").bounding_box())
    assert not overlap(stood, page.locator("h2 span").first.bounding_box())
    assert page.evaluate("window.signs") == 1
    assert len(page.evaluate("[...window.places]")) == 1


def test_start_with_learn_is_a_link(page, server):
    at(page, f"{server}/inspect")
    page.get_by_role("link", name="Start with Learn").click()
    expect(page.locator(".lesson .title")).to_be_visible()
    expect(page).to_have_url(f"{server}/learn")


@contextmanager
def held_back(page, names):
    """Scripts of Streamlit with these names, which come once the body of the `with` calls what it gets."""
    held = []

    def hold(route):  # Playwright takes no method of a list
        held.append(route)

    def let_come():
        assert len(held) == len(names)
        for route in held:
            route.continue_()

    page.route(re.compile(rf"/({'|'.join(names)})\.[^/]*\.js"), hold)
    yield let_come
    page.unroute_all()


def test_what_follows_a_table_stays_in_place_when_the_table_comes_later(page, server):
    with held_back(page, ["DataFrame"]) as let_come:
        page.goto(f"{server}/methods")
        caption = page.get_by_text("① best, ② second of a column")
        caption.first.wait_for()
        wait_until_idle(page)
        before = caption.first.bounding_box()
        let_come()
        expect(page.get_by_test_id("stDataFrame").first.locator("canvas").first).to_be_visible()
        assert caption.first.bounding_box() == before


def test_buttons_of_a_row_stay_in_place_when_fields_come_later(page, server):
    with held_back(page, ["Selectbox", "ButtonGroup"]) as let_come:
        page.goto(f"{server}/answer_sets")
        button = page.locator(".st-key-answer_filters button")
        page.locator(".stPlotlyChart").first.wait_for()
        wait_until_idle(page)
        before = button.bounding_box()
        let_come()
        expect(page.get_by_test_id("stSelectbox").first).to_be_visible()
        expect(page.get_by_role("radio").first).to_be_visible()
        assert button.bounding_box() == before


def test_a_page_that_opens_has_its_style_and_draws_no_empty_views_first(chromium, server):
    with chromium.new_context(viewport=DESKTOP) as context:
        page = context.new_page()
        page.add_init_script(OPENED)
        page.goto(f"{server}/inspect")
        rested(page)
        begins, tracks = page.evaluate("[[...window.begins], [...window.tracks]]")
    assert begins == ["60px, 0"]
    assert len(tracks) == 1
