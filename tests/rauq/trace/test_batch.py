"""Traces side by side: shapes, padding, head means, and traces that cannot be combined."""

import numpy as np
import pytest

import rauq
from rauq import InvalidInput, NotCaptured, batch
from rauq.trace.batch import similar_lengths
from tests.answers import random_trace

TRACES = [random_trace(n, seed=n) for n in (5, 1, 3)]


@pytest.mark.parametrize("alignment", ["predicting", "own"])
def test_a_batch_holds_each_trace_and_nan_behind_it(alignment):
    answers = batch(TRACES, alignment)
    assert answers.attention.shape == (3, 6, 4, 4)
    assert answers.attention.dtype == np.float32
    assert answers.lengths.tolist() == [5, 1, 3]
    for i, trace in enumerate(TRACES):
        gaps = len(trace.answer_ids) - 1
        np.testing.assert_array_equal(answers.attention[i, ..., :gaps], trace.previous_token_attention(alignment))
        np.testing.assert_array_equal(answers.logprobs[i, : gaps + 1], trace.logprobs)
        np.testing.assert_array_equal(answers.entropies[i, : gaps + 1], trace.entropies)
        assert np.isnan(answers.attention[i, ..., gaps:]).all()
        assert np.isnan(answers.logprobs[i, gaps + 1 :]).all()


@pytest.mark.parametrize("layers", [(0, 1, 2, 3, 4, 5), (2, 3), (5, 1)])
def test_head_means_are_over_the_answer_alone_and_kept(layers):
    answers = batch(TRACES)
    for means, trace in zip(answers.head_means(layers)[[0, 2]], (TRACES[0], TRACES[2]), strict=True):
        weights = trace.previous_token_attention()[list(layers)].astype(np.float64)
        np.testing.assert_allclose(means, weights.mean(axis=-1), rtol=1e-14)
    assert np.isnan(answers.head_means(layers)[1]).all()
    assert answers.head_means(layers) is answers.head_means(layers)


def test_a_failure_is_refused_by_its_position_and_can_be_left_out():
    outcomes = [TRACES[0], rauq.Failure(1, InvalidInput("The prompt is empty.")), TRACES[2]]
    with pytest.raises(InvalidInput, match=r"item 1 counted from 0 \(The prompt is empty\.\)\. Leave failures out"):
        batch(outcomes)
    assert batch([item for item in outcomes if isinstance(item, rauq.Trace)]).lengths.tolist() == [5, 3]


def test_an_item_other_than_a_trace_is_named_with_its_position():
    with pytest.raises(InvalidInput, match="Got str among the traces, item 2 counted from 0"):
        batch([TRACES[0], TRACES[1], "text"])


def test_an_empty_batch_raises():
    with pytest.raises(InvalidInput, match="at least one trace"):
        batch([])


@pytest.mark.parametrize(
    "other",
    [
        {"num_layers": 5},
        {"num_heads": 3},
        {"layers": (0, 1, 2, 3, 4, 5), "num_layers": 12},
        {"vocab_size": 101},
        {"kind": "instruct"},
        {"model": "another"},
        {"revision": "another"},
    ],
)
def test_traces_of_different_models_raise(other):
    with pytest.raises(InvalidInput, match="different models"):
        batch([random_trace(3), random_trace(3, **other)])


def test_the_own_alignment_needs_the_last_row():
    trace = random_trace(3)
    attention = trace.attention.copy()
    attention[:, :, -1] = np.nan
    with pytest.raises(NotCaptured, match="last_row=True"):
        batch([random_trace(3, attention=attention)], alignment="own")


def test_an_unknown_alignment_raises():
    with pytest.raises(InvalidInput, match="predicting, own"):
        batch(TRACES, alignment="next")


def test_models_of_one_shape_differ_by_name():
    with pytest.raises(InvalidInput, match=r"'first', 'r1'.*'second', 'r2'"):
        batch(
            [random_trace(3, model=name, revision=revision) for name, revision in (("first", "r1"), ("second", "r2"))]
        )


@pytest.mark.parametrize("rows", [np.array([2, 0]), slice(1, 3)])
def test_taking_answers_keeps_theirs_alone(rows):
    answers = batch(TRACES)
    answers.head_means((0, 1))
    taken, chosen = answers.take(rows), np.arange(3)[rows]
    assert taken.lengths.tolist() == answers.lengths[chosen].tolist()
    for name in ("attention", "logprobs", "entropies"):
        np.testing.assert_array_equal(getattr(taken, name), getattr(answers, name)[chosen])
    np.testing.assert_array_equal(taken.head_means((0, 1)), answers.head_means((0, 1))[chosen])


@pytest.mark.parametrize(
    ("lengths", "sizes"),
    [
        ([60] * 2000, [2000]),
        ([60] * 1999 + [1024], [1999, 1]),
        ([1024] * 300, [128, 128, 44]),
        ([10, 12, 13, 8], [2, 2]),
        ([1, 2, 3], [1, 1, 1]),
    ],
)
def test_blocks_hold_answers_of_similar_length_and_not_too_many(lengths, sizes):
    blocks = similar_lengths(np.array(lengths))
    assert [len(own) for own in blocks] == sizes
    assert sorted(np.concatenate(blocks)) == list(range(len(lengths)))
