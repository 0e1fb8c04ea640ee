"""A number above zero never reads as zero on Inspect: every number is written by one function, the same as Python's."""

import re
from pathlib import Path

import numpy as np
from playwright.sync_api import expect

from benchmarks.support.browser import open_drawer
from rauq.labels import amount
from tests.browser.inspecting import rested
from tests.traces import make_trace

UI = Path(__file__).parents[2] / "pages" / "ui"
NUMBERS = UI / "shared" / "js" / "numbers.js"
VALUES = (0.0, -0.0, 1.0, -1.5, 0.0049, 0.0051, 0.0005, -0.0005, -0.0051, 1e-300, 123.456, 0.5)
NOTHING = re.compile(r"(?<![\d.])0\.0+(?!\d)")


def test_numbers_are_written_by_one_function_which_is_that_of_python(page, server):
    page.goto(server)
    source = NUMBERS.read_text(encoding="utf-8").replace("export ", "")
    given = [[value, places] for value in VALUES for places in (1, 2, 3, 4)]
    write = f"given => {{ {source}; return given.map(([value, places]) => shown(value, places)); }}"
    written = page.evaluate(write, given)
    assert written == [amount(value, places=places) for value, places in given]


def test_no_other_script_of_inspect_rounds_a_number_for_a_text():
    scripts = [*(UI / "inspect").rglob("*.js"), *NUMBERS.parent.glob("*.js")]
    assert [path for path in scripts if "toFixed" in path.read_text(encoding="utf-8")] == [NUMBERS]


def test_a_small_confidence_and_a_small_probability_are_more_than_nothing(page, server, tmp_path):
    attention = np.random.default_rng(0).uniform(1e-4, 4e-4, (6, 4, 4, 8)).astype(np.float32)
    trace = make_trace((b" Oslo", b" is", b" it"), probabilities=[0.9, 0.0004, 0.0003], attention=attention)
    trace.save(tmp_path / "small.safetensors")
    page.goto(server)
    rested(page)
    open_drawer(page, "more")
    page.get_by_text("Open a saved trace").click()
    page.locator("input[type=file]").set_input_files(tmp_path / "small.safetensors")
    expect(page).to_have_url(re.compile("kept="))
    expect(page.locator(".token")).to_have_count(3)
    rested(page)
    page.locator(".token").nth(2).click()
    expect(page.locator(".token-facts")).to_contain_text("p < 0.01")
    expect(page.locator(".token-facts")).to_contain_text("confidence < 0.01")
    page.locator(".token").nth(2).hover()
    expect(page.locator(".tip")).to_contain_text("< 0.001")
    parts = page.locator(".tip .row").filter(has_text=re.compile("^from "))  # of a sum, which may be negative
    expect(parts).to_have_count(1)
    texts = [page.locator(place).inner_text() for place in (".token-facts", ".tip", ".heads")]
    assert [text for text in texts if NOTHING.search(text.replace(parts.inner_text(), ""))] == []
