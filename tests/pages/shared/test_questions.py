"""Tables of answers name the question of a prompt that begins with worked examples."""

import pytest

from analysis.datasets.example import Example
from tests.pages.reading import choose, open_page
from tests.pages.runs_page import open_form
from tests.pages.sets import make

PROMPT = "Q: What is 1 + 1?\nA: 2\n\nQ: What is 2 + 2?\nA:"
QUESTION = "What is 2 + 2?"


@pytest.fixture
def few_shot(runs):
    return make(runs, text=PROMPT.removesuffix("?"), question=QUESTION)


@pytest.mark.usefixtures("few_shot")
@pytest.mark.parametrize(("page", "view"), [("answer_sets", "answers"), ("methods", "agreement")])
def test_a_table_of_answers_shows_questions(page, view):
    shown = open_page(page, run="small", view=view)
    assert not shown.exception
    (table,) = (frame.value for frame in shown.dataframe if "question" in frame.value)
    assert set(table["question"]) == {QUESTION}
    assert "prompt" not in table


@pytest.mark.usefixtures("few_shot")
def test_examples_without_an_answer_are_named_by_their_question():
    page = open_page("runs", run="small")
    assert not page.exception
    (table,) = (frame.value for frame in page.dataframe if "error" in frame.value)
    assert table["question"].tolist() == [QUESTION]
    assert table["error"].tolist() == ["out of memory"]


def test_the_preview_of_few_shot_facts_begins_with_the_question():
    page = choose(open_form(), "new_run_source", "Facts")
    page = page.selectbox(key="new_run_facts").select("facts_few_shot").run()
    table = page.dataframe[0].value
    names = list(table)
    assert "prompt" not in names
    assert not any("\n" in question for question in table["question"])


def test_an_example_without_a_question_is_its_prompt():
    assert Example(id="0", prompt="Where?").asked == "Where?"
    assert Example(id="0", prompt=PROMPT, question=QUESTION).asked == QUESTION
