"""Fitting LookBackLens: scikit-learn's regression on the same features, and the answers that are left out."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from analysis.detectors.supervised import lookback_lens
from analysis.detectors.supervised.table import SUPERVISED
from rauq.errors import InvalidInput
from tests.analysis.detectors.supervised.made_up import NUM, labelled

ONE_VECTOR = (
    "lookback_lens",
    "head_entropy_linear",
    "saplma",
    "mind",
)  # the features of an answer; those of others have a row for each token


@pytest.mark.parametrize("seed", range(3))
def test_the_score_is_that_of_scikit_learn(seed):
    features, quality = labelled(seed=seed, binary=False)
    fitted = lookback_lens.fit(features, quality, threshold=0.3)
    expected = LogisticRegression(max_iter=1000).fit(np.array(features), quality > 0.3).predict_proba(features)
    assert [fitted.value(one) for one in features] == pytest.approx(1 - expected[:, 1], abs=1e-6)


def test_it_has_no_settings_to_search():
    features, quality = labelled()
    assert lookback_lens.search(features, quality, threshold=0.5, seed=1, full=True) is None


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
        lookback_lens.fit([], np.zeros(0), threshold=0.5)
    with pytest.raises(InvalidInput, match=r"shapes \(3,\), \(6,\)\. Train on answers of one model"):
        lookback_lens.fit([*features, np.ones(3)], np.append(quality, 1.0), threshold=0.5)
