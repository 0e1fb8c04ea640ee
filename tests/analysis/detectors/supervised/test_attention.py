"""Fitting LookBackLens as scikit-learn does; TAD against a slow implementation, on planted and on shuffled labels."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

from analysis.detectors.supervised.attention import (
    ALPHAS,
    TadSettings,
    fit_lookback_lens,
    fit_tad,
    search_lookback_lens,
    search_tad,
)
from analysis.detectors.supervised.training import SUPERVISED
from analysis.stats import roc_auc
from rauq.errors import InvalidInput
from tests.analysis.detectors.supervised.made_up import NUM, labelled
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
    return search_tad(*answers, threshold=0.5)


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
    found = fit_tad(*answers, threshold=0.5, settings=chosen)
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
        detector = fit_tad(features, labels, threshold=0.5, settings=search_tad(features, labels, threshold=0.5))
        areas.append(roc_auc(np.array([detector.value(one) for one in others]), correct))
    assert areas[0] > 0.95
    assert 0.3 < areas[1] < 0.7


def test_answers_of_one_token_are_scored_but_do_not_suffice():
    features, quality = tad_answers(40, seed=2)
    settings = TadSettings(first_alpha=1.0, alpha=1.0, aggregation="mean")
    assert fit_tad(features, quality, threshold=0.5, settings=settings).value(features[0][:1]) == -features[0][0, 0, -1]
    with pytest.raises(InvalidInput, match="hardly any answer has two tokens"):
        fit_tad([one[:1] for one in features], quality, threshold=0.5, settings=settings)


# The features of an answer; those of other methods have a row for each token.
ONE_VECTOR = ("lookback_lens", "head_entropy_linear", "saplma", "mind")


@pytest.mark.parametrize("seed", range(3))
def test_the_score_is_that_of_scikit_learn(seed):
    features, quality = labelled(seed=seed, binary=False)
    fitted = fit_lookback_lens(features, quality, threshold=0.3)
    expected = LogisticRegression(max_iter=1000).fit(np.array(features), quality > 0.3).predict_proba(features)
    assert [fitted.value(one) for one in features] == pytest.approx(1 - expected[:, 1], abs=1e-6)


def test_it_has_no_settings_to_search():
    features, quality = labelled()
    assert search_lookback_lens(features, quality, threshold=0.5, seed=1, full=True) is None


@pytest.mark.parametrize("method", ONE_VECTOR)
def test_answers_without_features_or_quality_are_left_out(method):
    row, (features, quality) = SUPERVISED[method], labelled()
    more = [*features, features[0] * np.nan, features[1]]
    settings = row.search(features, quality, threshold=0.5, seed=42, full=False)
    options = {"threshold": 0.5, "settings": settings, "seed": 42}
    fitted = row.fit(features, quality, **options)
    again = row.fit(more, np.append(quality, [1, np.nan]), **options)
    assert row.search(more, np.append(quality, [1, np.nan]), threshold=0.5, seed=42, full=False) == settings
    assert fitted.value(features[3]) == again.value(features[3])


@pytest.mark.parametrize("method", ONE_VECTOR)
@pytest.mark.parametrize(
    ("right", "said"), [(4, "4 correct and 56"), (0, "0 correct and 60"), (56, "56 correct and 4")]
)
def test_fewer_than_five_answers_of_a_class_are_refused(method, right, said):
    row, (features, _) = SUPERVISED[method], labelled()
    quality = (np.arange(NUM) < right).astype(float)
    with pytest.raises(InvalidInput, match=said):
        row.fit(features, quality, threshold=0.5, settings=None, seed=42)
    if method != "lookback_lens":
        with pytest.raises(InvalidInput, match=said):
            row.search(features, quality, threshold=0.5, seed=42, full=False)


def test_no_answer_at_all_and_answers_of_two_models_are_refused():
    features, quality = labelled()
    with pytest.raises(InvalidInput, match="0 correct and 0 incorrect"):
        fit_lookback_lens([], np.zeros(0), threshold=0.5)
    with pytest.raises(InvalidInput, match=r"shapes \(3,\), \(6,\)\. Train on answers of one model"):
        fit_lookback_lens([*features, np.ones(3)], np.append(quality, 1.0), threshold=0.5)
