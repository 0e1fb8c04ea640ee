"""The number of prompt tokens, while an answer is being written: it needs the tokenizer, and not the model's lock."""

import pytest

from pages.ui.host import models
from pages.ui.host.hosting import ModelChoice
from pages.ui.host.jobs import Job, Request
from pages.ui.shared import state
from tests.pages.reading import written

PROMPT = "Q: In which country is Lyon?\nA:"


def captions(page):
    return [caption.value for caption in page.caption]


@pytest.fixture
def writing(open_app):
    """A page whose job has begun, and what it writes with the keys of a keyboard alone: nothing was counted before."""
    page = written(open_app(), prompt=PROMPT)
    job = page.session_state[state.JOB] = Job(Request(model=ModelChoice(), prompt=PROMPT), waiting=False)
    yield page
    job.done.set()


def test_they_are_counted_while_the_model_is_in_use(writing):
    lm = models.model(ModelChoice())
    with lm.lock:
        page = writing.run()
    count, longest = len(lm.encode(PROMPT).ids), lm.context_length
    assert f"{count:,} of {longest:,} tokens · up to 128 new" in captions(page)
    assert "Counting prompt tokens" not in captions(page)


def test_while_the_model_is_loading_nothing_waits_for_it(writing, monkeypatch):
    monkeypatch.setattr(models, "if_loaded", lambda _choice: None)
    monkeypatch.setattr(models, "model", lambda _choice: pytest.fail("loaded for a count"))
    assert "Tokens are counted once the model is loaded · up to 128 new" in captions(writing.run())
