"""Fitting the linear detector of Head Entropy: learned signs, few heads, and a penalty chosen by folds."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from analysis.detectors.supervised.attention import (
    PENALTIES,
    HeadEntropySettings,
    fit_head_entropy,
    search_head_entropy,
)
from rauq.errors import InvalidInput
from tests.analysis.detectors.supervised.made_up import NUM, labelled

SETTINGS = HeadEntropySettings(inverse_strength=0.1)


@pytest.mark.parametrize("seed", range(3))
def test_the_score_is_that_of_scikit_learn_on_standardised_features(seed):
    features, quality = labelled(seed=seed, binary=False)
    given = np.array(features) * (1, 10, 0.1, 1, 1, 1) + 3
    fitted = fit_head_entropy(list(given), quality, threshold=0.3, settings=SETTINGS, seed=5)
    scaled = StandardScaler().fit_transform(given)
    model = LogisticRegression(l1_ratio=1.0, C=0.1, solver="liblinear", max_iter=1000, random_state=5)
    expected = model.fit(scaled, quality > 0.3).predict_proba(scaled)[:, 0]
    assert [fitted.value(one) for one in given] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_sign_is_learned_and_heads_without_news_do_not_count(sign):
    features, quality = labelled(width=30)
    fitted = fit_head_entropy([sign * one for one in features], quality, threshold=0.5, settings=SETTINGS)
    assert np.sign(fitted.coefficients[0]) == sign
    assert np.count_nonzero(fitted.coefficients) < 10


def test_a_head_of_one_entropy_does_not_count():
    features, quality = labelled()
    given = [np.append(one, 2.0) for one in features]
    fitted = fit_head_entropy(given, quality, threshold=0.5, settings=SETTINGS)
    assert fitted.coefficients[-1] == 0
    assert np.isfinite(fitted.coefficients).all()


def test_a_penalty_is_chosen_that_keeps_what_separates():
    features, quality = labelled()
    found = search_head_entropy(features, quality, threshold=0.5, seed=42, full=False)
    assert found.inverse_strength in PENALTIES[1:]  # the strongest penalty leaves no head
    alone = fit_head_entropy(
        features, quality, threshold=0.5, settings=HeadEntropySettings(inverse_strength=PENALTIES[0])
    )
    assert not alone.coefficients.any()


def test_without_anything_to_learn_the_strongest_penalty_is_chosen():
    same = [np.ones(4)] * NUM
    quality = (np.arange(NUM) % 2).astype(float)
    assert search_head_entropy(same, quality, threshold=0.5, seed=42, full=False).inverse_strength == PENALTIES[0]


def test_a_fold_of_one_class_is_left_out():
    features, quality = labelled(count=20)
    few = np.where(np.argsort(np.argsort(-quality)) < 5, 1.0, 0.0)
    assert search_head_entropy(features, few, threshold=0.5, seed=42, full=False).inverse_strength in PENALTIES


def test_too_few_answers_of_a_class_are_refused():
    features, _ = labelled()
    quality = (np.arange(NUM) < 4).astype(float)
    with pytest.raises(InvalidInput, match="4 correct and 56"):
        search_head_entropy(features, quality, threshold=0.5, seed=42, full=False)
