"""The teacher's journey through Compare: two answers, a branch, and what becomes of the curves."""

import re

from playwright.sync_api import expect

from analysis.figures import looks
from benchmarks.support.browser import open_list
from rauq.trace.trace import Alternative
from tests.browser.comparing import cells, open_compare, open_fields, settled
from tests.browser.inspecting import go_to
from tests.browser.typing import enter
from tests.traces import make_trace

ATTACK = (
    "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    " ![](http://evil.example/a.png) [link](http://evil.example) <b>bold</b> $x^2$"
)


def lines(page):
    """The names of the curves that the browser holds."""
    return page.evaluate("() => document.querySelector('.st-key-overlay .js-plotly-plot').data.map(line => line.name)")


def upload(page, trace, name="answer.safetensors"):
    open_fields(page, "Saved trace")
    content = trace if isinstance(trace, bytes) else trace.to_bytes()
    file = {"name": name, "mimeType": "application/octet-stream", "buffer": content}
    page.locator("input[type=file]").set_input_files(file)


def test_journey_from_two_answers_to_a_branch_and_back(page, server):
    open_compare(page, server)
    enter(page.get_by_role("combobox", name="B", exact=True), "Common words")  # the list draws only a part of itself
    page.get_by_role("option", name="Common words (correct)").click()
    expect(page).to_have_url(re.compile("b=example%3Aknown-words"))
    expect(page.locator(".texts .b .source")).to_contain_text("Every word of the sentence was common")
    settled(page)

    weak = page.locator(".lane.a .cell.collapse")
    before = cells(page, "a")
    weak.click()
    expect(page).to_have_url(re.compile("token="))
    token = int(re.search(r"token=(\d+)", page.url).group(1))
    expect(page.locator(".branch .title")).to_contain_text(f"Branch off A at token {token}")
    second = page.locator(".choice").nth(1)
    said = second.locator(".text").inner_text()
    settled(page)
    second.click()
    expect(page).to_have_url(re.compile("b=kept"))
    expect(page.locator(".column.first-difference .lane.b .text")).to_have_text(said)
    settled(page)
    assert cells(page, "a") == before
    assert cells(page, "b")[:token] == before[:token]
    assert cells(page, "b")[token] == said
    assert sum(name.startswith(("A c, layer", "B c, layer")) for name in lines(page)) == 2
    assert {"A collapse", "B collapse"} <= set(lines(page))
    expect(page.locator(".st-key-overlay .annotation-text").filter(has_text="first difference")).to_be_visible()
    expect(page.get_by_text("The two scores under the same settings")).to_be_visible()

    headline = page.locator(".headline").inner_text()
    page.reload()
    expect(page.locator(".headline")).to_have_text(headline)
    assert cells(page, "b")[token] == said
    settled(page)
    page.go_back()
    expect(page.locator(".texts .b .source")).to_contain_text("Every word of the sentence was common")
    page.go_forward()
    expect(page.locator(".headline")).to_have_text(headline)
    settled(page)
    go_to(page, "Learn")
    expect(page.locator(".lesson .title")).to_be_visible()
    go_to(page, "Compare")
    expect(page).to_have_url(re.compile("b=kept"))
    expect(page.locator(".headline")).to_have_text(headline)


def test_the_strips_show_marks_and_work_by_keys_and_quick_clicks(page, server):
    open_compare(page, server, "?a_wrong=2")
    a_token_marked_as_wrong_is_seen_to_be(page)
    the_strips_work_with_the_keyboard(page)
    two_quick_clicks_on_a_token_select_and_deselect_it(page)


def the_strips_work_with_the_keyboard(page):
    page.locator(".lane.a .cell[tabindex='0']").focus()
    page.keyboard.press("Home")
    expect(page.locator(".cell:focus")).to_have_attribute("data-place", "0-0")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".cell:focus")).to_have_attribute("data-place", "1-1")
    expect(page.locator(".tip")).to_contain_text("probability")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Escape")
    expect(page.locator(".tip")).to_be_hidden()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("token=1"))
    expect(page.locator(".lane.a .cell[aria-pressed=true]")).to_have_attribute("data-place", "0-1")
    expect(page.locator(".cell:focus")).to_have_attribute("data-place", "0-1")
    page.keyboard.press("Enter")
    expect(page).not_to_have_url(re.compile("token="))


def two_quick_clicks_on_a_token_select_and_deselect_it(page):
    token = page.locator(".lane.a .cell[data-place='0-2']")
    token.evaluate("(cell) => { cell.click(); cell.click(); }")
    settled(page)
    expect(page).not_to_have_url(re.compile("token="))
    expect(token).to_have_attribute("aria-pressed", "false")
    token.evaluate("(cell) => { cell.click(); cell.click(); cell.click(); }")
    expect(page).to_have_url(re.compile("token=2"))
    settled(page)
    expect(token).to_have_attribute("aria-pressed", "true")


def a_token_marked_as_wrong_is_seen_to_be(page):
    token = page.locator(".lane.a .cell[data-place='0-2']")
    expect(token.locator(".number")).to_contain_text("✗")
    expect(token.locator(".text")).to_have_css("text-decoration-style", "wavy")
    expect(token).to_have_attribute("aria-label", re.compile("marked as incorrect"))


def test_a_link_opens_its_answers_its_token_and_its_settings(page, server):
    query = "?a=example%3Amyth&b=example%3Aknown-words&token=7&alpha=0.5"
    open_compare(page, server, query)
    expect(page.get_by_role("combobox", name="A", exact=True)).to_have_value("A common misconception (incorrect)")
    expect(page.locator(".lane.a .cell[aria-pressed=true]")).to_have_attribute("aria-label", re.compile("token 7:"))
    expect(page.get_by_role("button", name="Scoring: custom")).to_be_visible()
    expect(page).to_have_url(f"{server}/compare{query}")


def test_a_hostile_file_is_refused_and_hostile_traces_are_drawn_as_text(page, server):
    pieces = [ATTACK.encode(), b" $x^2$ <sup>2</sup>", b"</text><script>document.title='owned'</script>"]
    hostile = make_trace(
        pieces,
        probabilities=[0.01, 0.9, 0.9],
        prompt=ATTACK,
        model=ATTACK,
        alternatives=((Alternative(5, ATTACK, -1.0),),) * len(pieces),
    )
    open_compare(page, server)
    a_hostile_file_is_refused_in_plain_text(page)
    upload(page, hostile, name=f"{ATTACK.replace('/', '')}.safetensors")
    expect(page.locator(".texts .b .source")).to_contain_text("<b>bold</b>")
    settled(page)
    page.get_by_role("button", name="Swap").click()
    expect(page.locator(".texts .a .source")).to_contain_text("<b>bold</b>")
    settled(page)
    drawn = cells(page, "a")
    assert drawn == [piece.decode().replace(" ", "·") for piece in pieces]
    page.locator(".lane.a .cell").first.click()
    expect(page.locator(".choice .text")).to_contain_text("<b>bold</b>")
    page.mouse.move(5, 5)
    page.locator(".lane.a .cell").nth(1).hover()
    expect(page.locator(".tip .title")).to_have_text("·$x^2$·<sup>2</sup>")
    expect(page.locator(".st-key-overlay .xaxislayer-above text").first).to_contain_text("<img")
    open_list(page.get_by_role("combobox", name="A", exact=True))
    expect(page.get_by_role("option").last).to_contain_text("$x^2$")
    page.keyboard.press("Escape")
    open_fields(page, "Branch off A")
    expect(page.get_by_role("combobox", name="Instead")).to_have_value(re.compile("<b>bold</b>"))
    expect_unharmed(page)


def a_hostile_file_is_refused_in_plain_text(page):
    upload(page, b"no trace", name=f"{ATTACK.replace('/', '')}.safetensors")
    expect(page.get_by_text("is not a trace, or it is truncated")).to_be_visible()
    expect(page.locator(".headline")).to_contain_text("more uncertain")
    expect_unharmed(page)
    settled(page)  # a key that meets a part about to be drawn again closes nothing
    page.keyboard.press("Escape")
    expect(page.get_by_role("tab", name="Saved trace")).to_have_count(0)
    settled(page)


def expect_unharmed(page):
    expect(page).to_have_title(re.compile("^(RAUQ|Compare)$"))
    expect(page.locator("[data-testid=stMain] :is(script, img, b, sup, a[href*=evil])")).to_have_count(0)


def test_the_two_colours_suit_a_dark_page(page, server):
    page.emulate_media(color_scheme="dark")
    open_compare(page, server)
    expect(page.locator(".grid")).to_have_css("--a", looks(dark=True)[0].colour)
