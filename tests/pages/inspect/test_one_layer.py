"""One layer, one picture: no view, report or file of an answer holds values of two layers without naming both."""

import csv
import io
import re
from base64 import b64decode
from dataclasses import replace

import numpy as np
import pytest

import rauq
from analysis.exports.html_report import html_report
from analysis.exports.numbers import numbers_csv
from analysis.one_answer.figures import default_view, drawings
from pages.ui.inspect.linked_views import payload
from rauq.recorded.answers import find_recorded
from rauq.scoring import report
from rauq.scoring.report import words
from rauq.scoring.shown import head_in_words, show_head, shown_head
from rauq.scoring.surprisal import score_surprisal

GENERATED = find_recorded("canberra").trace()
PASTED = replace(GENERATED, stop_reason="given", sampling=None)
SCORES = {
    "generated": (GENERATED, rauq.score(GENERATED)),
    "pasted, by RAUQ": (PASTED, rauq.score(PASTED)),
    "pasted, by surprisal": (PASTED, score_surprisal(PASTED)),
    "mean over layers": (GENERATED, rauq.score(GENERATED, rauq.Settings(layer_aggregation="mean"))),
    "mean over heads": (GENERATED, rauq.score(GENERATED, rauq.Settings(heads="mean"))),
}
CHOICES = (None, (11, 6), (20, 1), (2, 0))  # layer 2 is outside the layers used by RAUQ

pytestmark = [pytest.mark.parametrize("name", SCORES), pytest.mark.parametrize("chosen", CHOICES)]


def of(name, chosen):
    trace, found = SCORES[name]
    return trace, show_head(trace, found, *(chosen or ()))


def array(data, name):
    return np.frombuffer(b64decode(data["arrays"][name]), "<f4")


def named(text):
    """The layers that a text names."""
    return set(map(int, re.findall(r"[Ll]ayer (\d+)", text)))


def belongs(score):
    """The layer that the numbers of the tokens are of, as a set; empty where they are of none or of all."""
    return (
        set() if score.by == "surprisal" or (score.shown is None and score.layer is None) else {shown_head(score).layer}
    )


def test_the_numbers_of_the_tokens_are_those_of_the_head_that_is_named(name, chosen):
    trace, score = of(name, chosen)
    data = payload(trace, score, words(trace, score))
    assert named(data["numbersOf"]) == belongs(score)
    if not belongs(score):
        return
    shown = shown_head(score)
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = np.log(shown.reference_confidence) - np.log(shown.confidence)
    np.testing.assert_allclose(array(data, "collapse"), expected, rtol=1e-4, atol=1e-5)
    assert data["collapseAt"] == report.collapse(trace, score).token == data["weakPoints"][0]


def test_captions_name_what_gives_the_score_where_something_does(name, chosen):
    trace, score = of(name, chosen)
    captions = payload(trace, score, words(trace, score))["captions"].values()
    assert any("gives the score" in caption for caption in captions) == (score.layer is not None)


def test_the_views_open_on_the_head_that_gives_the_score(name, chosen):
    trace, score = of(name, chosen)
    found = SCORES[name][1]
    front = payload(trace, score, words(trace, score))["front"]
    assert front["layer"] == (found.layer if found.layer is not None else found.layers[0])
    assert front["head"] == max(int(found.heads[found.layers.index(front["layer"])]), 0)


def test_a_sentence_names_the_layer_of_its_numbers_and_no_other_without_its_part(name, chosen):
    trace, score = of(name, chosen)
    said = report.sentence(trace, score)
    scores_layer = set() if score.layer is None else {score.layer}
    assert named(said) == belongs(score) | (scores_layer if score.shown or belongs(score) else set())
    assert ("not the one that gives the score" in said) == (score.shown is not None and score.by == "rauq")


def test_each_row_of_the_numbers_names_its_layer_and_head(name, chosen):
    trace, score = of(name, chosen)
    rows = list(csv.DictReader(io.StringIO(numbers_csv(trace, score))))
    has_head = score.shown is not None or score.layer is not None
    shown = shown_head(score)
    assert {(row["layer"], row["head"]) for row in rows} == {
        (str(shown.layer), str(shown.head)) if has_head else ("", "")
    }
    attention = np.array([float(row["attention"] or "nan") for row in rows])
    np.testing.assert_array_equal(
        attention, [np.nan, *(shown.attention if has_head else np.full(len(rows) - 1, np.nan))]
    )
    assert {row["gives_score"] for row in rows} == {"true" if has_head and score.shown is None else "false"}


def test_each_figure_names_the_layer_that_it_shows(name, chosen):
    trace, score = of(name, chosen)
    shown = shown_head(score)
    bold = head_in_words(score, shown.layer, shown.head)
    for drawing in drawings(trace, score, default_view(trace, score), dark=False)[1:]:
        assert named(drawing.heading) == {shown.layer}
    curves = drawings(trace, score, default_view(trace, score), dark=False)[1]
    drawn = {line.name: line.y for line in curves.figure.data}
    np.testing.assert_allclose(drawn[f"c, {bold}"], shown.confidence, rtol=1e-6)
    np.testing.assert_allclose(drawn[f"attention, {bold}"], shown.attention, rtol=1e-6)


def test_the_report_names_the_layer_of_its_table(monkeypatch, name, chosen):
    monkeypatch.setattr("analysis.exports.html_report.charts", lambda *_trace_and_score, dark: ())  # they take long
    trace, score = of(name, chosen)
    text = " ".join(html_report(trace, score).split())
    if score.shown is None and score.layer is None:
        assert "No single layer gives the score" in text
        return
    shown = shown_head(score)
    part = "which gives the score" if score.shown is None else "not the one that gives the score"
    assert f"collapse and contribution are those of {head_in_words(score, shown.layer, shown.head)}, {part}" in text
