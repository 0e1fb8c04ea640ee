"""Fitting Sheeps and SATRMD + MSP: against other implementations, on a planted signal, on shuffled labels."""

import numpy as np
import pytest
import torch
from sklearn.covariance import LedoitWolf
from sklearn.model_selection import train_test_split

from analysis.detectors.supervised.hidden_layers import (
    EPOCHS,
    ProbeSettings,
    SheepsSettings,
    _trained,
    fit_satrmd,
    fit_sheeps,
    search_sheeps,
)
from analysis.stats import roc_auc
from rauq.errors import InvalidInput
from tests.labelled import halves_of, layer_answers, shuffled

QUICK = SheepsSettings((ProbeSettings(epochs=20, batch=32, rate=0.1),))
FITS = {
    "sheeps": lambda features, quality: fit_sheeps(features, quality, threshold=0.5, settings=QUICK),
    "satrmd": lambda features, quality: fit_satrmd(features, quality, threshold=0.5),
}


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
def test_a_planted_signal_is_found_and_shuffled_labels_are_not(fit):
    (features, quality), (others, correct) = halves_of(*layer_answers(300, seed=1, signal=3), 150)
    areas = []
    for labels in (quality, shuffled(quality)):
        detector = fit(features, labels)
        areas.append(roc_auc(np.array([detector.value(one) for one in others]), correct))
    assert areas[0] > 0.95
    assert 0.3 < areas[1] < 0.7


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
def test_a_fit_repeats_and_leaves_the_random_state_alone(fit):
    features, quality = layer_answers(60)
    before = torch.random.get_rng_state()
    first, second = fit(features, quality), fit(features, quality)
    for name, own in vars(first).items():
        np.testing.assert_array_equal(own, getattr(second, name))
    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_half_with_few_answers_of_a_class_is_refused():
    features, _ = layer_answers(40)
    half = train_test_split(np.arange(40), test_size=0.5, random_state=42)[0]
    quality = np.isin(np.arange(40), half[:6]).astype(float)
    for fit in FITS.values():
        with pytest.raises(InvalidInput, match="second half have 0 correct and 20 incorrect"):
            fit(features, quality)


def test_a_probe_is_trained_as_answer_by_answer_without_padding():
    features, quality = layer_answers(20, seed=3)
    rows = [torch.from_numpy(one[1].astype(np.float32)) for one in features]
    *_, found = _trained(rows, quality == 0, batch=8, rate=0.01, epochs=3, seed=42)
    torch.manual_seed(42)
    pooling, classes = torch.nn.Linear(8, 1), torch.nn.Linear(8, 2)
    optimiser = torch.optim.AdamW([*pooling.parameters(), *classes.parameters()], lr=0.01)
    for _ in range(3):
        for at in range(0, 20, 8):
            logits = [classes(torch.softmax(pooling(row), dim=0).T @ row)[0] for row in rows[at : at + 8]]
            labels = torch.from_numpy((quality[at : at + 8] == 0).astype(np.int64))
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(torch.stack(logits), labels).backward()
            optimiser.step()
    np.testing.assert_allclose(found.attention, pooling.weight.detach()[0], atol=1e-5)
    np.testing.assert_allclose(found.weights, (classes.weight[1] - classes.weight[0]).detach(), atol=1e-5)
    assert found.bias == pytest.approx((classes.bias[1] - classes.bias[0]).item(), abs=1e-5)


def test_settings_are_searched_at_the_middle_layer_or_at_each():
    features, quality = layer_answers(40, signal=6)
    settings = search_sheeps(features, quality, threshold=0.5)
    assert len(settings.probes) == 1
    assert settings.of_layer(2) == settings.probes[0]
    each = search_sheeps(features, quality, threshold=0.5, full=True)
    assert each.probes[1] == settings.probes[0]  # layer 1 of 3
    assert [each.of_layer(layer) for layer in range(3)] == list(each.probes)
    assert each.probes[1] == ProbeSettings(epochs=EPOCHS[0], batch=32, rate=0.1)  # the first of those that separate


def slow_satrmd(features, quality):
    """Every formula in its plain form: explicit inverses, an eigendecomposition, normal equations."""
    first, second = train_test_split(np.arange(len(features)), test_size=0.5, random_state=42)
    parts = []
    for layer in range(len(features[0])):
        correct = np.vstack([features[i][layer, :, :-2] for i in first if quality[i] > 0.5])
        background = np.vstack([one[layer, :, :-2] for one in features])
        parts.append(
            [(rows.mean(axis=0), np.linalg.inv(LedoitWolf().fit(rows).covariance_)) for rows in (correct, background)]
        )

    def distances(one):
        found = []
        for layer, both in enumerate(parts):
            md, md0 = ([np.sqrt((x - m) @ inverse @ (x - m)) for x in one[layer, :, :-2]] for m, inverse in both)
            found.append(np.mean(md) - np.mean(md0))
        return np.array(found)

    given = np.array([distances(features[i]) for i in second])
    values, vectors = np.linalg.eigh(np.cov(given.T))
    kept = vectors[:, np.argsort(-values)[:10]]

    def columns(one, reduced):
        return np.array([*reduced, -one[0, :, -2].sum(), one[0, :, -1].mean()])

    x = np.array(
        [columns(features[i], (row - given.mean(axis=0)) @ kept) for i, row in zip(second, given, strict=True)]
    )
    y = 1 - quality[second]
    above, target = x - x.mean(axis=0), y - y.mean()
    weights = np.linalg.solve(above.T @ above + np.eye(x.shape[1]), above.T @ target)
    return lambda one: (
        (columns(one, (distances(one) - given.mean(axis=0)) @ kept) - x.mean(axis=0)) @ weights + y.mean()
    )


@pytest.mark.parametrize("num_layers", [3, 12])
def test_satrmd_is_that_of_a_slow_implementation(num_layers):
    features, _ = layer_answers(60, seed=2, num_layers=num_layers)
    quality = np.random.default_rng(3).uniform(0, 1, 60)
    found, expected = fit_satrmd(features, quality, threshold=0.5), slow_satrmd(features, quality)
    assert found.layers.tolist() == list(range(num_layers))
    for one in [*features[:5], *layer_answers(5, seed=8, num_layers=num_layers)[0]]:
        assert found.value(one) == pytest.approx(expected(one), abs=1e-6)


def test_layers_without_a_covariance_are_left_out():
    features, quality = layer_answers(40)
    for one in features:
        one[0, :, :-2] = 1.0
    assert fit_satrmd(features, quality, threshold=0.5).layers.tolist() == [1, 2]
    for one in features:
        one[..., :-2] = 1.0
    with pytest.raises(InvalidInput, match="hidden states of every layer are constant"):
        fit_satrmd(features, quality, threshold=0.5)


def test_few_rows_of_correct_answers_give_way_to_those_of_all():
    features, quality = layer_answers(40)
    first = train_test_split(np.arange(40), test_size=0.5, random_state=42)[0]
    correct = [row for row in first if quality[row] > 0.5]
    features = [one[:, :1] for one in features]
    assert len(correct) <= 10
    found = fit_satrmd(features, quality, threshold=0.5)
    rows = np.vstack([features[row][1, :, :-2] for row in first])
    np.testing.assert_allclose(found.means[0, 1], rows.mean(axis=0), atol=1e-6)
