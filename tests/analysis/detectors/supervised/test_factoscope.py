"""Training Factoscope on small images: a planted signal, shuffled labels, and how its rows are chosen and split."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from analysis.detectors.supervised.factoscope import (
    FULL,
    REDUCED,
    FactoscopeSettings,
    _chosen_rows,
    _others,
    _parts,
    fit,
    in_half_precision,
    search,
)
from analysis.stats import roc_auc
from rauq.detectors.factoscope import NUM_WEIGHTS, OTHERS
from rauq.errors import InvalidInput
from tests.labelled import halves_of, layer_answers, shuffled

SMALL = FactoscopeSettings(rows=60, columns=6, stages=1, epochs=2)


def answers(size, **options):
    return layer_answers(size, signal=6, others=OTHERS, **options)


def area(features, quality, held_out, settings=SMALL):
    detector = fit(features, quality, threshold=0.5, settings=settings)
    others, correct = held_out
    return roc_auc(np.array([detector.value(one) for one in others]), correct)


def test_a_planted_signal_is_found_and_shuffled_labels_are_not():
    known, held_out = halves_of(*answers(60, seed=1), 40)
    assert area(*known, held_out, replace(SMALL, epochs=3)) > 0.9
    known, held_out = halves_of(*answers(80, seed=1), 60)
    assert 0.2 < area(known[0], shuffled(known[1]), held_out) < 0.8


def test_stages_train_one_after_another_and_a_fit_repeats():
    features, quality = answers(20)
    settings = replace(SMALL, rows=16, stages=2, epochs=1)
    last = replace(settings, stages=1)
    all_stages, first, second = (fit(features, quality, threshold=0.5, settings=one) for one in (settings, last, last))
    np.testing.assert_array_equal(first.weights, second.weights)
    np.testing.assert_array_equal(first.correct, second.correct)
    assert first.weights.nbytes == 2 * NUM_WEIGHTS
    assert not np.array_equal(first.weights, all_stages.weights)


def test_support_and_answers_are_embedded_with_the_weights_that_are_kept():
    features, quality = answers(20)
    settings = replace(SMALL, rows=20, epochs=1)
    detector = fit(features, quality, threshold=0.5, settings=settings)
    found = np.concatenate([detector.embeddings(one) for one in features])
    support = np.concatenate([detector.correct, detector.incorrect])
    assert cdist(support, found).min(axis=1).max() < 1e-6  # rounding by half precision alone moves them by 1e-4


def test_weights_too_large_for_half_precision_are_kept_as_they_are():
    assert in_half_precision(np.array([1.0, 6e4], np.float32)).dtype == np.float16
    large = np.array([1.0, 7e4], np.float32)
    assert in_half_precision(large) is large


def test_the_settings_are_the_reduced_ones_or_those_of_the_port():
    features, quality = answers(20)
    assert search(features, quality, threshold=0.5) == REDUCED
    assert search(features, quality, threshold=0.5, full=True) == FULL


def test_rows_are_spread_over_the_answers():
    answer, token = _chosen_rows([5, 1, 3], 6, 0)
    assert np.bincount(answer).tolist() in ([2, 1, 3], [3, 1, 2])
    assert len(set(zip(answer.tolist(), token.tolist(), strict=True))) == 6
    answer, token = _chosen_rows([5, 1, 3], 100, 0)
    assert (answer.tolist(), token.tolist()) == ([0] * 5 + [1] + [2] * 3, [0, 1, 2, 3, 4, 0, 0, 1, 2])
    draws = [_chosen_rows([9, 9], 4, seed)[1].tolist() for seed in (0, 0, 1)]
    assert draws[0] == draws[1] != draws[2]


def test_training_development_and_support_share_no_answer():
    answer, correct = np.repeat(np.arange(50), 3), np.arange(50) < 10
    parts = list(_parts(answer, correct, 42))
    assert np.sum(parts, axis=0).tolist() == [1] * 150
    assert [len(set(answer[part])) for part in parts] == [32, 10, 8]
    assert [int(correct[answer[part]].sum()) for part in parts] == [18, 6, 6]
    assert not set(answer[parts[0]]) & set(answer[parts[1]])


def test_triplets_are_of_one_class_and_of_the_other():
    correct = np.random.default_rng(0).random(30) < 0.3
    anchors = np.arange(30).repeat(20)
    same, other = _others(anchors, correct, np.random.default_rng(1))
    np.testing.assert_array_equal(correct[same], correct[anchors])
    np.testing.assert_array_equal(correct[other], ~correct[anchors])
    assert set(same.tolist()) == set(other.tolist()) == set(range(30))


def test_equal_states_are_refused():
    features, quality = answers(20)
    for one in features:
        one[..., :-OTHERS] = 2.0
    with pytest.raises(InvalidInput, match="all hidden states are equal"):
        fit(features, quality, threshold=0.5, settings=SMALL)
