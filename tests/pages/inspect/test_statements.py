"""Every verdict, rank, share and caution that the page shows of an answer is in its report and in its tables.

The JSON of the command line, which knows no reference and no correct answer, has every caution.
"""

import csv
import html
import io
import re
from dataclasses import replace

import numpy as np
import pytest

import rauq
from analysis.exports.csv_text import as_text
from analysis.exports.html_report import html_report
from analysis.exports.numbers import numbers_csv, selected_heads_csv
from analysis.one_answer.statements import Statements
from pages.ui.inspect import layout
from pages.ui.inspect.reference import NO_REFERENCE, Reference, judged_payload, table
from pages.ui.inspect.statements import statements
from pages.ui.inspect.verdict import Verdict, known_verdict, verdict_payload
from rauq.labels import about_weights, running
from rauq.recorded.answers import find_recorded, load_recorded
from rauq.scoring.report import as_json, cautions
from rauq.scoring.settings import Settings
from rauq.trace.attribution import about_attribution
from tests.pages.reading import views
from tests.traces import as_lig, make_trace

DRAWN = {"outcomes", "heads"}  # colours, and the caption of a map that the report does not have
RECORDED = {recorded.id: recorded for recorded in load_recorded()}


@pytest.fixture(autouse=True)
def without_figures(monkeypatch):
    """Sentences stand in the text of a report; drawing its figures would take most of the time."""
    monkeypatch.setattr("analysis.exports.html_report.charts", lambda *_trace_and_score, dark: ())


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


def columns_of(text):
    """What the columns of a table say besides numbers, in its rows."""
    rows = list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"))))
    return {" ".join(row[name] for name in vars(Statements())) for row in rows}


def check_files(trace, score, said, sentences):
    """Each sentence is in the report, and in every row of both tables."""
    report = text_of(html_report(trace, score, said=said))
    tables = [csv_of(trace, score, said=said) for csv_of in (numbers_csv, selected_heads_csv)]
    (in_rows,) = {found for text in tables for found in columns_of(text)}
    for sentence in filter(None, sentences):
        assert running(" ".join(sentence.split())) in report
        assert as_text(sentence) in in_rows


@pytest.mark.parametrize("name", RECORDED)
def test_files_say_what_the_page_says(name):
    recorded = RECORDED[name]
    trace = recorded.trace()
    score = rauq.score(trace)
    found = table(trace, score) or Reference(reason=NO_REFERENCE)
    verdict = known_verdict(f"example:{name}", trace, recorded)
    said = [*texts(judged_payload(trace, score, found)), *texts(verdict_payload(verdict)), *cautions(trace, score)]
    assert len(said) > 2
    check_files(trace, score, statements(trace, score, found, verdict), said)


LOOPING = make_trace(
    (b"The", b" date", b" is", *(b" historic",) * 20),
    answer_ids=np.array([1, 2, 3, *(4,) * 20]),
    stop_reason="length",
    kind="instruct",
)
GIVEN = make_trace(stop_reason="given", kind="instruct")
OPENED = {
    "plain": (make_trace(), {}),
    "one token": (make_trace((b"Yes",)), {}),
    "another layer": (make_trace(), {"layer": "0", "head": "1"}),
    "written by another": (GIVEN, {}),
    "written by another, by entropy": (GIVEN, {"by": "rauq"}),
    "looping": (LOOPING, {}),
    "without its loop": (LOOPING, {"loop": "without"}),
    "looping, written by another": (replace(LOOPING, stop_reason="given"), {"by": "rauq"}),
    "attributions": (as_lig(find_recorded("unknown-place").trace(), layers=(4, 5, 6)), {}),
    "chat template": (make_trace(chat_applied=True, prompt_form="templated"), {}),
    "quantised": (make_trace(quantisation="Q4_K_M", dtype="float32"), {}),
}
# What the page says of its fields, and of what the app does; everything else is said of the answer.
OF_FIELDS = re.compile(
    r"\d+ prompt tokens?|\d+ of \d+ tokens|Comes before the prompt|Tokens are sampled|"
    r"An answer that another system wrote|Treated as a|"
    r"Entropy does not depend on the token that was given, so the score is"
)


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize("case", OPENED)
def test_every_sentence_of_the_page_on_an_answer_is_in_its_files(open_app, monkeypatch, case):
    """The JSON has all cautions but that a loop is left out."""
    trace, query = OPENED[case]
    handed = []
    monkeypatch.setattr(layout, "open_drawer", handed.append)
    page = open_app(trace, **query)
    view = handed[-1]
    shown, score, said = view.marked, view.score, view.statements
    assert view.whole.pieces == trace.pieces
    captions = [one.value for one in (*page.caption, *page.text) if not OF_FIELDS.match(one.value)]
    check_files(shown, score, said, [*captions, *texts(views(page)["judged"])])
    report = text_of(html_report(shown, score, said=said))
    facts = (about_weights(trace.quantisation, trace.dtype, trace.adapter), about_attribution(trace.attribution, ""))
    for text in (*(views(page)[name] for name in ("headline", "detail", "note")), *facts):
        assert running(text) in report
    assert set(as_json(shown, score)["cautions"]) <= set(said.cautions)
    of_loop = {said.cautions[-1]} if "loop" in query else set()
    assert set(captions) <= {*cautions(trace, score), *of_loop}


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
