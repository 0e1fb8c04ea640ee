"""The report states the score on one self-contained page, with text escaped."""

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import plotly.io
import pytest

import rauq
from analysis.exports.file_names import file_name
from analysis.exports.html_report import html_report, settings_table, strip
from analysis.exports.python_code import python_code
from rauq.labels import number
from rauq.scoring import report
from rauq.scoring.settings import Settings
from tests.answers import random_trace
from tests.traces import as_lig, make_trace

ATTACK = '<img src=x onerror="alert(1)"></title></style></pre><script>alert(1)</script> {{ 7 * 7 }} &lt;'
UNDRAWN = "\u202egnol \ud800\x00"


class Page(HTMLParser):
    """The elements of a page, and the text that is in them, by the innermost element's name."""

    VOID = ("meta", "img", "link", "br")

    def __init__(self, text):
        super().__init__()
        self.path, self.elements, self.texts = [], [], {}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.path.append(tag)

    def handle_endtag(self, tag):
        assert self.path.pop() == tag

    def handle_data(self, data):
        if self.path:
            self.texts.setdefault(self.path[-1], []).append(data)

    def text(self, *tags):
        return " ".join(" ".join("".join(self.texts.get(tag, [])).split()) for tag in tags)


def page_of(trace, settings=None, **options):
    return Page(html_report(trace, rauq.score(trace, settings), **options))


def test_the_page_is_complete_and_states_the_score():
    trace = random_trace(5, seed=3, prompt="Where?\nHere?")
    score = rauq.score(trace)
    page = page_of(trace)
    assert page.path == []
    headline, detail = report.sentence_halves(trace, score)
    assert page.text("h1") == headline
    assert detail in page.text("p")
    assert f"Uncertainty {score.uncertainty:.2f}" in page.text("p")
    code = page.texts["pre"][1]
    assert page.texts["pre"][0] == "Where?\nHere?"
    assert code == python_code(trace, score, trace_file=file_name(trace, "answer.safetensors"))
    cells = page.text("td")
    for row in report.selected_heads(score):
        assert number(row.layer_score) in cells
    for value in (*score.collapse, *score.contributions, *score.signal):
        assert number(value) in cells


def test_only_its_own_scripts_may_run():
    trace = random_trace(4)
    text = html_report(trace, rauq.score(trace))
    policy = next(values["content"] for tag, values in Page(text).elements if tag == "meta" and "content" in values)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    scripts = re.findall(r"<script[^>]*>(.*?)</script>", text, re.DOTALL)
    allowed = {base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts}
    assert set(re.findall(r"'sha256-([^']+)'", policy)) == allowed
    assert "unsafe-inline" not in policy.partition("script-src")[2].partition(";")[0]
    assert sum(len(script) > 1_000_000 for script in scripts) == 1


def test_text_is_escaped():
    pieces = (ATTACK.encode(), b"<b>b</b>", b"\xf0\x9f")
    plain = page_of(make_trace((b"a", b"b", b"c"), stop_reason="given"))
    names = dict.fromkeys(("prompt", "model", "revision"), ATTACK + UNDRAWN)
    trace = make_trace(pieces, stop_reason="given", **names)
    text = html_report(trace, rauq.score(trace))
    page = Page(text)
    names = [tag for tag, _ in page.elements]
    assert {tag: names.count(tag) for tag in names} | {"span": 0} == {
        tag: [tag for tag, _ in plain.elements].count(tag) for tag, _ in plain.elements
    } | {"span": 0}
    assert page.text("title") == "How uncertain the model is about this text"
    assert page.text("pre").startswith(ATTACK)
    assert not set("\u202e\ud800\x00") & set(text)
    text.encode("utf-8")


def test_the_report_of_a_score_by_surprisal_explains_surprisal_and_not_collapse():
    trace = make_trace((b"It", b" is", b" Oslo"), probabilities=[0.9, 0.9, 0.01], stop_reason="given")
    text = html_report(trace, rauq.score_surprisal(trace))
    assert "Colour shows the surprisal" in text
    assert "Surprisal of names and numbers, in nats" in text
    assert "Colour shows the collapse" not in text
    assert [one.collapse for one in strip(trace, rauq.score_surprisal(trace))] == [False, False, True]
    by_rauq = html_report(trace, rauq.score(trace))
    assert "Colour shows the collapse" in by_rauq
    assert "Colour shows the surprisal" not in by_rauq


def test_marks_are_visible():
    trace = replace(make_trace((b" a", b"\n", b" b"), probabilities=[0.9, 0.9, 0.01]), wrong=(0, 2))
    tokens = strip(trace, rauq.score(trace))
    assert [token.wrong for token in tokens] == [True, False, True]
    assert [token.collapse for token in tokens] == [False, False, True]
    assert [token.ends_line for token in tokens] == [False, True, False]
    classes = [values["class"] for tag, values in page_of(trace).elements if "token" in values.get("class", "")]
    assert classes == ["token wrong", "token", "token collapse wrong"]
    assert "marked as incorrect" not in " ".join(page_of(replace(trace, wrong=())).texts["li"])


def test_settings_stand_beside_the_papers():
    trace = random_trace(4, kind="instruct")
    chosen = Settings(signal="probability", layers=(2, 3), heads=((2, 1), (3, 0)))
    rows = {row.name: row for row in settings_table(trace, rauq.score(trace, chosen))}
    assert [name for name, row in rows.items() if row.changed] == ["Layers", "Heads"]
    assert (rows["Layers"].value, rows["Layers"].paper) == ("2, 3", "middle")
    assert rows["Heads"].value == "layer 2 head 1, layer 3 head 0"
    assert (rows["alpha: weight of the signal"].value, rows["Signal"].value) == ("0.6", "probability")
    assert "Settings: not the paper's" in page_of(trace, chosen).text("h2")
    assert "Settings: the paper's" in page_of(trace).text("h2")


@pytest.mark.parametrize(
    ("trace", "settings", "dark"),
    [
        (make_trace((b"a",)), Settings(), False),
        (make_trace((b"a",)), Settings(update="mean_sum"), True),
        (random_trace(5), Settings(heads="mean", layer_aggregation="mean"), False),
        (random_trace(5), Settings(layer_aggregation="median"), True),
        (random_trace(5), Settings(update="mean_product", heads="top5"), False),
        (random_trace(5, logprobs=np.array([np.nan, -1, -1, -1, -1])), Settings(), True),
        (random_trace(3, logprobs=np.array([-np.inf, -1, -1])), Settings(update="minus_mean"), False),
        (random_trace(3, attention=np.full((6, 4, 4, 8), np.nan, np.float32)), Settings(), True),
        (random_trace(70, num_layers=2, layers=(1,)), Settings(layers="all", alignment="own"), False),
    ],
)
def test_every_score_has_a_report(trace, settings, dark):
    score = rauq.score(trace, settings)
    page = page_of(trace, settings, dark=dark)
    assert page.path == []
    assert dict(page.elements)["html"]["class"] == ("dark" if dark else "light")
    figures = [values["id"] for _, values in page.elements if values.get("class") == "plotly-graph-div"]
    several = len(trace.pieces) > 1
    assert figures == (["layer-head-map", "confidence", "token-head-map"] if several else ["confidence"])
    for reason in filter(None, vars(score.reasons).values()):
        assert reason in page.text("p")


def test_figures_are_of_the_pages_theme_whatever_the_default_is(monkeypatch):
    trace = random_trace(4)
    score = rauq.score(trace)
    before = html_report(trace, score)
    monkeypatch.setattr(plotly.io.templates, "default", "plotly_dark")
    assert html_report(trace, score) == before
    assert '"paper_bgcolor":"#14171c"' in html_report(trace, score, dark=True)


def test_lig_weights_are_called_so():
    plain, lig = page_of(make_trace()), page_of(as_lig(make_trace(), max_error=0.06))
    assert "LIG" not in plain.text("th", "p", "td", "dd", "h1", "h2")
    assert {"mean LIG", "LIG", "from LIG"} <= set(lig.texts["th"])
    whole = html_report(as_lig(make_trace(), max_error=0.06), rauq.score(as_lig(make_trace())))
    assert "The weights are LIG attributions, not attention (2 steps" in whole
    assert "above 0.05: attribute the answer again with more steps" in whole
    assert "Previous-token LIG" in whole
