"""Areas under the ROC curve are scikit-learn's, and the best of many heads is compared with the best by chance."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from analysis.answer_sets.heads import separation
from analysis.answer_sets.sides import sides
from analysis.quality.judgement import Thresholds
from tests.analysis.answer_sets.made_up import HEADS, INFORMATIVE, LAYERS, made_up


def found(means, quality, **options):
    return separation(means, sides(np.asarray(quality, dtype=float), Thresholds()), **options)


@pytest.mark.parametrize("places", [1, 12])
def test_areas_are_scikit_learns(places):
    means, quality = made_up()
    means = means.round(places)  # to one place: with many ties
    result = found(means, quality)
    for row, head in np.ndindex(LAYERS, HEADS):
        assert result.auc[row, head] == pytest.approx(roc_auc_score(quality, means[:, row, head]))
    assert (result.num_correct, result.num_incorrect, result.excluded) == (40, 20, 0)


def test_the_planted_head_is_found_whichever_way_it_goes():
    means, quality = made_up()
    for effect in (means, 1 - means):
        result = found(effect, quality)
        assert result.best == INFORMATIVE
        assert result.strength == pytest.approx(0.5)
        assert result.beyond_chance


def test_the_order_of_answers_does_not_matter():
    means, quality = made_up(effect=0.01)
    order = np.random.default_rng(0).permutation(len(quality))
    np.testing.assert_allclose(found(means[order], quality[order]).auc, found(means, quality).auc)


def test_by_chance_the_best_of_all_heads_is_beyond_chance_in_one_case_of_twenty():
    rng = np.random.default_rng(0)
    results = [found(rng.uniform(size=(30, 3, 4)), np.arange(30) % 2, permutations=100, seed=i) for i in range(200)]
    assert 0.01 <= np.mean([result.beyond_chance for result in results]) <= 0.1
    assert np.mean([result.strength > 0.15 for result in results]) > 0.5  # a single head seldom is so strong


def test_chance_grows_with_the_number_of_heads():
    rng = np.random.default_rng(1)
    means = rng.uniform(size=(60, 8, 8))
    quality = np.arange(60) % 2
    assert found(means[:, :1, :1], quality).chance < found(means, quality).chance


def test_only_answers_on_a_side_with_attention_count():
    means, quality = made_up(30)
    means[0] = np.nan
    quality[1] = 0.5
    result = found(means, quality)
    assert (result.num_correct + result.num_incorrect, result.excluded) == (28, 1)
    np.testing.assert_allclose(result.auc, found(means[2:], quality[2:]).auc)


@pytest.mark.parametrize(("quality", "missing"), [(1, "incorrect"), (0, "correct")])
def test_one_side_alone_cannot_be_separated(quality, missing):
    means, _ = made_up(6)
    result = found(means, np.full(6, quality))
    assert np.isnan(result.auc).all()
    assert np.isnan([result.strength, result.chance]).all()
    assert (result.best, result.beyond_chance) == (None, False)
    assert result.reason == f"no {missing} answer has attention"
