"""Logistic regression: nothing is scored, chosen or standardised by what was left out."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from analysis.answer_sets.sides import Sides
from analysis.detectors import fit
from analysis.detectors.fit import (
    LEAST,
    MOST_LEFT_OUT,
    NUM_FOLDS,
    group_folds,
    numbers,
    question_folds,
    scores_unseen,
    together,
    words,
)
from analysis.stats import roc_auc

RNG = np.random.default_rng(0)
NUM = 200
CORRECT = RNG.uniform(size=NUM) < 0.4
FOLD = np.arange(NUM) % 5


def test_the_scores_are_scikit_learns(monkeypatch):
    monkeypatch.setattr(fit, "STRENGTHS", (0.3,))
    values = RNG.normal(size=(NUM, 6)) * [1, 10, 100, 0.1, 1, 0] + CORRECT[:, None] * [1, 1, 1, 1, 1, 0]
    found = scores_unseen(numbers(values), CORRECT, FOLD)
    for own in range(5):
        seen = own == FOLD
        train = ~seen
        mean, std = values[train].mean(axis=0), values[train].std(axis=0)
        std[5] = 1.0
        expected = LogisticRegression(C=0.3, max_iter=1000).fit((values[train] - mean) / std, CORRECT[train])
        np.testing.assert_allclose(found[seen], -expected.decision_function((values[seen] - mean) / std))


def test_no_fit_and_no_choice_sees_the_fold_that_is_scored():
    calls = []

    def spy(train, rows):
        calls.append((set(train.tolist()), set(rows.tolist())))
        return numbers(RNG.normal(size=(NUM, 2)))(train, rows)

    scores_unseen(spy, CORRECT, FOLD)
    scored = [set(np.flatnonzero(own == FOLD).tolist()) for own in range(5)]
    ends = [at for at, (_, rows) in enumerate(calls) if rows in scored and len(calls[at][0]) == NUM - len(rows)]
    assert [calls[at][1] for at in ends] == scored
    for start, end, own in zip([0, *(at + 1 for at in ends)], ends, scored, strict=False):
        assert end - start == 3  # the parts that choose
        assert not any((train | rows) & own for train, rows in calls[start:end])
        assert not any(train & rows for train, rows in calls[start : end + 1])


def test_a_planted_leak_between_answers_to_one_question_is_closed():
    """Each question has two answers, and a feature that only tells which question it is: noise, unless it was seen."""
    question = np.arange(NUM) // 2
    correct = (np.random.default_rng(1).uniform(size=NUM // 2) < 0.5)[question]
    questions = [f"question {one}" for one in question]
    leak, sides = numbers(np.eye(NUM // 2)[question]), Sides(correct, ~correct)
    seen = scores_unseen(leak, correct, np.arange(NUM) % 2)
    unseen = scores_unseen(leak, correct, question_folds(questions, ["one"] * NUM, sides))
    assert roc_auc(seen, correct.astype(float)) > 0.95
    assert 0.3 < roc_auc(unseen, correct.astype(float)) < 0.6


def test_features_are_learned_from_training_answers_alone():
    values = RNG.normal(size=(10, 3))
    train, rows = np.arange(7), np.arange(7, 10)
    changed = values.copy()
    changed[rows] *= 50
    np.testing.assert_array_equal(numbers(values)(train, rows)[0], numbers(changed)(train, rows)[0])
    seen, unseen = words(["Au is gold", "Ag is silver", "K, K!", "other words"])(np.arange(3), np.array([3]))
    assert seen.shape == (3, 6)  # ag au gold is k silver
    assert unseen.nnz == 0
    both = together(words(["a b", "c", "d"]), numbers(np.array([[1.0], [3.0], [5.0]])))
    assert [one.shape for one in both(np.arange(2), np.array([2]))] == [(2, 4), (1, 4)]


def test_texts_without_a_word_are_no_error():
    assert scores_unseen(words(["…"] * NUM), CORRECT, FOLD).shape == (NUM,)


def test_with_few_labels_of_a_side_nothing_is_fitted():
    few = np.arange(NUM) < LEAST
    found = scores_unseen(numbers(RNG.normal(size=(NUM, 2))), few, FOLD)
    assert np.isnan(found).all()
    enough = np.arange(NUM) < 2 * LEAST
    assert np.isfinite(scores_unseen(numbers(RNG.normal(size=(NUM, 2))), enough, FOLD)).all()


def area(values, part, strength):
    """ROC-AUC on one of the three parts that choose, by a fit on the two others."""
    chosen = np.isin(FOLD, np.arange(part, 5, 3))
    fitting, judging = np.flatnonzero(~chosen), np.flatnonzero(chosen)
    scores = fit._fitted(*numbers(values)(fitting, judging), CORRECT[fitting], strength)
    return roc_auc(scores, CORRECT[judging].astype(float))


@pytest.mark.parametrize("strong", [True, False])
def test_the_penalty_is_chosen_by_what_generalises(strong):
    rng = np.random.default_rng(2)
    values = rng.normal(size=(NUM, 400 if strong else 1))
    values[:, 0] += 1.5 * CORRECT
    chosen = fit._chosen_strength(numbers(values), CORRECT, np.arange(NUM), FOLD)
    areas = {one: np.mean([area(values, part, one) for part in range(3)]) for one in fit.STRENGTHS}
    assert areas[chosen] == max(areas.values())


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
