"""Folds keep together what a fit could know an answer by: its question, or its group."""

import numpy as np
import pytest

from analysis.answer_sets.sides import Sides
from analysis.detectors.folds import MOST_LEFT_OUT, NUM_FOLDS, group_folds, question_folds


def made(num=300, num_questions=120, num_groups=4, seed=0):
    rng = np.random.default_rng(seed)
    question = rng.integers(num_questions, size=num)
    correct = rng.uniform(size=num) < 0.3
    questions = [f"question {one}" for one in question]
    return questions, [f"group {one % num_groups}" for one in question], Sides(correct, ~correct)


def values_of(fold, names):
    return {name: {int(own) for own, other in zip(fold, names, strict=True) if other == name} for name in names}


@pytest.mark.parametrize("seed", range(5))
def test_answers_to_one_question_share_a_fold_and_each_fold_is_alike(seed):
    questions, groups, sides = made(seed=seed)
    fold = question_folds(questions, groups, sides)
    assert set(fold.tolist()) == set(range(NUM_FOLDS))
    assert all(len(own) == 1 for own in values_of(fold, questions).values())
    assert all(len(own) == NUM_FOLDS for own in values_of(fold, groups).values())
    shares = [sides.correct[fold == own].mean() for own in range(NUM_FOLDS)]
    assert max(shares) - min(shares) < 0.3


def test_groups_are_whole_and_the_number_of_fits_is_bounded():
    questions, groups, _ = made(num_groups=4)
    fold = group_folds(groups, questions)
    assert len(set(fold.tolist())) == 4
    assert all(len(own) == 1 for own in values_of(fold, groups).values())
    questions, groups, _ = made(num_groups=40)
    fold = group_folds(groups, questions)
    assert len(set(fold.tolist())) == MOST_LEFT_OUT
    assert all(len(own) == 1 for own in values_of(fold, groups).values())


def test_groups_that_share_a_question_are_left_out_together():
    groups, questions = list("aabbccdd"), ["1", "2", "2", "3", "4", "5", "5", "6"]
    fold = group_folds(groups, questions)
    assert len(set(fold.tolist())) == 2
    assert all(len(own) == 1 for own in values_of(fold, questions).values())
    assert group_folds(list("abc"), ["same"] * 3).tolist() == [0, 0, 0]


def test_no_answers_have_no_folds():
    assert not len(group_folds([], []))
    assert not len(question_folds([], [], Sides(np.zeros(0, bool), np.zeros(0, bool))))
