"""Where an answer begins to repeat itself until its end, and the answer without that."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rauq
from rauq.trace.loops import FEWEST_TIMES, FEWEST_TOKENS, loop_start, repeats_from, without_loop
from rauq.trace.parts import first_tokens
from tests.answers import random_trace
from tests.traces import make_trace


@given(
    before=st.lists(st.integers(10, 99), max_size=9),
    unit=st.lists(st.integers(0, 9), min_size=1, max_size=6, unique=True),
    times=st.integers(FEWEST_TIMES, 20),
    rest=st.integers(0, 5),
)
def test_a_loop_begins_where_its_tokens_come_the_second_time(before, unit, times, rest):
    rest = min(rest, len(unit) - 1)
    ids = [*before, *unit * times, *unit[:rest]]
    is_long = len(unit) * times + rest >= FEWEST_TOKENS
    assert repeats_from(ids) == (len(before) + len(unit) if is_long else None)


@given(st.lists(st.integers(0, 99), unique=True, max_size=60))
def test_tokens_that_all_differ_are_no_loop(ids):
    assert repeats_from(ids) is None


@pytest.mark.parametrize("ids", [[1, 2] * 3, [7] * 11, [1, 2, 3, 4, 5, 6] * 2, [5] * 20 + [6, 7]])
def test_a_short_repetition_two_times_the_same_or_one_that_ends_is_no_loop(ids):
    assert repeats_from(ids) is None


def looping(times=20, **changes):
    pieces = (b"The", b" date", b" is", *(b" historic",) * times)
    ids = np.array([1, 2, 3, *(4,) * times])
    return make_trace(pieces, answer_ids=ids, **changes)


def test_an_end_token_may_follow_a_loop():
    trace = make_trace((b"a", *(b" b",) * 15, b""), answer_ids=np.array([1, *(2,) * 15, 0]), stop_reason="eos")
    assert loop_start(trace) == 2
    assert loop_start(looping(stop_reason="length")) == 4


def test_the_answer_without_its_loop_has_the_score_of_one_that_the_limit_ended_there():
    trace = looping(stop_reason="length", num_layers=6)
    short = without_loop(trace)
    assert short.answer == "The date is historic"
    assert short.stop_reason == "length"
    whole, cut = rauq.score(trace), rauq.score(short)
    np.testing.assert_array_equal(cut.signal, whole.signal[:4])
    weights = trace.previous_token_attention()[:, :, :3]
    np.testing.assert_array_equal(short.previous_token_attention(), weights)
    plain = random_trace(9)
    assert without_loop(plain) is plain


def test_the_first_tokens_of_a_given_answer_are_given_and_thinking_ends_with_them():
    trace = make_trace((b"a", b"b", b"c", b"d"), stop_reason="given", thinking=(0, 3), wrong=(1, 3))
    short = first_tokens(trace, 2)
    assert (short.stop_reason, short.thinking, short.wrong) == ("given", (0, 2), (1,))
    assert first_tokens(make_trace((b"a", b"b", b"c"), thinking=(2, 3)), 1).thinking is None
