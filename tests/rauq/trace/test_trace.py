"""A trace cannot change, and gives the attention that each alignment names."""

from dataclasses import replace

import numpy as np
import pytest

from rauq.errors import InvalidInput, NotCaptured
from rauq.trace.trace import NUM_BANDS, Alternative, Trace
from tests.traces import make_trace

ARRAYS = ("prompt_ids", "answer_ids", "logprobs", "entropies", "attention")


def numbered_trace(num_answer, num_prompt, **changes):
    """Row r and band k of layer l and head h hold 1000 l + 100 h + 10 r + k: each weight says where it is from."""
    layer, head, row, band = np.indices((2, 3, num_answer + 1, NUM_BANDS))
    attention = (1000 * layer + 100 * head + 10 * row + band).astype(np.float32)
    attention[num_prompt - 1 + row < band] = np.nan
    changes = {"attention": attention, "prompt_ids": np.arange(num_prompt)} | changes
    return make_trace((b"x",) * num_answer, num_layers=2, num_heads=3, **changes)


def test_a_trace_without_tokens_is_refused():
    with pytest.raises(InvalidInput, match="answer_ids is empty"):
        make_trace(())


def test_greedy_answers_are_reproduced_by_the_prompt_alone():
    greedy = tuple((Alternative(token, "a", -0.1), Alternative(9, "b", -3.0)) for token in range(3))
    assert make_trace(alternatives=greedy).is_greedy is True
    for changes in ({"stop_reason": "given"}, {"stop_reason": "cancelled"}, {"alternatives": greedy[::-1]}):
        assert make_trace(**({"alternatives": greedy} | changes)).is_greedy is False
    assert make_trace(alternatives=((),) * 3).is_greedy is False


def test_nothing_in_a_trace_can_change(tmp_path):
    made = make_trace(extras={"another": np.ones(3)})
    made.save(tmp_path / "t")
    for trace in (made, Trace.load(tmp_path / "t")):
        for array in (*(getattr(trace, name) for name in ARRAYS), *trace.extras.values()):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1
        with pytest.raises(AttributeError):
            trace.prompt = "another"
        with pytest.raises(TypeError):
            trace.extras["new"] = np.ones(1)


# numbered_trace: row M - 1 + r is worth 10 r, band k is worth k. The query that predicts token t (0-based) is row t,
# the token's own query is row t + 1.
@pytest.mark.parametrize("offset", range(1, 9))
def test_predicting_reads_the_row_before_the_token(offset):
    num_answer = 12
    weights = numbered_trace(num_answer, 20).previous_token_attention("predicting", offset, into_prompt=True)
    tokens = np.arange(1, num_answer)
    np.testing.assert_array_equal(weights[1, 2], 1200 + 10 * tokens + offset - 1)


@pytest.mark.parametrize("offset", range(1, 8))
def test_own_reads_the_row_of_the_token(offset):
    num_answer = 12
    weights = numbered_trace(num_answer, 20).previous_token_attention("own", offset, into_prompt=True)
    tokens = np.arange(1, num_answer)
    np.testing.assert_array_equal(weights[1, 2], 1200 + 10 * (tokens + 1) + offset)


@pytest.mark.parametrize("alignment", ["predicting", "own"])
@pytest.mark.parametrize("offset", range(1, 8))
def test_columns_whose_key_lies_in_the_prompt_are_nan_unless_asked_for(alignment, offset):
    trace = numbered_trace(12, 20)
    inside = trace.previous_token_attention(alignment, offset)
    everything = trace.previous_token_attention(alignment, offset, into_prompt=True)
    first_token_with_key_in_answer = offset  # token t looks at token t - offset
    hidden = first_token_with_key_in_answer - 1  # columns start with token 1
    assert np.isnan(inside[:, :, :hidden]).all()
    np.testing.assert_array_equal(inside[:, :, hidden:], everything[:, :, hidden:])
    assert np.isfinite(everything).all()


def test_keys_before_the_sequence_stay_nan():
    weights = numbered_trace(5, 2).previous_token_attention("predicting", 4, into_prompt=True)
    assert np.isnan(weights[0, 0]).tolist() == [True, False, False, False]


@pytest.mark.parametrize("alignment", ["predicting", "own"])
def test_one_token_has_no_previous_one(alignment):
    assert numbered_trace(1, 3).previous_token_attention(alignment).shape == (2, 3, 0)


def test_two_tokens_have_one_column():
    trace = numbered_trace(2, 3)
    np.testing.assert_array_equal(trace.previous_token_attention()[0, 0], [10])
    np.testing.assert_array_equal(trace.previous_token_attention("own")[0, 0], [21])


def test_own_needs_the_last_row_and_says_how_to_get_it():
    attention = numbered_trace(3, 5).attention.copy()
    attention[:, :, -1] = np.nan
    trace = numbered_trace(3, 5, attention=attention)
    assert np.isfinite(trace.previous_token_attention("predicting")).all()
    with pytest.raises(NotCaptured, match=r"last_row=True.*lm\.read"):
        trace.previous_token_attention("own")


@pytest.mark.parametrize(
    ("alignment", "offset", "says"),
    [
        ("predicting", 0, "from 1 to 8"),
        ("predicting", 9, "from 1 to 8"),
        ("own", -1, "from 1 to 7"),
        ("own", 8, "from 1 to 7"),
        ("previous", 1, "choose one of predicting, own"),
        (None, 1, "choose one of predicting, own"),
    ],
)
def test_an_offset_beyond_the_band_is_refused(alignment, offset, says):
    with pytest.raises(InvalidInput, match=says):
        numbered_trace(3, 5).previous_token_attention(alignment, offset)


def test_previous_token_attention_is_a_copy():
    trace = numbered_trace(3, 5)
    before = trace.attention.copy()
    trace.previous_token_attention("predicting", 2)[:] = 7
    np.testing.assert_array_equal(trace.attention, before)


def test_the_arrays_that_a_trace_is_made_of_stay_writeable():
    given = {"attention": numbered_trace(3, 5).attention.copy(), "logprobs": np.array([-1.0, -2.0, -3.0])}
    given["extras"] = {"another": np.ones(3)}
    trace = make_trace(**given, num_layers=2, num_heads=3)
    for array in (given["attention"], given["logprobs"], given["extras"]["another"]):
        assert array.flags.writeable
    assert np.shares_memory(trace.attention, given["attention"])


def test_into_prompt_may_be_given_by_position():
    trace = numbered_trace(12, 20)
    by_name = trace.previous_token_attention("own", 3, into_prompt=True)
    np.testing.assert_array_equal(trace.previous_token_attention("own", 3, True), by_name)


def test_tokens_are_marked_as_wrong():
    trace = make_trace()
    assert trace.wrong == ()
    assert replace(trace, wrong=(0, 2)).wrong == (0, 2)


@pytest.mark.parametrize("wrong", [(3,), (-1,), (1, 0), (1, 1), (1.0,), (True,), ("1",), [1], None, 1, ([1],)])
def test_marks_that_name_no_token_are_refused(wrong):
    with pytest.raises(InvalidInput, match=r"wrong is .* not a tuple of ascending numbers below 3"):
        make_trace(wrong=wrong)
