"""Many settings at once: each row equals `score_many` for its settings."""

from itertools import product
from typing import get_args

import numpy as np
import pytest

from rauq import InvalidInput, batch, score_many
from rauq.scoring.algorithm import score_grid
from rauq.scoring.settings import LayerAggregation, Settings, Signal, TokenAggregation, Update
from tests.answers import random_trace

LENGTHS = (5, 1, 2, 9, 3)
ANSWERS = batch([random_trace(length, seed=seed) for seed, length in enumerate(LENGTHS)])
PLAIN = Settings(alpha=0.3, signal="probability")


def agrees(answers, settings):
    rows = score_grid(answers, settings)
    assert rows.shape == (len(settings), len(answers.lengths))
    for row, one in zip(rows, settings, strict=True):
        np.testing.assert_allclose(row, score_many(answers, one).uncertainty, rtol=1e-12, err_msg=str(one))


@pytest.mark.parametrize("update", get_args(Update))
@pytest.mark.parametrize("heads", ["max", "mean", "top5", ((2, 1), (3, 0), (4, 3))])
def test_a_row_is_the_score_of_its_settings(update, heads):
    choices = product((0.0, 0.3, 1.0), get_args(Signal), get_args(TokenAggregation), get_args(LayerAggregation))
    agrees(
        ANSWERS,
        [
            Settings(alpha=a, signal=s, token_aggregation=t, layer_aggregation=y, update=update, heads=heads)
            for a, s, t, y in choices
        ],
    )


def test_settings_that_differ_in_everything_keep_their_rows_apart():
    rng = np.random.default_rng(0)
    choices = [
        Settings(alpha=a, signal=s, update=u, token_aggregation=t, layer_aggregation=y, layers=window, heads=heads)
        for a, s, u, t, y, window, heads in product(
            (None, 0.6),
            (None, *get_args(Signal)),
            get_args(Update),
            get_args(TokenAggregation),
            get_args(LayerAggregation),
            ("middle", "all", (5, 1)),
            ("max", "top5"),
        )
    ]
    agrees(ANSWERS, [choices[i] for i in rng.choice(len(choices), size=120)])


@pytest.mark.parametrize("alignment", ["predicting", "own"])
def test_more_answers_than_a_block_and_progress(alignment, monkeypatch):
    answers = batch([random_trace(1 + seed % 5, seed=seed) for seed in range(131)], alignment)
    heard = []
    settings = Settings(alignment=alignment)
    at_once = score_grid(answers, [settings])[0]
    monkeypatch.setattr("rauq.scoring.algorithm._BLOCK", 1)  # else such short answers are one block
    row = score_grid(answers, [settings], on_progress=lambda done, total: heard.append((done, total)))[0]
    np.testing.assert_allclose(row, score_many(answers, settings).uncertainty, rtol=1e-12)
    np.testing.assert_array_equal(row, at_once)
    assert heard[-1] == (131, 131)
    assert [done for done, _ in heard] == sorted({done for done, _ in heard})
    assert len(heard) == 3


def test_a_nan_stays_with_its_answer():
    answers = batch([random_trace(3, seed=0), random_trace(3, seed=1, logprobs=np.array([-1.0, np.nan, -2.0]))])
    assert np.isnan(score_grid(answers, [PLAIN])).tolist() == [[False, True]]


def test_no_settings_give_no_rows():
    assert score_grid(ANSWERS, []).shape == (0, 5)


@pytest.mark.parametrize("wrong", [{"alignment": "own"}, {"layers": (9,)}, {"heads": ((0, 0),)}])
def test_settings_that_do_not_fit_raise(wrong):
    with pytest.raises(InvalidInput):
        score_grid(ANSWERS, [PLAIN, Settings(**wrong)])
