"""Fitting SAPLMA and MIND: the same networks written down again in torch, their search, and what makes them equal."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold
from torch import nn

from analysis.detectors.supervised import hidden_states
from analysis.detectors.supervised.hidden_states import (
    NetworkSettings,
    area,
    arrays_of,
    best_settings,
    fit_mind,
    fit_saplma,
    grid,
    search_mind,
    search_saplma,
)
from analysis.detectors.supervised.training_set import training_set
from rauq.errors import InvalidInput
from tests.analysis.detectors.supervised.made_up import NUM, WIDTH, labelled

SETTINGS = NetworkSettings(epochs=4, batch_size=16, learning_rate=1e-3)
SEARCHES = {"saplma": search_saplma, "mind": search_mind}
FITS = {"saplma": fit_saplma, "mind": fit_mind}
BOTH = pytest.mark.parametrize("method", FITS)


def in_torch(features, targets, loss, *, outputs, dropout, rows=slice(None), settings=SETTINGS, seed=42):
    """The network by METHODS 6.1 and 6.2, on its own: the outputs for all answers of a fit on some."""
    torch.manual_seed(seed)
    widths = (WIDTH, 256, 128, 64, outputs)
    layers = [nn.Linear(*sizes) for sizes in pairwise(widths)]
    optimizer = torch.optim.AdamW([weight for layer in layers for weight in layer.parameters()], settings.learning_rate)

    def forward(inputs):
        for layer in layers[:-1]:
            inputs = layer(inputs).clamp(min=0)
        return layers[-1](inputs)

    inputs = torch.tensor(np.array(features), dtype=torch.float32)
    seen, labels = inputs[rows], targets[rows]
    for _ in range(settings.epochs):
        for first in range(0, len(seen), settings.batch_size):
            batch = seen[first : first + settings.batch_size]
            if dropout:
                batch = nn.functional.dropout(batch, dropout)
            optimizer.zero_grad()
            loss(forward(batch), labels[first : first + settings.batch_size]).backward()
            optimizer.step()
    with torch.no_grad():
        return forward(inputs)


def saplma_in_torch(features, quality, **options):
    target = torch.tensor(1 - quality, dtype=torch.float32)[:, None]
    binary = set(quality.tolist()) <= {0, 1}

    def loss(found, wanted):
        if binary:
            return nn.functional.binary_cross_entropy(found.sigmoid(), wanted)
        return ((found - wanted) ** 2).mean()

    found = in_torch(features, target, loss, outputs=1, dropout=0, **options)[:, 0]
    return (found.sigmoid() if binary else found).numpy()


def mind_in_torch(features, quality, *, rows=slice(None), **options):
    target = torch.tensor(quality <= 0.5, dtype=torch.int64)
    share = target[rows].float().mean()
    weights = torch.stack([share, 1 - share])  # 1 - n_c / n
    loss = nn.CrossEntropyLoss(weights)
    return in_torch(features, target, loss, outputs=2, dropout=0.2, rows=rows, **options).softmax(dim=1)[:, 1].numpy()


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("binary", [True, False])
def test_saplma_is_the_network_of_torch(binary, seed):
    features, quality = labelled(seed=seed, binary=binary)
    fitted = fit_saplma(features, quality, threshold=0.5, settings=SETTINGS)
    assert fitted.output == ("sigmoid" if binary else "identity")
    found = np.array([fitted.value(one) for one in features])
    np.testing.assert_allclose(found, saplma_in_torch(features, quality), atol=1e-5)
    assert np.corrcoef(found, quality)[0, 1] < -0.3


@pytest.mark.parametrize("seed", range(2))
def test_mind_is_the_network_of_torch(seed):
    features, quality = labelled(seed=seed)
    fitted = fit_mind(features, quality, threshold=0.5, settings=SETTINGS)
    found = np.array([fitted.value(one) for one in features])
    np.testing.assert_allclose(found, mind_in_torch(features, quality), atol=1e-5)
    assert np.corrcoef(found, quality)[0, 1] < -0.3


def by_hand(features, candidates, judge):
    """The first of the best settings over five folds, each with a network of its own."""
    means = []
    for settings in candidates:
        folds = KFold(5, shuffle=True, random_state=1).split(features)
        means.append(np.mean([judge(seen, held, settings) for seen, held in folds]))
    return candidates[int(np.argmax(means))]


def test_the_search_trains_anew_in_every_fold(monkeypatch):
    features, quality = labelled(seed=3)
    candidates = grid(epochs=(1, 3), batch_sizes=(16,), rates=(1e-4, 1e-3))
    monkeypatch.setattr(hidden_states, "_MIND_REDUCED", candidates)

    def judge(seen, held, settings):
        found = mind_in_torch(features, quality, rows=seen, settings=settings)
        return roc_auc_score(quality[held] <= 0.5, found[held])

    expected = by_hand(features, candidates, judge)
    assert search_mind(features, quality, threshold=0.5) == expected
    assert expected != candidates[0]


def test_continuous_quality_is_searched_by_squared_error(monkeypatch):
    features, quality = labelled(seed=3, binary=False)
    candidates = grid(epochs=(1, 3), batch_sizes=(16,), rates=(1e-4, 1e-3))
    monkeypatch.setattr(hidden_states, "_SAPLMA_REDUCED", candidates)

    def judge(seen, held, settings):
        found = saplma_in_torch(features, quality, rows=seen, settings=settings)
        return -np.mean((found[held] - (1 - quality[held])) ** 2)

    assert search_saplma(features, quality, threshold=0.5) == by_hand(features, candidates, judge)


@BOTH
def test_the_full_grid_is_the_references_and_holds_the_reduced_one(method):
    full, reduced = (getattr(hidden_states, f"_{method.upper()}_{name}") for name in ("FULL", "REDUCED"))
    assert len(full) == {"saplma": 20, "mind": 24}[method]
    assert set(reduced) < set(full)
    assert (full[0].epochs, full[-1].epochs) == {"saplma": (5, 10), "mind": (10, 20)}[method]
    assert full[1].learning_rate == 1e-4
    features, quality = labelled(count=20)
    small = full[:1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hidden_states, f"_{method.upper()}_FULL", small)
        assert SEARCHES[method](features, quality, threshold=0.5, full=True) == small[0]


@BOTH
def test_a_fit_depends_on_its_seed_alone(method):
    features, quality = labelled()

    def weights(seed):
        return FITS[method](features, quality, threshold=0.5, settings=SETTINGS, seed=seed).weight_1

    torch.manual_seed(5)
    state, first, threads = torch.get_rng_state(), weights(1), torch.get_num_threads()
    assert torch.equal(torch.get_rng_state(), state)
    torch.set_num_threads(2)
    try:
        np.testing.assert_array_equal(weights(1), first)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)
    assert not np.array_equal(weights(2), first)


def test_settings_are_judged_on_a_fifth_of_the_answers_that_was_not_fitted():
    given, parts = training_set(*labelled(), threshold=0.5), []
    best_settings(given, grid(epochs=(1,), batch_sizes=(8,), rates=(0.1,)), lambda _, *sets: parts.append(sets) or 0.5)
    rows = [[{tuple(row) for row in part.features.reshape(len(part.quality), -1)} for part in sets] for sets in parts]
    assert len(rows) == 5
    assert all(not seen & held for seen, held in rows)
    assert {len(seen) + len(held) for seen, held in rows} == {NUM}
    assert set.union(*(held for _, held in rows)) == set.union(*rows[0])
    assert all(len(seen) > 3 * len(held) for seen, held in rows)


def test_of_equal_settings_the_first_is_chosen_and_a_fold_of_one_class_is_left_out():
    given = training_set(*labelled(), threshold=0.5)
    candidates = grid(epochs=(1, 2), batch_sizes=(8,), rates=(0.1,))
    assert best_settings(given, candidates, lambda *_: 0.5) == candidates[0]
    found = iter([0.9, np.nan, 0.7, 0.8, 0.8, *[np.nan] * 4, 0.85])
    assert best_settings(given, candidates, lambda *_: next(found)) == candidates[1]
    assert best_settings(given, candidates, lambda *_: np.nan) == candidates[0]
    one_class = given.take(np.flatnonzero(given.correct))
    assert np.isnan(area(np.zeros(len(one_class.correct)), given, one_class))
    assert np.isnan(area(np.zeros(NUM), one_class, given))
    assert area(np.full(NUM, np.nan), given, given) == -np.inf
    assert area(-given.quality, given, given) == 1


@BOTH
def test_training_that_diverges_is_said_and_never_chosen(method, monkeypatch):
    features, quality = labelled()
    wild = NetworkSettings(epochs=3, batch_size=16, learning_rate=1e36)
    with pytest.raises(InvalidInput, match="diverged"):
        FITS[method](features, quality, threshold=0.5, settings=wild)
    monkeypatch.setattr(hidden_states, f"_{method.upper()}_REDUCED", (wild, SETTINGS))
    assert SEARCHES[method](features, quality, threshold=0.5) == SETTINGS


def test_weights_are_in_the_order_of_the_layers():
    given = training_set(*labelled(), threshold=0.5)
    network = hidden_states.Network(outputs=1, targets=torch.zeros(NUM, 1), loss=nn.functional.mse_loss)
    arrays = arrays_of(hidden_states.trained(given.features, network, SETTINGS, seed=0))
    assert {name: array.shape for name, array in arrays.items() if "weight" in name} == {
        "weight_1": (256, WIDTH),
        "weight_2": (128, 256),
        "weight_3": (64, 128),
        "weight_4": (1, 64),
    }
