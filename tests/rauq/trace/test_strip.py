"""How answers and scores show themselves in a notebook: in one line, or as a strip in which hostile text is text."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

import rauq
from rauq.scoring.report import collapse
from rauq.trace.batch import batch
from rauq.trace.strip import html_strip
from tests.traces import make_trace

HOSTILE = (b" <script>alert(1)</script>", b'" onmouseover="x()', b"<img src=http://evil>", "\u202e".encode(), b"&lt;")
PROMPT = "<b>Where?</b> <script src=//evil></script>"


class Reader(HTMLParser):
    """The tags of a page with their attributes, and its texts."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.texts = [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.append(data)

    def tokens(self):
        return [attributes for tag, attributes in self.tags if tag == "span"]


def strength(token):
    return float(re.search(r"rgba\(232,101,10,([\d.]+)\)", token["style"])[1])


@pytest.fixture(scope="module")
def trace():
    return make_trace(HOSTILE, probabilities=[0.9, 1e-6, 0.5, 0.99, 0.2], prompt=PROMPT)


@pytest.mark.parametrize("shown", [lambda trace: trace, rauq.score], ids=["trace", "score"])
def test_hostile_text_is_shown_as_text_without_a_script_or_a_request(trace, shown):
    page = Reader(shown(trace)._repr_html_())
    assert {tag for tag, _ in page.tags} == {"div", "span", "bdi", "wbr"}
    assert {name for _, attributes in page.tags for name in attributes} == {"style", "title", "dir"}
    assert not any("url" in attributes.get("style", "") for _, attributes in page.tags)
    text = "".join(page.texts)
    assert "<b>Where?</b> <script src=//evil></script>" in text
    assert '·<script>alert(1)</script>"·onmouseover="x()<img·src=http://evil>⟨U+202E⟩&lt;' in text


def test_the_colour_of_a_trace_is_its_log_probability_and_leaves_text_readable(trace):
    tokens = Reader(trace._repr_html_()).tokens()
    expected = 0.55 * np.minimum(-trace.logprobs / 3, 1)
    assert [strength(token) for token in tokens] == pytest.approx(expected.tolist(), abs=0.006)
    assert tokens[2]["title"] == "token 2: probability 0.5"
    assert not any("color" in token["style"].replace("background-color", "") for token in tokens)


def test_the_strip_of_a_score_underlines_its_collapse(trace):
    score = rauq.score(trace)
    tokens = Reader(score._repr_html_()).tokens()
    marked = [place for place, token in enumerate(tokens) if "underline" in token["style"]]
    assert marked == [collapse(trace, score).token]
    assert strength(tokens[marked[0]]) == max(map(strength, tokens)) > 0
    assert f"collapse {score.collapse[1]:.3f} nats, probability 1e-06" in tokens[1]["title"]
    assert f"Uncertainty {score.uncertainty:.3f}, layer {score.layer}" in score._repr_html_()


def test_undefined_values_have_no_colour(trace):
    score = rauq.score(trace, rauq.Settings(layer_aggregation="median"))
    tokens = Reader(score._repr_html_()).tokens()
    assert {strength(token) for token in tokens} == {0.0}
    assert not any("underline" in token["style"] for token in tokens)
    assert "no single layer" in score._repr_html_()


def test_a_score_of_bare_arrays_has_no_strip(trace):
    settings = rauq.Settings(signal="probability", alpha=0.2)
    score = rauq.score_arrays(trace.previous_token_attention(into_prompt=True), trace.logprobs, settings)
    assert score.trace is None
    assert score._repr_html_() is None


def test_a_long_answer_is_cut_and_says_so():
    page = html_strip([b"x"] * 1500, [0.0] * 1500, ["n"] * 1500, heading="", caption="")
    assert page.count("<span") == 1000
    assert "… and 500 more tokens" in page


def test_reprs_are_one_short_line(trace):
    several = batch([trace, trace])
    for one in (trace, rauq.score(trace), several, rauq.score_many(several)):
        assert len(repr(one)) < 200
        assert "\n" not in repr(one)
