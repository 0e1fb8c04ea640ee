"""Fitting TAD: against a slow implementation of its own, on a planted signal, on shuffled labels."""

import numpy as np
import pytest
from sklearn.model_selection import KFold

from analysis.detectors.supervised.tad import ALPHAS, TadSettings, fit, search
from analysis.stats import roc_auc
from rauq.errors import InvalidInput
from tests.labelled import OFFSETS, halves_of, shuffled, tad_answers

WAYS = {"mean": lambda g: -np.mean(g), "sum_log": lambda g: -np.sum(np.log(g + 1e-5))}


def slow_row(one, g, t):
    """One row as the formula sheet writes it, each offset in turn."""
    row = [one[t, 0, -1]]
    for n in range(1, OFFSETS + 1):
        if n > t:
            row += [0.0] * (one.shape[2] + 2)
        else:
            row += [*one[t, n - 1, :-1], one[t - n, 0, -1], g[t - n], one[t, 0, -1] * g[t - n]]
    return row


def slow_ridge(rows, targets, alpha):
    """Least squares with a row of sqrt(alpha) for each column."""
    rows, targets = np.array(rows), np.array(targets)
    penalty = np.sqrt(alpha) * np.eye(rows.shape[1])
    above = np.vstack([rows - rows.mean(axis=0), penalty])
    weights = np.linalg.lstsq(above, np.append(targets - targets.mean(), np.zeros(len(penalty))))[0]
    return weights, targets.mean() - rows.mean(axis=0) @ weights


def slow_values(one, model):
    g = [one[0, 0, -1]]
    for t in range(1, len(one)):
        g.append(min(1.0, max(0.0, float(np.dot(slow_row(one, g, t), model[0]) + model[1]))))
    return np.array(g)


def slow_fit(features, quality, given, alpha):
    rows = [slow_row(one, g, t) for one, g in zip(features, given, strict=True) for t in range(1, len(one))]
    return slow_ridge(rows, [q for one, q in zip(features, quality, strict=True) for _ in one[1:]], alpha)


def slow_unseen(features, quality, given, alpha):
    found = {}
    for inside, outside in KFold(5, shuffle=True, random_state=1).split(features):
        model = slow_fit(*([values[i] for i in inside] for values in (features, quality, given)), alpha)
        found |= {i: slow_values(features[i], model) for i in outside}
    return [found[i] for i in range(len(features))]


def slow_area(uncertainty, quality):
    scaled = (quality - quality.min()) / (quality.max() - quality.min())
    ranked = scaled[np.argsort(uncertainty, kind="stable")]
    return np.mean([ranked[:i].mean() for i in range(1, len(ranked) + 1)])


def slow_best(features, quality, given):
    found = []
    for alpha in ALPHAS:
        unseen = slow_unseen(features, quality, given, alpha)
        for name, way in WAYS.items():
            scores = np.array([way(g) for g in unseen])
            parts = [outside for _, outside in KFold(5, shuffle=True, random_state=1).split(features)]
            found.append((np.mean([slow_area(scores[part], quality[part]) for part in parts]), alpha, name))
    return max(found, key=lambda one: one[0])[1:]


@pytest.fixture(scope="module")
def answers():
    features, _ = tad_answers(45, seed=4)
    return features, np.random.default_rng(5).uniform(0, 1, 45)


@pytest.fixture(scope="module")
def settings(answers):
    return search(*answers, threshold=0.5)


def test_the_search_chooses_what_the_slow_one_does(answers, settings):
    features, quality = answers
    of_quality = [np.full(len(one), q) for one, q in zip(features, quality, strict=True)]
    first, _ = slow_best(features, quality, of_quality)
    second = slow_best(features, quality, slow_unseen(features, quality, of_quality, first))
    assert settings == TadSettings(first_alpha=first, alpha=second[0], aggregation=second[1])


@pytest.mark.parametrize("alphas", [None, (1e-4, 0.01), (10.0, 1e-4)])
@pytest.mark.parametrize("aggregation", WAYS)
def test_the_fit_is_that_of_the_slow_one(answers, settings, alphas, aggregation):
    features, quality = answers
    first, second = alphas or (settings.first_alpha, settings.alpha)
    chosen = TadSettings(first_alpha=first, alpha=second, aggregation=aggregation)
    found = fit(*answers, threshold=0.5, settings=chosen)
    of_quality = [np.full(len(one), q) for one, q in zip(features, quality, strict=True)]
    model = slow_fit(features, quality, slow_unseen(features, quality, of_quality, first), second)
    for one in [*features[:10], *tad_answers(10, seed=9)[0]]:
        expected = slow_values(one, model)
        np.testing.assert_allclose(found.token_values(one), expected, rtol=0, atol=1e-8)
        assert found.value(one) == pytest.approx(WAYS[aggregation](expected), abs=1e-8)


def test_a_planted_signal_is_found_and_shuffled_labels_are_not():
    (features, quality), (others, correct) = halves_of(*tad_answers(200, seed=1, least=3), 100)
    areas = []
    for labels in (quality, shuffled(quality)):
        detector = fit(features, labels, threshold=0.5, settings=search(features, labels, threshold=0.5))
        areas.append(roc_auc(np.array([detector.value(one) for one in others]), correct))
    assert areas[0] > 0.95
    assert 0.3 < areas[1] < 0.7


def test_answers_of_one_token_are_scored_but_do_not_suffice():
    features, quality = tad_answers(40, seed=2)
    settings = TadSettings(first_alpha=1.0, alpha=1.0, aggregation="mean")
    assert fit(features, quality, threshold=0.5, settings=settings).value(features[0][:1]) == -features[0][0, 0, -1]
    with pytest.raises(InvalidInput, match="hardly any answer has two tokens"):
        fit([one[:1] for one in features], quality, threshold=0.5, settings=settings)
