"""An answer that ends in a loop: it is named, and scored without it by a click."""

from dataclasses import replace

import numpy as np
import pytest

import rauq
from pages.ui.inspect.loop import looped
from rauq.scoring.report import as_json, cautions, loop_sentence, weak_points
from rauq.trace.loops import without_loop
from tests.pages.reading import views
from tests.traces import make_trace

PIECES = (b"The", b" date", b" is", *(b" historic",) * 20)
TRACE = make_trace(PIECES, answer_ids=np.array([1, 2, 3, *(4,) * 20]), stop_reason="length", kind="instruct")

pytestmark = pytest.mark.usefixtures("no_model")


def texts(page):
    return [one.value for one in (*page.caption, *page.text)]


def test_a_loop_is_named_and_left_out_by_a_click(open_app):
    page = open_app(TRACE)
    assert loop_sentence(4) in texts(page)
    assert len(views(page)["tokens"]) == len(PIECES)
    page.button(key="loop_button").click().run()
    assert not page.exception
    assert page.query_params["loop"] == "without"
    assert [token["label"] for token in views(page)["tokens"]] == ["The", "·date", "·is", "·historic"]
    assert views(page)["detail"].startswith(_detail(without_loop(TRACE)))
    assert "Scored without the repetition, which begins at token 4 and lasts to the end." in texts(page)
    page.button(key="loop_button").click().run()
    assert "loop" not in page.query_params
    assert len(views(page)["tokens"]) == len(PIECES)


def _detail(trace):
    return rauq.scoring.report.sentence_halves(trace, rauq.score(trace))[1]


def test_an_answer_without_a_loop_is_shown_whole_whatever_the_address_says(open_app):
    page = open_app(make_trace(), loop="without")
    assert len(views(page)["tokens"]) == len(make_trace().pieces)
    assert not [text for text in texts(page) if "repetition" in text]


def test_report_and_json_name_the_loop():
    score = rauq.score(TRACE)
    assert loop_sentence(4) in cautions(TRACE, score)
    assert loop_sentence(4) in as_json(TRACE, score)["cautions"]
    assert cautions(without_loop(TRACE), rauq.score(without_loop(TRACE))) == ()


def test_only_the_largest_weak_point_may_lie_in_the_loop():
    improbable = np.where(np.arange(len(PIECES)) % 2, 0.001, 0.9)
    trace = replace(TRACE, logprobs=np.log(improbable), kind="base")
    first, *others = weak_points(trace, rauq.score(trace))
    assert first >= 4
    assert sorted(others) == [1, 3]


def test_without_a_request_the_whole_answer_is_shown(monkeypatch):
    monkeypatch.setattr("streamlit.query_params", {})
    trace, loop = looped(TRACE)
    assert trace is TRACE
    assert (loop.start, loop.left_out) == (4, False)
