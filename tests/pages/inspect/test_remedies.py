"""What helps where an answer is empty is one click away, and nothing is offered that is known to fail."""

import pytest

from pages.ui.inspect.remedies import has_template
from pages.ui.shared import state, url_state
from rauq.trace.trace import Alternative
from tests.pages.reading import finished, interpreted, settings_of, shown_trace, views
from tests.traces import make_trace

EMPTY = make_trace((b"\n",), stop_reason="stop", model="atlas", prompt="What is the capital of France?")
BARE = make_trace((b"It", b" is", b" Oslo"), stop_reason="given", kind="instruct", thinking=(0, 3))


def offered(page):
    return [button.key for button in page.button if (button.key or "").startswith("take_")]


@pytest.mark.parametrize(
    ("trace", "remedies"),
    [
        (EMPTY, ["take_question", "take_no_stop"]),
        (make_trace((b"\n",), stop_reason="stop", model="atlas", prompt="Q: Who?\nA:"), ["take_no_stop"]),
        (make_trace((b"\n",), stop_reason="stop", model="other/model"), ["take_question", "take_no_stop"]),
        (make_trace((b" ", b"\t"), stop_reason="length", model="atlas"), ["take_more_tokens"]),
        (make_trace((b"",), stop_reason="eos", answer_tokens=("",), model="atlas"), []),
        (BARE, ["take_whole"]),
        (make_trace(), []),
    ],
)
def test_what_helps_is_offered(trace, remedies, open_app):
    page = open_app(trace)
    assert not page.exception
    assert offered(page) == remedies
    assert not has_template(trace)
    assert trace.kind == "instruct" or "other_kind" not in {button.key for button in page.button}


def test_an_answer_that_stopped_at_once_is_asked_for_as_a_question(open_app):
    page = open_app(EMPTY, max_new_tokens="6")
    page = finished(page.button("take_question").click().run())
    shown = shown_trace(page)
    assert shown.prompt == f"Question: {EMPTY.prompt}\nAnswer:"
    assert page.text_area(key=state.PROMPT).value == shown.prompt
    assert shown.answer.strip()
    assert not page.toggle(key=state.NO_STOP).value  # without the stop, a base model invents further questions


def test_an_answer_that_stopped_at_once_is_made_again_without_the_stop(open_app):
    page = open_app(EMPTY, max_new_tokens="6")
    page = finished(page.button("take_no_stop").click().run())
    shown = shown_trace(page)
    assert shown.prompt == EMPTY.prompt
    assert shown.stop_reason != "stop"
    assert "More: no stop text" in [drawer.proto.popover.label for drawer in page.get("popover")]
    assert page.toggle(key=state.NO_STOP).value
    assert page.text_input(key=state.STOP_AT).disabled


def test_a_link_to_an_answer_past_the_usual_stop_has_the_answer():
    likely = tuple((Alternative(token, "a", -0.1),) for token in range(3))
    went_on = make_trace((b" a", b"\n", b"b"), stop_reason="length", alternatives=likely)
    assert url_state.asking(went_on).answer == " a\nb"
    usual = make_trace((b" a", b"b", b"\n"), stop_reason="stop", alternatives=likely)
    assert url_state.asking(usual).answer is None


def test_an_answer_without_thinking_marks_is_scored_as_a_whole_in_one_click(open_app):
    page = open_app(BARE)
    assert (
        "the answer never closes it, so all of it counts as thinking" in views(page)["headline"] + views(page)["detail"]
    )
    assert "score it as that" in interpreted(page)
    page.button("take_whole").click().run()
    assert settings_of(page) == {"part": "all"}
    assert not views(page)["empty"]
    assert not offered(page)
