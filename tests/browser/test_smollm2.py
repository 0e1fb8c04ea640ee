"""The real model in the browser: its false answer (John Grisham) is drawn, and a long one while it is generated."""

import re
from contextlib import suppress

import pytest
from playwright.sync_api import TimeoutError as TooLate
from playwright.sync_api import expect

from benchmarks.support.server import serving
from rauq.checkpoints.checkpoint import in_folder
from rauq.checkpoints.loading import find_checkpoint
from rauq.checkpoints.named import find_named
from rauq.checkpoints.store import PLACE_VARIABLE
from tests.browser.comparing import cells, open_compare, open_fields, settled
from tests.browser.inspecting import answered
from tests.browser.typing import enter


@pytest.fixture(scope="module")
def server(store_with_smollm2):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(PLACE_VARIABLE, str(store_with_smollm2))
        with serving() as address:
            yield address


def click_stop(page):
    """Click until the button says that it was heard: a click while the page is being redrawn can be lost."""
    button = page.locator(".st-key-stop button")
    button.wait_for()
    while button.filter(has_text=re.compile("^Stop$")).count():
        with suppress(TooLate):
            button.click(timeout=2000)
        page.wait_for_timeout(500)  # until the page is drawn again


def test_stop_works_while_the_model_loads(page, server):
    """The model loads for as long as another process, this one, holds its weights."""
    prompt = "Who is the author of The Castle?"
    with in_folder(find_checkpoint(str(find_named("smollm2").path), revision=None), dtype="float32"):
        page.goto(f"{server}/?model=smollm2&prompt={prompt.replace(' ', '+').replace('?', '%3F')}")
        page.locator(".st-key-run button").click()
        click_stop(page)
        expect(page.get_by_text(re.compile("^Stopped before"))).to_be_visible()
    expect(page.locator(".st-key-run button")).to_be_enabled()
    expect(page.get_by_label("Prompt")).to_have_value(prompt)


def test_a_question_to_smollm2_is_answered_and_drawn(page, server):
    page.goto(f"{server}/?model=smollm2&prompt=Who+is+the+author+of+The+Trial%3F&max_new_tokens=24")
    page.locator(".st-key-run button").click()
    expect(page.locator(".token", has_text="John")).to_be_visible()
    expect(page.locator(".token.collapse")).to_have_count(1)
    expect(answered(page, "smollm2")).to_be_visible()


# How far to the right the curve of confidence is drawn, in canvas pixels: the colour of its line is there only.
CURVE_ENDS = """canvas => {
  const height = canvas.height;
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, height);
  for (let x = canvas.width - 1; x >= 0; x -= 1) {
    for (let y = Math.round(height / 8); y < height; y += 1) {
      const [red, green, blue, opacity] = data.slice(4 * (y * canvas.width + x), 4 * (y * canvas.width + x) + 4);
      if (opacity > 200 && red > 200 && green < 140 && blue < 60) return x;
    }
  }
  return 0;
}"""


def test_an_answer_being_generated_has_colours_and_a_curve_that_grow(page, server):
    page.goto(f"{server}/?model=smollm2&prompt=Tell+me+a+long+story+about+the+sea.&max_new_tokens=400")
    page.locator(".st-key-run button").click()
    live = page.locator(".views.live.scored")
    expect(live.locator(".token.collapse")).to_have_count(1)
    first = live.locator(".token").count()
    assert live.locator("canvas.tracks").evaluate(CURVE_ENDS) > 0
    expect(live.locator(".token").nth(first + 10)).to_be_visible()
    levels = live.locator(".token").evaluate_all(
        "nodes => nodes.map(node => Number(node.style.getPropertyValue('--level')))"
    )
    assert min(levels) >= 0
    assert max(levels) > 0.2
    page.locator(".st-key-stop button").click()
    expect(answered(page, "stopped by you")).to_be_visible()


def test_stop_keeps_the_partial_branch(page, server):
    """The list of planets goes on for ever from Venus, so it is still being generated when Stop is clicked."""
    open_compare(page, server, "?a=example:planets&b=example:canberra")
    open_fields(page, "Another prompt")
    enter(page.get_by_label("Max new tokens"), "1000")
    page.get_by_label("Max new tokens").press("Enter")
    settled(page)
    page.get_by_role("tab", name="Branch off A").click()
    page.get_by_test_id("stPopoverBody").get_by_role("button", name="Generate").first.click()
    expect(page.locator(".grid[aria-busy=true] .lane.b .cell").nth(37)).to_be_visible()
    page.get_by_test_id("stMain").get_by_role("button", name="Stop").click()
    expect(page.locator(".texts .b .source")).to_contain_text("stopped by you")
    settled(page)
    assert 37 < len(cells(page, "b")) < 1000
    expect(page).to_have_url(re.compile("b=kept"))
