"""The surprisal of an answer that a model reads: its values, what is compared, and the largest."""

from dataclasses import replace

import numpy as np
import pytest

from rauq.scoring.surprisal import compared_tokens, is_written, surprisal, token_surprisals
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
    assert found.span(6) == (5, 8)


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


def test_the_most_surprising_tokens_are_of_different_names():
    pieces = (b"From", b" Os", b"lo", b" to", b" Rome", b" by", b" 19", b"12")
    found = surprisal(read(pieces, (0.9, 0.01, 0.02, 0.9, 0.2, 0.9, 0.05, 0.1)))
    assert found.most_surprising() == (1, 6, 4)
    assert found.most_surprising(most=1) == (found.token,)


def test_thinking_is_not_compared():
    found = surprisal(read(thinking=(0, 7)))
    assert np.isnan(found.values[:7]).all()
    assert not found.compared[:7].any()


def test_an_undefined_value_has_a_reason_and_no_rank():
    unknown = read(probabilities=(*PROBABILITIES[:6], np.nan, *PROBABILITIES[7:]))
    found = surprisal(unknown)
    assert (np.isnan(found.uncertainty), found.token, bool(found.reason)) == (True, None, True)
    assert found.most_surprising() == ()
    elsewhere = read(probabilities=(*PROBABILITIES[:3], np.nan, *PROBABILITIES[4:]))
    assert surprisal(elsewhere).token == 5


def as_if_most_probable(trace, tokens):
    rows = [(Alternative(int(id_) + (place not in tokens), "a", -0.1),) for place, id_ in enumerate(trace.answer_ids)]
    return replace(trace, alternatives=tuple(rows))


@pytest.mark.parametrize(
    ("stop_reason", "improbable", "written"),
    [("given", 0, True), ("eos", 0, False), ("eos", 1, False), ("eos", 3, True), ("length", 3, False)],
)
def test_a_given_answer_is_told_from_a_branch_that_the_model_went_on_with(stop_reason, improbable, written):
    trace = as_if_most_probable(read(stop_reason=stop_reason), range(improbable, len(HAMLET)))
    assert is_written(trace) is written
