"""Every verdict, rank, share and caution that the page shows of an answer is in its report; the JSON has cautions."""

import html
import re

import pytest

import rauq
from analysis.exports.html_report import html_report
from pages.ui.inspect.reference import NO_REFERENCE, Reference, judged_payload, table
from pages.ui.inspect.statements import statements
from pages.ui.inspect.verdict import Verdict, known_verdict, verdict_payload
from rauq.labels import running
from rauq.recorded.answers import load_recorded
from rauq.scoring.report import as_json, cautions
from rauq.scoring.settings import Settings
from tests.traces import make_trace

DRAWN = {"outcomes", "heads"}  # colours, and the caption of a map that the report does not have
RECORDED = {recorded.id: recorded for recorded in load_recorded()}


def texts(payload):
    """The texts of a payload, in whatever it nests them."""
    if isinstance(payload, str):
        return [payload]
    values = [value for name, value in payload.items() if name not in DRAWN] if isinstance(payload, dict) else payload
    return [text for value in values for text in texts(value)] if isinstance(values, list | tuple) else []


def text_of(page):
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def report_of(trace, score, found, verdict):
    return text_of(html_report(trace, score, said=statements(trace, score, found, verdict)))


@pytest.mark.parametrize("name", RECORDED)
def test_a_report_says_what_the_page_says(name):
    recorded = RECORDED[name]
    trace = recorded.trace()
    score = rauq.score(trace)
    found = table(trace, score) or Reference(reason=NO_REFERENCE)
    verdict = known_verdict(f"example:{name}", trace, recorded)
    report = report_of(trace, score, found, verdict)
    said = [*texts(judged_payload(trace, score, found)), *texts(verdict_payload(verdict)), *cautions(trace, score)]
    assert len(said) > 2
    for sentence in filter(None, said):
        assert running(" ".join(sentence.split())) in report


def test_an_answer_of_another_is_named_as_that_with_its_cautions_everywhere():
    trace = make_trace(stop_reason="given", kind="instruct")
    score = rauq.score(trace, Settings(signal="entropy"))
    report = report_of(trace, score, Reference(reason=NO_REFERENCE), Verdict())
    assert "written by another, read by" in report
    assert "Where the model was unsure" not in report
    assert NO_REFERENCE in report
    record = as_json(trace, score)
    assert len(record["cautions"]) == 2
    assert record["writer"].startswith("written by another")
    assert all(caution in report for caution in record["cautions"])
    own = make_trace(kind="instruct", stop_reason="length")
    assert as_json(own, rauq.score(own))["cautions"] == []
