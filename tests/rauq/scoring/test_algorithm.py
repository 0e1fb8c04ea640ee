"""The selected heads, and the recurrence and its ablations against the formulas written out token by token."""

import numpy as np
import pytest

from rauq import InvalidInput
from rauq.scoring.algorithm import confidence_of, head_weights, select_heads, signal_of

MEANS = np.array([[[0.1, 0.5, 0.3], [0.7, 0.2, 0.7]]])  # one answer, layers 4 and 5, three heads
SIGNAL = np.array([0.9, 0.4, 0.7, 0.2, 0.8, 0.6, 0.5, 0.3])
ATTENTION = np.array([0.3, 0.6, 0.1, 0.5, 0.2, 0.9, 0.4])
ALPHA = 0.3


def test_the_head_with_the_largest_mean_is_selected_and_ties_go_to_the_lowest_index():
    assert select_heads(MEANS, (4, 5), "max").tolist() == [[[1], [0]]]


def test_top5_and_mean_rank_the_heads():
    assert select_heads(MEANS, (4, 5), "top5").tolist() == [[[1, 2, 0], [0, 2, 1]]]
    assert select_heads(MEANS, (4, 5), "mean").shape == (1, 2, 3)
    assert select_heads(np.linspace(0, 1, 8)[None, None], (0,), "top5").tolist() == [[[7, 6, 5, 4, 3]]]
    tied = np.tile([0.5, 0.9], 32)[None, None]
    assert select_heads(tied, (0,), "top5").tolist() == [[[1, 3, 5, 7, 9]]]


@pytest.mark.parametrize("rule", ["max", "top5", "mean"])
def test_a_head_whose_mean_is_unknown_is_never_passed_over(rule):
    means = np.linspace(0, 1, 8)[None, None].copy()
    means[..., 2] = np.nan
    assert select_heads(means, (0,), rule)[0, 0, 0] == 2


def test_fixed_heads_are_taken_as_named_whatever_their_order():
    assert select_heads(MEANS, (4, 5), ((5, 1), (9, 0), (4, 2))).tolist() == [[[2], [1]]]


def test_fixed_heads_must_cover_the_window_and_exist():
    with pytest.raises(InvalidInput, match="no head for layers 5 of the window"):
        select_heads(MEANS, (4, 5), ((4, 0),))
    with pytest.raises(InvalidInput, match="head 3; this model has heads 0 to 2"):
        select_heads(MEANS, (4, 5), ((4, 0), (5, 3)))


def test_weights_are_those_of_the_selected_heads():
    attention = np.arange(2 * 3 * 4 * 2).reshape(2, 3, 4, 2)  # (A, L, H, N - 1)
    picked = np.array([[[1], [3]], [[0], [2]]])
    weights = head_weights(attention, np.array([2, 0]), picked)
    assert weights.shape == (2, 2, 1, 2)
    assert weights[0, 0, 0].tolist() == attention[0, 2, 1].tolist()
    assert weights[1, 1, 0].tolist() == attention[1, 0, 2].tolist()


def mean_so_far(i):
    return ATTENTION[:i].mean()


def mean_of_last_five(i):
    return ATTENTION[max(0, i - 5) : i].mean()


STEPS = {  # what comes after alpha * s_i, from token i, its weight a and the confidence before it
    "rauq": lambda i, a, c: (1 - ALPHA) * a * c,
    "no_attention": lambda i, a, c: (1 - ALPHA) * c,
    "no_recurrence": lambda i, a, c: (1 - ALPHA) * a,
    "previous_probability": lambda i, a, c: (1 - ALPHA) * a * SIGNAL[i - 1],
    "minus_mean": lambda i, a, c: (1 - ALPHA) * (a - mean_so_far(i)) * c,
    "minus_recent_mean": lambda i, a, c: (1 - ALPHA) * (a - mean_of_last_five(i)) * c,
    "ratio_to_mean": lambda i, a, c: (1 - ALPHA) * a / (mean_so_far(i) + 1e-10) * c,
}


@pytest.mark.parametrize("update", STEPS)
def test_each_update_is_its_formula(update):
    expected = [SIGNAL[0]]
    for i in range(1, len(SIGNAL)):
        expected.append(ALPHA * SIGNAL[i] + STEPS[update](i, ATTENTION[i - 1], expected[-1]))
    np.testing.assert_allclose(confidence_of(SIGNAL, ATTENTION, alpha=ALPHA, update=update), expected, rtol=1e-13)


def test_product_multiplies_and_ignores_alpha():
    expected = [SIGNAL[0], *SIGNAL[1:] * ATTENTION]
    np.testing.assert_allclose(confidence_of(SIGNAL, ATTENTION, alpha=ALPHA, update="product"), expected)


@pytest.mark.parametrize("update", ["mean_product", "mean_sum"])
def test_means_of_logarithms_have_no_confidence(update):
    assert np.isnan(confidence_of(SIGNAL, ATTENTION, alpha=ALPHA, update=update)).all()


@pytest.mark.parametrize("update", [*STEPS, "product"])
def test_answers_and_layers_run_side_by_side(update):
    rng = np.random.default_rng(0)
    signal, attention = rng.random((3, 1, 6)), rng.random((3, 4, 5))
    together = confidence_of(signal, attention, alpha=ALPHA, update=update)
    assert together.shape == (3, 4, 6)
    for answer, layer in np.ndindex(3, 4):
        alone = confidence_of(signal[answer, 0], attention[answer, layer], alpha=ALPHA, update=update)
        np.testing.assert_array_equal(together[answer, layer], alone)


@pytest.mark.parametrize("update", [*STEPS, "product"])
def test_one_token_is_its_signal(update):
    assert confidence_of(SIGNAL[:1], ATTENTION[:0], alpha=ALPHA, update=update).tolist() == [SIGNAL[0]]


def test_probability_is_the_exponential_of_the_logprob():
    assert signal_of(np.log([0.25, 1.0]), np.zeros(2), None, "probability").tolist() == [0.25, 1.0]


def test_entropy_signal_is_the_distance_to_the_largest_entropy():
    entropies = np.array([0.0, 1.0, np.log(1000)])
    signal = signal_of(np.zeros(3), entropies, 1000, "entropy")
    np.testing.assert_allclose(signal, [np.log(1000), np.log(1000) - 1, 1e-10], rtol=1e-9)


def test_an_entropy_rounded_above_the_largest_keeps_a_logarithm():
    above = np.array([np.log(1000) + 1e-6], np.float32)
    assert signal_of(above, above, 1000, "entropy").tolist() == [1e-10]


def test_entropy_signal_needs_the_width_of_the_logits():
    with pytest.raises(InvalidInput, match="vocab_size"):
        signal_of(SIGNAL, SIGNAL, None, "entropy")
