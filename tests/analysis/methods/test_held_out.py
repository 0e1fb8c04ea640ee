"""Heads are chosen on some answers and used on others, group by group."""

import numpy as np
import pytest

from analysis.methods.ablations import MOST, fixed_heads, held_out, score_single_head
from rauq.scoring.score import score_many
from rauq.scoring.settings import Settings
from tests.analysis.methods.batches import NUM_LAYERS, informative_batch

SETTINGS = Settings(alpha=0.2, signal="probability")


@pytest.mark.parametrize(("size", "chosen"), [(1, 0), (2, 0), (3, 1), (90, 30), (300, MOST), (1000, MOST)])
def test_a_third_of_each_group_at_most_and_never_more_than_the_paper_took(size, chosen):
    names = ["a"] * size + ["b"] * 30
    found = held_out(names, seed=3)
    assert (found[:size].sum(), found[size:].sum()) == (chosen, 10)
    np.testing.assert_array_equal(found, held_out(names, seed=3))


def test_another_seed_draws_others():
    names = ["a"] * 60
    assert (held_out(names, seed=1) != held_out(names, seed=2)).any()


def test_the_head_of_largest_mean_over_tokens_not_over_answers():
    """One long answer outweighs three short ones, and an answer of one token says nothing."""
    batch, _ = informative_batch(5, strength=0.0, lengths=[2, 2, 2, 9, 1])
    batch.attention[:] = np.where(np.isnan(batch.attention), np.nan, 0.1)
    batch.attention[:3, :, 2, :1] = 0.9
    batch.attention[3, :, 3, :8] = 0.5  # 0.5 * 8 + 0.1 * 3 over 11 tokens is more than 0.9 * 3 + 0.1 * 8
    assert fixed_heads(batch, SETTINGS) == ((2, 3), (3, 3), (4, 3))
    assert fixed_heads(batch.take(np.arange(3)), SETTINGS) == ((2, 2), (3, 2), (4, 2))


def test_without_answers_no_head_is_selected():
    batch, _ = informative_batch(3, strength=0.0, lengths=[1, 1, 2])
    assert fixed_heads(batch.take(np.arange(2)), SETTINGS) == ()
    assert fixed_heads(batch.take(np.arange(0)), SETTINGS) == ()


def test_each_group_is_scored_with_its_own_heads():
    batch, _ = informative_batch(12, strength=0.0)
    names, chosen = np.array(["a"] * 6 + ["b"] * 6), np.arange(12) % 3 == 0
    batch.attention[:6, :, 3] = 0.95
    found = score_single_head(batch, SETTINGS, names, chosen)
    assert (np.isnan(found) == chosen).all()
    for name, head in (("a", 3), ("b", 1)):
        fixed = Settings(alpha=0.2, signal="probability", heads=tuple((layer, head) for layer in range(NUM_LAYERS)))
        rest = (names == name) & ~chosen
        np.testing.assert_allclose(found[rest], score_many(batch, fixed).uncertainty[rest])


def test_a_group_that_chose_no_head_has_no_score():
    batch, _ = informative_batch(5, strength=0.0)
    names = ["a"] * 2 + ["b"] * 3
    found = score_single_head(batch, SETTINGS, names, held_out(names))
    assert np.isnan(found[:2]).all()
    assert np.isfinite(found[2:]).sum() == 2
