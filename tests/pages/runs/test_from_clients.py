"""The list of answers that clients got: the latest first, and older ones on demand."""

import time
from dataclasses import replace

import pytest

from pages.ui.host.clients import ClientAnswer, ClientAnswers
from pages.ui.host.kept import KeptAnswers
from pages.ui.host.store import store
from tests.pages.reading import open_page
from tests.traces import make_trace

ANSWERS = 120


@pytest.fixture
def clients(monkeypatch):
    answers = ClientAnswers(most=200, seconds=3600, kept=KeptAnswers())
    for index in range(ANSWERS):
        trace = replace(make_trace(), prompt=f"prompt {index}")
        answers.keep(
            ClientAnswer(
                name=f"n{index}", trace=trace, text="a", ending="eos", uncertainty=0.5, query={}, at=time.time() - 1
            )
        )
    monkeypatch.setattr(store(), "clients", answers)
    return answers


def prompts(page):
    return [text.value for text in page.text if text.value.startswith("prompt")]


@pytest.mark.usefixtures("clients")
def test_older_answers_are_a_click_away_until_all_are_shown():
    page = open_page("runs", view="clients")
    latest = [f"prompt {index}" for index in reversed(range(ANSWERS))]
    assert prompts(page) == latest[:50]
    assert page.button(key="more_answers").label == "Show 50 more"
    page.button(key="more_answers").click().run()
    assert prompts(page) == latest[:100]
    assert page.button(key="more_answers").label == "Show 20 more"
    page.button(key="more_answers").click().run()
    assert prompts(page) == latest
    assert not [button for button in page.button if button.key == "more_answers"]
