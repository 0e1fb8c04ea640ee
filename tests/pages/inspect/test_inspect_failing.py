"""Inspect after a request that failed: which prompt it was, whose answer is shown, and the token count."""

import pytest

from rauq.trace.trace import Alternative
from tests.pages.reading import finished, views, written
from tests.traces import make_trace

HOSTILE = "<img src=x onerror=alert(1)> :red[y]"
EARLIER = "No answer was generated for the prompt “{}”. Below is the earlier answer to “{}”."


@pytest.fixture
def trace():
    chosen = tuple((Alternative(token, "", -0.1),) for token in range(2))  # by the model, so the form is to generate
    return make_trace((b" Lima", b"."), prompt="Where is Lima?", model="atlas", stop_reason="eos", alternatives=chosen)


def texts(page):
    return [element.value for element in page.text]


def failed(page, **values):
    page = written(page, **values)
    return finished(page.button(key="run").click().run())


def test_the_page_says_which_prompt_failed_and_that_the_answer_is_an_earlier_one(open_app, trace):
    prompt = f"{HOSTILE} {'one ' * 5000}"
    page = failed(open_app(trace), prompt=prompt)
    assert page.error
    assert EARLIER.format(f"{prompt[:79]}…", trace.prompt) in texts(page)
    assert views(page)["answer"].startswith("kept:")
    page = written(page, prompt="Short").run()
    assert not page.error
    assert not any("No answer was generated" in text for text in texts(page))
    assert f"Below is the earlier answer to “{trace.prompt}”, until you press Generate." in texts(page)


def test_without_an_earlier_answer_nothing_is_said_of_one(open_app):
    page = failed(open_app(), prompt="one " * 5000)
    assert page.error
    assert not any("earlier answer" in text for text in texts(page))


@pytest.mark.usefixtures("no_model")
def test_a_prompt_that_is_missing_is_not_quoted(open_app, trace):
    page = failed(open_app(trace), prompt="")
    assert f"No answer was generated. Below is the earlier answer to “{trace.prompt}”." in texts(page)


@pytest.mark.parametrize("started", [False, True], ids=["typed", "generated"])
def test_a_prompt_too_long_for_the_model_is_counted(open_app, trace, started):
    page = written(open_app(trace), prompt="one " * 5000)
    page = finished(page.button(key="run").click().run()) if started else page.run()
    captions = [caption.value for caption in page.caption]
    assert "Counting prompt tokens" not in captions
    if started:
        assert "No token count: the error on this page says why." in captions
    else:
        assert any("tokens, and atlas takes" in text for text in texts(page))
