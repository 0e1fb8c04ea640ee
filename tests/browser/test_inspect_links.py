"""Links, reloads, downloads: the same view somewhere else, or later."""

import csv
import re
from dataclasses import replace

import pytest
from playwright.sync_api import expect

import rauq
from benchmarks.support.browser import open_drawer
from benchmarks.support.server import serving
from rauq.recorded.answers import find_recorded
from rauq.scoring.declaration import declared
from rauq.scoring.settings import Settings
from tests.browser.inspecting import PROMPT, answered, ask, click_cell, expect_selected, rested
from tests.browser.typing import enter
from tests.traces import as_lig


@pytest.fixture(scope="module")
def cold_server():
    """A second server, which has not run the app before the first test below, nor any answer of the first."""
    with serving() as address:
        yield address


def test_a_link_works_on_a_server_that_has_never_run_the_app(page, cold_server):
    page.goto(f"{cold_server}/inspect?example=known-words&layer=1&head=3&alpha=0.5")
    rested(page)
    expect(page).to_have_title("RAUQ")
    expect(answered(page, "Every word of the sentence was common")).to_be_visible()
    expect(page.locator(".st-key-scoring button").first).to_have_text(re.compile("Scoring: alpha 0.5"))
    expect_selected(page, 1, 3)
    expect(page).to_have_url(re.compile(r"/inspect\?example=known-words&layer=1&head=3&alpha=0.5$"))


def test_reload_and_a_second_browser_show_the_same(page, server):
    ask(page, server)
    page.locator(".token").nth(3).click()
    page.keyboard.press("w")
    click_cell(page, 2, 5)
    expect(page).to_have_url(re.compile("head=5"))
    headline, address = page.locator(".headline").inner_text(), page.url
    assert "Gliwice" not in address
    with page.context.browser.new_context() as context:
        other = context.new_page()
        page.reload()
        other.goto(address)
        for who in (page, other):
            rested(who)
            expect(who.locator(".headline")).to_have_text(headline)
            expect_selected(who, 2, 5)
            expect(who.locator(".token.wrong")).to_have_attribute("data-index", "3")
            expect(who.get_by_label("Prompt")).to_have_value(PROMPT)


def copied_link(page):
    """The link of the panel Export, which is opened for it; the panel may show its Python before its link."""
    open_drawer(page, "drawer_export")
    link = page.locator(".st-key-open_drawer code", has_text=re.compile("^http"))
    expect(link).to_be_visible()
    return link.inner_text()


def test_a_copied_link_opens_the_answer_and_where_that_is_gone_asks_before_it_runs_anything(page, server, cold_server):
    ask(page, server)
    page.locator(".token").nth(2).click()
    expect(page).to_have_url(re.compile("token=2"))
    headline = page.locator(".headline").inner_text()
    link = copied_link(page)
    assert "Gliwice" in link
    page.goto(link)
    expect(page.locator(".headline")).to_have_text(headline)
    expect(page.locator(".token").nth(2)).to_have_attribute("aria-pressed", "true")
    page.goto(link.replace(server, cold_server))
    expect(page.get_by_role("heading", name="The answer of this link is no longer in memory")).to_be_visible()
    expect(page.get_by_label("Prompt")).to_have_value(PROMPT)
    assert page.locator(".token").count() == 0
    page.locator(".st-key-run_link button").click()
    expect(page.locator(".headline")).to_have_text(headline)
    expect(page.locator(".token").nth(2)).to_have_attribute("aria-pressed", "true")
    assert "Gliwice" not in page.url


def test_a_copied_link_carries_the_users_verdict_which_whoever_opens_it_may_change(page, server):
    ask(page, server)
    enter(page.get_by_label("Correct answer", exact=True), "Poland & <b>")
    page.keyboard.press("Enter")
    expect(page.locator(".correct-answer")).to_have_text("Correct answer: Poland & <b>")
    page.locator(".overrule button", has_text=re.compile("^Correct$")).click()
    expect(page.locator(".verdict-source")).to_have_text("Verdict: set by you.")
    rested(page)
    assert "verdict=" not in page.url
    link = copied_link(page)
    with page.context.browser.new_context() as context:
        other = context.new_page()
        other.goto(link)
        rested(other)
        expect(other.locator(".badge")).to_have_text("\u2713 Correct")
        expect(other.locator(".verdict-source")).to_have_text("Verdict: set in the link.")
        expect(other.locator(".correct-answer")).to_have_text("Correct answer: Poland & <b>")
        other.reload()
        rested(other)
        expect(other.locator(".verdict-source")).to_have_text("Verdict: set in the link.")
        other.locator(".overrule button", has_text=re.compile("^Incorrect$")).click()
        expect(other.locator(".verdict-source")).to_have_text("Verdict: set by you.")
        rested(other)
        assert "verdict=" not in other.url
        expect(other.locator(".correct-answer")).to_have_text("Correct answer: Poland & <b>")
        assert re.search(r"verdict=incorrect\.", copied_link(other))


LOOPING = "no no no no no no"  # the embedded model repeats it from token 5 on
LABELS = """
  window.labels = [];
  new MutationObserver(() => {
    const button = document.querySelector(".st-key-scoring button");
    if (button && button.innerText !== window.labels.at(-1)) window.labels.push(button.innerText);
  }).observe(document, { childList: true, subtree: true, characterData: true });
"""


FOLDED = ", ".join(one.label.lower() for one in declared(Settings).values() if one.folded).capitalize()


def with_every_choice(page):
    """Choose a signal, an alpha, layers, and the score without the repetition, as a person does."""
    page.locator(".st-key-loop_button button").click()
    rested(page)
    open_drawer(page, "scoring")
    page.get_by_role("radio", name="entropy").click()
    expect(page).to_have_url(re.compile("signal=entropy"))
    slider = page.locator(".st-key-settings_alpha input[type=range]")
    slider.focus()
    slider.press("ArrowRight")
    expect(page).to_have_url(re.compile("alpha="))
    page.get_by_text(FOLDED).click()
    page.get_by_role("radio", name="all", exact=True).first.click()
    expect(page).to_have_url(re.compile("layers=all"))
    page.keyboard.press("Escape")
    rested(page)


def test_the_scoring_button_of_a_copied_link_says_what_the_link_says_from_the_first_moment(page, server, cold_server):
    """Where the answer is in memory, where it is gone, while it is generated again, and once it is there."""
    page.goto(f"{server}/inspect?prompt={LOOPING}&max_new_tokens=20")
    page.locator(".st-key-run_link button").click()
    rested(page)
    with_every_choice(page)
    headline, label = (page.locator(place).first.inner_text() for place in (".headline", ".st-key-scoring button"))
    assert re.match(r"Scoring: signal entropy, alpha 0\.\d+ and 1 more, without the repetition", label)
    link = copied_link(page)
    assert {"loop=without", "signal=entropy", "layers=all"} <= set(link.split("?")[1].split("&"))
    with page.context.browser.new_context() as context:
        context.add_init_script(LABELS)
        other = context.new_page()
        other.goto(link)
        rested(other)
        expect(other.locator(".headline")).to_have_text(headline)
        assert other.evaluate("window.labels") == [label]
        other.goto(link.replace(server, cold_server))
        other.locator(".st-key-run_link button").click()
        expect(other.locator(".views:not(.live) .headline").filter(visible=True)).to_have_text(headline)
        expect(other).to_have_url(re.compile("loop=without"))
        assert other.evaluate("window.labels") == [label]


def test_an_answer_that_is_gone_is_said_in_its_place(page, server):
    address = f"{server}/inspect?kept=gone&layer=19&head=3"
    page.goto(address)
    expect(page.get_by_role("heading", name="This answer is no longer in memory")).to_be_visible()
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    assert page.url == address
    assert page.locator(".token").count() == 0
    assert page.get_by_test_id("stToast").count() == 0
    page.get_by_role("button", name="Show a recorded answer").click()
    rested(page)
    expect(page).to_have_url(re.compile("example="))


def test_files_have_the_marks_and_the_verdict_and_a_trace_is_opened_again(page, server, tmp_path):
    page.goto(f"{server}/?example=unknown-place")
    rested(page)
    page.locator(".token").nth(4).click()
    page.get_by_role("button", name="Mark as incorrect").click()
    expect(page).to_have_url(re.compile("wrong=4"))
    rested(page)
    page.locator(".overrule button", has_text=re.compile("^Correct$")).click()
    expect(page.locator(".verdict-source")).to_contain_text("set by you")
    rested(page)
    open_drawer(page, "drawer_export")
    files = {}
    for label in ("Trace", "Token numbers", "Selected heads", "Report"):
        with page.expect_download() as download:
            page.get_by_role("button", name=label, exact=True).click()
        files[label] = tmp_path / download.value.suggested_filename
        download.value.save_as(files[label])
    rows = list(csv.DictReader(files["Token numbers"].read_text(encoding="utf-8-sig").splitlines()))
    assert [row["marked_wrong"] for row in rows].index("true") == 4
    assert files["Report"].read_text().startswith("<!doctype html>")
    for label in ("Token numbers", "Selected heads", "Report"):
        assert "Verdict: set by you." in files[label].read_text(encoding="utf-8-sig"), label
    open_drawer(page, "more")
    page.get_by_text("Open a saved trace").click()
    page.locator("input[type=file]").set_input_files(files["Trace"])
    expect(page).to_have_url(re.compile("kept="))
    expect(page.locator(".token.wrong")).to_have_attribute("data-index", "4")
    rested(page)
    trace = rauq.Trace.load(files["Trace"])
    replace(trace, thinking=(1, 4)).save(tmp_path / "thinking.safetensors")
    page.locator("input[type=file]").set_input_files(tmp_path / "thinking.safetensors")
    expect(page.locator(".fold")).to_be_visible()
    page.keyboard.press("Escape")  # the drawer lies over the answer
    expect_thinking_folds(page, start=1, stop=4, last=len(trace.pieces) - 1)


def expect_thinking_folds(page, *, start, stop, last):
    """The thinking part is one control, which hides its tokens from the eye and from the keys until it is opened."""
    fold, shown = page.locator(".fold"), page.locator(".token:visible")
    expect(fold).to_have_text(f"thinking, {stop - start} tokens")
    expect(fold).to_have_attribute("aria-expanded", "false")
    expect(shown).to_have_count(last + 1 - (stop - start))
    page.locator(".token").nth(stop).click()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".token:focus")).to_have_attribute("data-index", str(start - 1))
    fold.press("Enter")
    expect(fold).to_have_attribute("aria-expanded", "true")
    expect(shown).to_have_count(last + 1)
    page.locator(".token").nth(start).click()
    expect(page).to_have_url(re.compile(f"token={start}(&|$)"))
    fold.click()
    expect(shown).to_have_count(last + 1 - (stop - start))
    expect(page.locator(".token[aria-pressed=true]")).to_have_count(0)
    expect(page).not_to_have_url(re.compile("token="))


def test_a_tab_knows_what_to_ask_where_its_answer_is_gone(page, server):
    ask(page, server)
    name = re.search(r"kept=([\w-]+)", page.url)[1]
    page.wait_for_function("sessionStorage.getItem('rauq-requests')")
    kept = page.evaluate("JSON.parse(sessionStorage.getItem('rauq-requests'))")
    assert [(answer, asked["prompt"]) for answer, asked in kept] == [(name, PROMPT)]
    gone = [["other", {"prompt": "Who?"}], ["gone", kept[0][1]]]
    page.evaluate("(kept) => sessionStorage.setItem('rauq-requests', JSON.stringify(kept))", gone)
    page.goto(f"{server}/inspect?kept=gone")
    expect(page.get_by_label("Prompt")).to_have_value(PROMPT)
    expect(page.get_by_text("The form above has its prompt again")).to_be_visible()
    page.get_by_role("button", name="Generate").click()
    expect(answered(page, "Gliwice")).to_be_visible()


def test_a_trace_of_attributions_says_so_in_every_view(page, server, tmp_path):
    lig = as_lig(find_recorded("unknown-place").trace(), layers=(4, 5, 6))
    lig.save(tmp_path / "lig.safetensors")
    page.goto(server)
    rested(page)
    open_drawer(page, "more")
    page.get_by_text("Open a saved trace").click()
    page.locator("input[type=file]").set_input_files(tmp_path / "lig.safetensors")
    expect(answered(page, "The weights are LIG attributions, not attention")).to_be_visible()
    rested(page)
    expect(page.get_by_role("button", name="LIG", exact=True)).to_be_visible()
    expect(page.locator(".token-caption")).to_contain_text("LIG to the previous token")
    expect(page.locator(".heads th").nth(2)).to_have_text("mean LIG")
    expect(page.locator(".standing")).to_contain_text("the weights of this answer are LIG attributions")
    expect(page.locator("canvas.tracks")).to_have_attribute("aria-label", re.compile("LIG to the previous token"))
