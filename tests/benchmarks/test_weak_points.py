"""Whether a headline falls on the fact: what counts in one answer, and what the table says of several."""

import numpy as np
import pytest

from analysis.tokens.detection import Marks
from benchmarks.weak_points import ANY, CORRECT, FIRST, HEADLINE, INCORRECT, LARGEST, Answer, answer_of, record_of
from tests.traces import make_trace

PIECES = (b" Lisa", b" is", b" known", b" by", b" Mich")
QUESTION = "Who painted Lisa?"


def marked(token):
    fact = np.arange(len(PIECES)) == token
    return Marks(fact, fact, np.ones(len(PIECES), dtype=bool)), fact


@pytest.mark.parametrize(
    ("token", "hits"),
    [
        (0, {LARGEST: 1, HEADLINE: 0, ANY: 0, FIRST: 0}),
        (2, {LARGEST: 0, HEADLINE: 0, ANY: 0.25, FIRST: 1}),
        (4, {LARGEST: 0, HEADLINE: 1, ANY: 0.25, FIRST: 0}),
    ],
)
def test_each_rule_names_its_own_token(token, hits):
    trace = make_trace(PIECES, probabilities=[1e-4, 0.9, 0.9, 0.9, 0.01], prompt=QUESTION)
    marks, fact = marked(token)
    found = answer_of(trace, marks, fact, side=INCORRECT, question=QUESTION, cluster=0)
    assert found.hits == hits
    assert found.moved


def test_an_answer_of_other_words_has_its_largest_collapse_as_headline():
    trace = make_trace(PIECES, probabilities=[1e-4, 0.9, 0.9, 0.9, 0.01], prompt="Who?")
    marks, fact = marked(0)
    assert not answer_of(trace, marks, fact, side=INCORRECT, question="Who?", cluster=0).moved


def answers(side, *, largest, headline):
    rows = enumerate(zip(largest, headline, strict=True))
    return [
        Answer(side=side, cluster=row, hits={LARGEST: a, HEADLINE: b, ANY: 0.5, FIRST: 1.0}, moved=a != b)
        for row, (a, b) in rows
    ]


def test_the_table_and_the_finding_hold_the_shares_and_what_the_headline_changes():
    made = answers(INCORRECT, largest=[0] * 6 + [1] * 4, headline=[0] * 3 + [1] * 7)
    made += answers(CORRECT, largest=[0, 1] * 5, headline=[0, 1] * 5)
    record = record_of(made)
    rows = {row[:2]: row[2:] for row in record.rows}
    assert rows[INCORRECT, LARGEST][:2] == (10, 40.0)
    assert (rows[INCORRECT, HEADLINE][1], rows[INCORRECT, HEADLINE][4]) == (70.0, 30.0)
    assert (rows[CORRECT, HEADLINE][1], rows[CORRECT, HEADLINE][4]) == (50.0, 0.0)
    assert record.finding.startswith("Of 10 incorrect answers the headline falls on the incorrect fact in 70 %, the ")
    assert "incorrect: the headline differs in 3 answers." in record.notes
