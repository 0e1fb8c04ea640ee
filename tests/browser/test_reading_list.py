"""Unclear answers are read by keys: one key each, the next comes up by itself, and what was said is undone by a key."""

import pytest
from playwright.sync_api import expect

from analysis.runs.files.corrections import read_corrections
from analysis.runs.library import FOLDER_VARIABLE
from benchmarks.support.browser import wait_until_idle
from benchmarks.support.server import started
from tests.browser.typing import enter
from tests.pages.sets import make

UNCLEAR = (1, 4, 8, 20)
HOSTILE = "<b onmouseover=alert(1)>a</b> ![](http://evil.example/a.png)"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def runs_server(folder):
    with started(changes={FOLDER_VARIABLE: str(folder)}) as server:
        yield server.address


@pytest.fixture
def run(folder):
    """A run of its own for each test."""
    name = f"small-{len(list(folder.iterdir()))}"
    return make(folder, name=name, unclear=UNCLEAR, question="What is {}?", references=("a b", HOSTILE), text="a")


@pytest.fixture
def list_page(run, page, runs_server):
    assert run.answers["unclear"].sum() == len(UNCLEAR)
    page.goto(f"{runs_server}/answer_sets?run={run.folder.name}&view=answers")
    page.get_by_role("radio", name=f"Unclear ({len(UNCLEAR)})").click()
    shows(page, 1)
    return page


def shows(page, number):
    expect(page.locator(".reading .question")).to_have_text(f"What is {number}?")
    expect(page.locator(".reading")).to_have_attribute("aria-busy", "false")


def said(run):
    return {one.number: one.correct for one in read_corrections(run.folder)}


def test_each_key_says_one_thing_of_one_answer_and_the_next_comes_up(list_page, run):
    expect(list_page.locator(".reading .references")).to_have_text(f"a b | {HOSTILE}")
    expect(list_page.locator(".reading .reason")).to_have_text("it also names 'a'")
    expect(list_page.get_by_role("heading", level=2)).to_have_text("4 unclear answers to read")
    list_page.keyboard.press("c")
    shows(list_page, 4)
    list_page.keyboard.press("Shift+I")
    shows(list_page, 8)
    list_page.keyboard.press("l")
    shows(list_page, 20)
    assert said(run) == {1: True, 4: False, 8: None}
    expect(list_page.locator(".reading .last")).to_have_text("What is 8? · left out")
    expect(list_page.get_by_text("1 unclear, 1 left out by hand.")).to_be_visible()
    expect(list_page.get_by_text("Not shown: 1 failed. 3 verdicts")).to_be_attached()  # folded
    expect(list_page.get_by_role("dialog")).to_have_count(0)  # Streamlit's own C

    list_page.keyboard.press("u")
    shows(list_page, 8)
    list_page.keyboard.press("u")
    shows(list_page, 4)
    assert said(run) == {1: True}
    list_page.locator(".reading").get_by_role("button", name="I Incorrect").click()
    shows(list_page, 8)
    list_page.keyboard.press("c")  # the button has the focus
    shows(list_page, 20)
    list_page.keyboard.press("c")
    expect(list_page.locator(".reading .left")).to_have_text("Every unclear answer has been read.")
    expect(list_page.get_by_role("heading", level=2)).to_have_text("No unclear answer is left to read")
    list_page.keyboard.press("i")  # there is none
    list_page.keyboard.press("u")
    shows(list_page, 20)
    assert said(run) == {1: True, 4: False, 8: True}


def test_no_verdict_from_a_text_field_a_modifier_or_a_key_that_is_held_down(list_page, run):
    for keys in ("Control+c", "Alt+i", "Meta+l", "x", "Enter"):
        list_page.keyboard.press(keys)
    list_page.locator(".st-key-answer_filters button").first.click()
    field = list_page.get_by_role("textbox", name="Prompt or answer contains")
    enter(field, "cliu")
    expect(field).to_have_value("cliu")
    field.press("ControlOrMeta+a")
    field.press("Backspace")
    list_page.keyboard.press("Escape")
    wait_until_idle(list_page)
    shows(list_page, 1)
    assert said(run) == {}

    list_page.locator(".reading .left").click()
    list_page.keyboard.down("c")
    shows(list_page, 4)
    list_page.keyboard.down("c")  # repeated, as by a key that is held down
    list_page.keyboard.up("c")
    wait_until_idle(list_page)
    shows(list_page, 4)
    assert said(run) == {1: True}
