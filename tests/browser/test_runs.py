"""The researcher's journey, first half: a file goes in, its job is followed, and its figures are a click away.

Before, a reference for the answers of a model is made on Inspect, where no run of that model is there yet.
"""

import re

import pytest
from playwright.sync_api import expect

from analysis.runs.library import FOLDER_VARIABLE
from benchmarks.support.browser import open_list
from benchmarks.support.server import started
from tests.browser.test_reference import about, opened
from tests.browser.typing import enter

PLACES = ("Kyoto", "Porto", "Turin", "Cusco", "Izmir", "Gliwice")
ROWS = "".join(f"{place},Q: In which country is {place}? A:,{place} is in Japan.,yes\n" for place in PLACES)
CSV = f"place,asked,answer,correct\n{ROWS}nowhere,,no prompt,yes\n".encode()
UPLOAD_NUL = """field => {
  const files = new DataTransfer();
  files.items.add(new File(["question,answer\\nWhere is Porto?,Portugal\\n"], "a\\0b.csv"));
  field.files = files.files;
  field.dispatchEvent(new Event("change", { bubbles: true }));
}"""


@pytest.fixture(scope="module")
def runs_server(tmp_path_factory):
    """The app with a folder of runs of its own."""
    with started(changes={FOLDER_VARIABLE: str(tmp_path_factory.mktemp("runs"))}) as server:
        yield server.address


def test_a_reference_is_made_from_the_drawer_and_then_follows_the_settings(page, runs_server):
    page.goto(f"{runs_server}/inspect?example=myth&alpha=0.5")
    expect(page.locator(".judged .nearest")).to_contain_text("make a reference")
    opened(page)
    page.get_by_text("Make a reference", exact=True).click()
    enter(page.get_by_label("Number of questions"), "20")
    page.get_by_label("Number of questions").press("Tab")
    expect(page.get_by_text("How long this takes is unknown")).to_be_visible()
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_text("It becomes the reference of this model.")).to_be_visible()
    expect(about(page)).to_contain_text("Reference: the run atlas-atlas, answers of atlas to the data set atlas.")
    expect(page.locator(".judged .rank")).to_contain_text("20 answers")
    expect(page.get_by_text("It becomes the reference of this model.")).to_have_count(0)


def test_from_a_file_to_a_run_that_outlives_the_page(page, runs_server):
    page.goto(f"{runs_server}/runs")
    page.get_by_role("button", name="New run").click()
    expect(page).to_have_url(re.compile("view=new"))
    page.locator("input[type=file]").evaluate(UPLOAD_NUL)  # for which Streamlit would end the page
    expect(page.get_by_text("1 row accepted, 0 rows rejected.")).to_be_visible()
    page.locator("input[type=file]").set_input_files({"name": "places.csv", "mimeType": "text/csv", "buffer": CSV})
    expect(page.get_by_text("7 rows accepted, 0 rows rejected.")).to_be_visible()
    open_list(page.get_by_role("combobox", name="Reading"))
    page.get_by_role("option", name="the prompts are in 'asked'").click()
    expect(page.get_by_text("6 rows accepted, 1 row rejected.")).to_be_visible()
    enter(page.get_by_role("textbox", name="Name of the run"), "mine")
    page.get_by_role("textbox", name="Name of the run").press("Enter")
    page.get_by_role("button", name="Start").click()
    expect(page).to_have_url(re.compile("run=mine"))
    mine = page.locator(".st-key-run-mine")
    expect(mine.get_by_role("progressbar")).to_be_visible()
    page.reload()
    expect(mine.get_by_text("finished")).to_be_visible()
    expect(mine.get_by_text("6 answers", exact=True)).to_be_visible()
    expect(mine.get_by_text("6 answers: 6 correct, 0 incorrect")).to_be_visible()
    page.reload()
    expect(mine.get_by_text("6 examples of places.csv")).to_be_visible()
    mine.get_by_role("link", name="Answer sets").click()
    expect(page).to_have_url(re.compile("/answer_sets.*run=mine"))


def test_from_answer_sets_to_the_heads_of_a_model_in_one_form(page, runs_server):
    page.goto(f"{runs_server}/answer_sets")
    page.get_by_role("link", name="Heads of my model").click()
    expect(page).to_have_url(re.compile(r"/runs\?view=new&goal=heads"))
    expect(page.get_by_role("heading", name="Find the uncertainty heads of my model")).to_be_visible()
    page.get_by_role("radio", name="atlas").click()
    labelled = CSV.replace(b"is in Japan.,yes", b"is in Japan.,no", 2)
    page.locator("input[type=file]").set_input_files({"name": "places.csv", "mimeType": "text/csv", "buffer": labelled})
    open_list(page.get_by_role("combobox", name="Reading"))
    page.get_by_role("option", name="the prompts are in 'asked'").click()
    expect(page.get_by_text("6 rows accepted, 1 row rejected.")).to_be_visible()
    page.get_by_role("button", name="Start").click()
    expect(page).to_have_url(re.compile(r"/answer_sets\?run=places-atlas"), timeout=60_000)
    expect(page.get_by_text("6 answers: 4 correct").first).to_be_visible()
    page.go_back()
    expect(page).to_have_url(re.compile(r"/runs\?.*run=places-atlas"))
    expect(page.locator(".st-key-run-places-atlas").get_by_text("finished")).to_be_visible()
    expect(page).to_have_url(re.compile(r"/runs\?.*run=places-atlas"))  # Back is not undone
