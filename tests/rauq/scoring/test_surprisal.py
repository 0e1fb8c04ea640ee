"""The surprisal of an answer that a model reads: its values, what is compared, and the largest."""

import json
from dataclasses import replace

import numpy as np
import pytest

from rauq.scoring.report import as_json, compared_span, sentence_halves, was_given, weak_points
from rauq.scoring.score import collapse_token, score
from rauq.scoring.settings import Settings
from rauq.scoring.surprisal import compared_tokens, score_surprisal, surprisal, token_surprisals
from rauq.trace.trace import Alternative
from tests.traces import make_trace

HAMLET = (b"Ham", b"let", b" was", b" written", b" by", b" Charles", b" Dick", b"ens", b".")
PROBABILITIES = (1e-6, 0.9, 0.01, 0.5, 0.9, 1e-3, 0.1, 0.9, 0.2)
QUESTION = "Who wrote Hamlet?"


def read(pieces=HAMLET, probabilities=PROBABILITIES, **changes):
    return make_trace(pieces, probabilities=probabilities, **({"prompt": QUESTION, "stop_reason": "given"} | changes))


def test_the_largest_surprisal_is_that_of_a_name_that_the_question_lacks():
    found = surprisal(read())
    assert (found.token, found.unit) == (5, "name or number")
    assert found.uncertainty == pytest.approx(-np.log(1e-3))
    assert np.flatnonzero(found.compared).tolist() == [5, 6, 7]


def test_the_first_token_is_judged_by_what_usually_begins_an_answer():
    logprobs, entropies = np.log([0.01, 0.01]), np.array([3.0, 2.0])
    assert token_surprisals(logprobs, entropies) == pytest.approx([np.log(100) - 3, np.log(100)])
    surprised = read((b"Paris", b" it", b" is"), (0.01, 0.9, 0.9), entropies=np.array([4.0, 0, 0]), prompt="Where?")
    assert surprisal(surprised).uncertainty == pytest.approx(np.log(100) - 4)


@pytest.mark.parametrize(
    ("texts", "unit", "compared"),
    [
        (("It", " is", " Oslo", "."), "name or number", [2]),
        (("It", " is", " in", " 19", "12"), "name or number", [3, 4]),
        (("It", " is", " gold", "."), "word", [2]),
        (("It", " is", "."), "word", [0, 1]),
        (("...", "!"), "token", [0, 1]),
    ],
)
def test_names_come_before_content_words_and_these_before_function_words(texts, unit, compared):
    found, tokens = compared_tokens(texts, "Which one?")
    assert (found, np.flatnonzero(tokens).tolist()) == (unit, compared)


def test_weak_points_are_names_by_their_surprisal():
    pieces = (b"From", b" Os", b"lo", b" to", b" Rome", b" by", b" 19", b"12")
    trace = read(pieces, (0.9, 0.01, 0.02, 0.9, 0.2, 0.9, 0.05, 0.1))
    assert weak_points(trace, score_surprisal(trace)) == (1, 6, 4)


def test_a_name_of_several_tokens_is_one_weak_point():
    pieces = (b"By", b" Char", b"les", b" Dick", b"ens", b" in", b" 19", b"12")
    trace = read(pieces, (0.9, 0.001, 0.5, 0.01, 0.5, 0.9, 0.1, 0.1))
    assert weak_points(trace, score_surprisal(trace)) == (1, 6)


def test_thinking_is_not_compared():
    found = surprisal(read(thinking=(0, 7)))
    assert np.isnan(found.values[:7]).all()
    assert not found.compared[:7].any()


def test_an_undefined_value_has_a_reason_and_no_rank():
    unknown = read(probabilities=(*PROBABILITIES[:6], np.nan, *PROBABILITIES[7:]))
    found = surprisal(unknown)
    assert (np.isnan(found.uncertainty), found.token, bool(found.reason)) == (True, None, True)
    elsewhere = read(probabilities=(*PROBABILITIES[:3], np.nan, *PROBABILITIES[4:]))
    assert surprisal(elsewhere).token == 5


def as_if_most_probable(trace, tokens):
    rows = [(Alternative(int(id_) + (place not in tokens), "a", -0.1),) for place, id_ in enumerate(trace.answer_ids)]
    return replace(trace, alternatives=tuple(rows))


@pytest.mark.parametrize(
    ("stop_reason", "improbable", "given"),
    [("given", 0, True), ("eos", 0, False), ("eos", 1, False), ("eos", 3, True), ("length", 3, False)],
)
def test_a_given_answer_is_told_from_a_branch_that_the_model_went_on_with(stop_reason, improbable, given):
    trace = as_if_most_probable(read(stop_reason=stop_reason), range(improbable, len(HAMLET)))
    assert was_given(trace) is given


def test_the_score_by_surprisal_holds_the_compared_surprisals_and_no_layer():
    trace = read()
    found, own = score_surprisal(trace), surprisal(trace)
    assert (found.by, found.layer, found.uncertainty) == ("surprisal", None, own.uncertainty)
    assert np.flatnonzero(~np.isnan(found.collapse)).tolist() == [5, 6, 7]
    assert found.contributions.sum() == pytest.approx(found.uncertainty)
    assert found.collapse_shares[5:8].sum(axis=1) == pytest.approx(found.collapse[5:8])
    assert collapse_token(trace, found) == own.token
    assert found.confidence[0] == pytest.approx(np.array(PROBABILITIES))
    assert compared_span(found, 6) == (5, 8)


def test_sentences_and_json_name_the_word_and_no_layer():
    trace = read()
    found = score_surprisal(trace)
    headline, detail = sentence_halves(trace, found)
    assert headline == "Most surprising: “Charles Dickens”"
    assert "6.91 nats at token 5" in detail
    assert "layer" not in detail
    record = as_json(trace, found)
    assert (record["scored_by"], record["layer"], record["collapse_at"]["token"]) == ("surprisal", None, 5)
    assert "no layer" in record["undefined"]["layer"]
    json.dumps(record, allow_nan=False)


def test_the_score_by_default_stays_the_papers():
    assert score(read()).by == "rauq"
    assert score(read()).settings == score(read(), Settings()).settings
