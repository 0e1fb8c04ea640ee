"""Training answers that no method is fitted on."""

from functools import partial

import numpy as np
import pytest

from analysis.detectors.supervised import attention, factoscope, hidden_layers
from analysis.detectors.supervised.training_set import folds, halves
from rauq.detectors.factoscope import OTHERS
from rauq.errors import InvalidInput
from tests.labelled import layer_answers, tad_answers

SHEEPS = hidden_layers.SheepsSettings((hidden_layers.ProbeSettings(epochs=1, batch=32, rate=0.01),))
FITS = {
    "tad": (tad_answers, attention.fit_tad, attention.TadSettings(first_alpha=1.0, alpha=1.0, aggregation="mean")),
    "sheeps": (layer_answers, hidden_layers.fit_sheeps, SHEEPS),
    "satrmd": (layer_answers, hidden_layers.fit_satrmd, None),
    "factoscope": (lambda size: layer_answers(size, others=OTHERS), factoscope.fit, factoscope.REDUCED),
}
SEARCHES = {
    "tad": attention.search_tad,
    "sheeps": hidden_layers.search_sheeps,
    "satrmd": hidden_layers.search_satrmd,
    "factoscope": factoscope.search,
}


@pytest.fixture(params=FITS)
def case(request):
    """Its search and its fit refuse 40 answers that were changed."""
    make, fit, settings = FITS[request.param]

    def refused(change, said):
        features, quality = change(*make(40))
        for call in (SEARCHES[request.param], partial(fit, settings=settings)):
            with pytest.raises(InvalidInput, match=said):
                call(features, quality, threshold=0.5)

    return refused


def spoilt(features, number):
    features[7] = features[7].copy()
    features[7].flat[3] = number
    return features


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_features_that_are_not_finite_are_refused(case, number):
    case(lambda features, quality: (spoilt(features, number), quality), "hold nan or infinity")


@pytest.mark.parametrize("few", [0, 4])
def test_few_answers_of_a_class_are_refused(case, few):
    case(lambda features, _: (features, (np.arange(40) < few).astype(float)), f"{few} correct and {40 - few} incorrect")
    case(lambda features, _: (features, (np.arange(40) >= few).astype(float)), f"{40 - few} correct and {few} inc")


def test_no_answers_are_refused(case):
    case(lambda _, quality: ([], quality[:0]), "0 correct and 0 incorrect")


def test_what_does_not_fit_together_is_refused(case):
    case(lambda features, quality: ([*features[:-1], features[-1][..., 1:]], quality), "another shape")
    case(lambda features, quality: (features[1:], quality), "39 features for 40 qualities")
    case(lambda features, quality: (features, quality + 0.5), "not a number from 0 to 1")
    case(lambda features, quality: (features, quality * np.nan), "not a number from 0 to 1")


def test_folds_and_halves_hold_every_answer_once_and_as_evenly_as_can_be():
    assert np.bincount(folds(52)).tolist() == [11, 11, 10, 10, 10]
    first, second = halves(51, seed=42)
    assert sorted([*first, *second]) == list(range(51))
    assert len(first) == 25
