"""Attention expected from words: what words explain is expected, what they do not is left, and no label leaks."""

from itertools import pairwise

import numpy as np
import pytest

from analysis.answer_sets.clusters import FOLDS, folds
from analysis.answer_sets.separation import areas, labelled
from analysis.answer_sets.sides import Sides
from analysis.answer_sets.word_attention import word_attention
from rauq.trace.batch import Batch

LAYERS, HEADS = (4, 5), 3


def answers_of(attention):
    """A batch of answers, each with weights (L, H, N - 1)."""
    longest = max(own.shape[2] for own in attention)
    padded = np.full((len(attention), len(LAYERS), HEADS, longest), np.nan, np.float16)
    for row, own in enumerate(attention):
        padded[row, ..., : own.shape[2]] = own
    lengths = np.array([own.shape[2] + 1 for own in attention])
    blank = np.zeros((len(attention), longest + 1))
    about = {"alignment": "predicting", "kind": "base", "vocab_size": 9, "layers": LAYERS, "num_layers": 9}
    return Batch(attention=padded, logprobs=blank, entropies=blank, lengths=lengths, **about)


def made(num_answers=300, *, by_words, seed=0):
    """Answers of 1 to 5 tokens of a small vocabulary whose attention depends on the pair of tokens, or is random."""
    rng = np.random.default_rng(seed)
    table = rng.uniform(size=(6, 6, len(LAYERS), HEADS))
    ids = [rng.integers(6, size=1 + number % 5) for number in range(num_answers)]
    attention = []
    for own in ids:
        weights = [table[pair] if by_words else rng.uniform(size=table.shape[2:]) for pair in pairwise(own)]
        attention.append(np.stack(weights, axis=-1) if weights else np.zeros((len(LAYERS), HEADS, 0)))
    return answers_of(attention), ids


def fold_of(num_answers):
    return np.arange(num_answers) % FOLDS


def actual(answers):
    return np.stack([np.nanmean(own, axis=-1) if size > 1 else np.full((len(LAYERS), HEADS), np.nan)
                     for own, size in zip(answers.attention.astype(float), answers.lengths, strict=True)])  # fmt: skip


def test_attention_that_words_decide_is_expected():
    answers, ids = made(by_words=True)
    found = word_attention(answers, ids, fold_of(len(ids)))
    assert found.layers == LAYERS
    known = np.array([len(own) > 1 for own in ids])
    own, expected = actual(answers)[known].ravel(), found.expected[known].ravel()
    assert np.corrcoef(own, expected)[0, 1] > 0.97
    assert np.abs(own - expected).mean() < 0.05
    assert found.num_mostly_unseen == 0


def test_attention_that_words_do_not_decide_is_not_expected():
    answers, ids = made(by_words=False)
    found = word_attention(answers, ids, fold_of(len(ids)))
    known = np.array([len(own) > 1 for own in ids])
    assert abs(np.corrcoef(actual(answers)[known].ravel(), found.expected[known].ravel())[0, 1]) < 0.15


def test_an_answer_of_one_token_has_no_expectation():
    answers, ids = made(20, by_words=True)
    found = word_attention(answers, ids, fold_of(20))
    lone = np.array([len(own) == 1 for own in ids])
    assert np.isnan(found.expected[lone]).all()
    assert np.isnan(found.unseen[lone]).all()
    assert np.isfinite(found.expected[~lone]).all()


def test_a_pair_that_no_other_answer_has_is_shrunk_to_what_is_known():
    """Token 7 follows 1 once; after 1 the attention is .8 elsewhere, and the mean of the head is above 0.3."""
    attention = [np.full((len(LAYERS), HEADS, 1), value) for value in (0.8, 0.8, 0.1, 0.1, 0.1, 0.5)]
    ids = [np.array(pair) for pair in ((1, 2), (1, 2), (3, 4), (3, 4), (3, 4), (1, 7))]
    found = word_attention(answers_of(attention), ids, np.arange(6))
    mean = np.mean([0.8, 0.8, 0.1, 0.1, 0.1, 0.5])
    np.testing.assert_allclose(found.expected[5], (0.8 + 0.8 + mean) / 3, atol=1e-3)
    assert found.unseen.tolist() == [0, 0, 0, 0, 0, 1]
    assert found.num_mostly_unseen == 1


def test_the_own_answer_is_not_part_of_its_expectation():
    answers, ids = made(40, by_words=True)
    found = word_attention(answers, ids, fold_of(40)).expected[7]
    answers.attention[7] = answers.attention[7] + 0.25  # of the same fold, so only through the head's mean
    changed = word_attention(answers, ids, fold_of(40)).expected[7]
    assert np.abs(changed - found).max() < 0.02


def test_equal_words_tell_nothing_of_correctness():
    """Left out one by one, answers of the same words would be expected to go against their label."""
    rng = np.random.default_rng(0)
    correct = np.arange(200) % 4 == 0
    attention = [rng.uniform(size=(len(LAYERS), HEADS, 2)) / 4 + 0.5 * own for own in correct]
    ids = [np.array([1, 2, 3])] * 200
    side, groups = Sides(correct, ~correct), ["one"] * 200
    found = word_attention(answers_of(attention), ids, folds(groups, side))
    values = found.expected.reshape(200, -1)
    np.testing.assert_allclose(areas(values, labelled(values, side, groups)), 0.5, atol=0.06)


@pytest.mark.parametrize("seed", range(3))
def test_folds_hold_as_many_of_each_group_and_side(seed):
    rng = np.random.default_rng(seed)
    correct, groups = rng.uniform(size=400) < 0.3, rng.choice(["a", "b"], size=400)
    found = folds(groups, Sides(correct, ~correct), seed=seed)
    for group in "ab":
        for side in (True, False):
            counts = np.bincount(found[(groups == group) & (correct == side)], minlength=FOLDS)
            assert np.ptp(counts) <= 1
