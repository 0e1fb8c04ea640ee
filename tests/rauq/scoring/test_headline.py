"""Which token stands for an answer: its largest collapse, unless that is a word of the question."""

from dataclasses import replace

import pytest

from rauq.recorded.answers import load_recorded
from rauq.scoring import report
from rauq.scoring.headline import LARGEST_HOLD, headline_token, of_question
from rauq.scoring.score import collapse_token, score
from rauq.scoring.settings import Settings
from rauq.scoring.surprisal import score_surprisal
from rauq.trace.prompt_parts import PromptPart
from tests.traces import make_trace

PIECES = (b" Mon", b"a", b" Lis", b"a", b" is", b" by", b" Mich", b"el", b".")
QUESTION = "Who painted the Mona Lisa?"
MICH, MON = 6, 0


def mona_lisa(invented=0.01, echo=1e-4, **changes):
    probabilities = [echo, 0.9, 0.9, 0.9, 0.9, 0.9, invented, 0.9, 0.9]
    return make_trace(PIECES, probabilities=probabilities, **{"prompt": QUESTION} | changes)


def test_a_word_of_the_question_gives_way_to_the_invented_name():
    trace = mona_lisa()
    found = score(trace)
    assert collapse_token(trace, found) == MON
    assert headline_token(trace, found) == MICH
    assert report.weak_points(trace, found)[:2] == (MON, MICH)
    assert report.collapse(trace, found).token == MON
    headline, detail = report.sentence_halves(trace, found)
    assert headline == f"Confidence collapsed at token {MICH}, “·Mich”"
    assert detail.endswith(
        f" The largest collapse, {found.collapse[MON]:.2f} nats, is at token {MON}, “·Mon”, a word of the question."
    )


def test_it_stands_where_no_other_token_is_weak():
    trace = mona_lisa(invented=0.9)
    found = score(trace)
    assert headline_token(trace, found) == MON
    headline, detail = report.sentence_halves(trace, found)
    assert headline == f"Confidence collapsed at token {MON}, “·Mon”"
    assert detail.endswith(" This is a word of the question.")


def test_a_dip_beside_a_collapsed_word_of_the_question_is_not_called_the_largest():
    trace = mona_lisa(invented=0.4)
    found = score(trace, Settings(alpha=1.0))
    assert LARGEST_HOLD < found.collapse[MICH] < report.SMALLEST_COLLAPSE
    assert report.sentence(trace, found).startswith("Besides words of the question, confidence dips most at token 6")


def test_the_largest_stands_if_it_is_no_word_of_the_question():
    trace = mona_lisa(prompt="Who painted it?")
    assert headline_token(trace, score(trace)) == MON
    assert "of the question" not in report.sentence(trace, score(trace))


def test_a_document_is_no_question():
    prompt = "The Mona Lisa hangs in Paris. Who painted it?"
    trace = mona_lisa(prompt=prompt)
    assert of_question(trace)[MON]
    ids = trace.prompt_ids
    marked = replace(
        trace, prompt_parts=(PromptPart("document", 0, len(ids)),), part_texts=("The Mona Lisa hangs in Paris.",)
    )
    assert not of_question(marked).any()
    assert of_question(replace(marked, prompt_parts=(PromptPart("example", 0, len(ids)),)))[MON]
    assert of_question(replace(marked, part_texts=())).any()


def test_by_surprisal_the_largest_stands():
    trace = mona_lisa(prompt="Mona Lisa is by Michel, or not?")
    found = score_surprisal(trace)
    assert headline_token(trace, found) == collapse_token(trace, found)


@pytest.mark.parametrize("recorded", load_recorded(), ids=lambda one: one.id)
def test_a_headline_names_the_first_weak_token_that_is_no_word_of_the_question(recorded):
    trace = recorded.trace()
    found, asked = score(trace), of_question(trace)
    points = report.weak_points(trace, found, most=len(asked))
    token = report.headline_point(trace, found).token
    assert token in points
    assert asked[list(points[: points.index(token)])].all()
    assert not asked[token] or (token == points[0] and asked[list(points)].all())
    assert points[:3] == report.weak_points(trace, found)
