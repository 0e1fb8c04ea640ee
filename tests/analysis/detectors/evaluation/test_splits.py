"""Splits: no question is on both sides of a fold, every answer is scored once, and what cannot be split says why."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.detectors.evaluation.answers import question_key
from analysis.detectors.evaluation.splits import SPLITS, Fold, plans, without_tested
from tests.analysis.detectors.evaluation.made_up import NUM, made_up

REPEATED = tuple(f"question {place % 97}" for place in range(NUM))


def are_tested_once(plan, rows):
    return np.array_equal(np.sort(np.concatenate([fold.test for fold in plan.folds])), rows)


@pytest.mark.parametrize("data", [("one",), ("one", "two", "three")])
@pytest.mark.parametrize("questions", [None, REPEATED], ids=["different", "repeated"])
def test_no_question_is_on_both_sides_of_any_fold(data, questions):
    given = made_up(data=data)
    given = given if questions is None else replace(given, questions=questions)
    for split, plan in plans(given).items():
        for fold in plan.folds:
            sides = [{given.questions[row] for row in rows} for rows in (fold.train, fold.test)]
            assert not sides[0] & sides[1], split


def test_in_domain_is_five_folds_of_each_data_set_and_scores_all_once():
    given = made_up(data=("one", "two"))
    plan = plans(given)["in_domain"]
    assert len(plan.folds) == 10
    assert are_tested_once(plan, np.arange(NUM))
    for fold in plan.folds:
        assert len({given.data[row] for row in (*fold.train, *fold.test)}) == 1
    assert plan.parts == given.data


def test_out_of_domain_holds_out_one_data_set_and_drops_what_it_asks_too():
    given = made_up(data=("one", "two", "three"))
    shared = replace(given, questions=(given.questions[1], *given.questions[1:]))  # the first of "two" is in "one" too
    plan = plans(shared)["out_of_domain"]
    assert are_tested_once(plan, np.arange(NUM))
    assert [{shared.data[row] for row in fold.test} for fold in plan.folds] == [{"one"}, {"two"}, {"three"}]
    assert plan.dropped == 2
    assert 1 not in plan.folds[0].train
    assert 0 not in plan.folds[1].train
    assert {0, 1} <= set(plan.folds[2].train.tolist())


def test_a_family_is_scored_by_fits_on_the_others_of_its_data_set():
    given = made_up(data=("one", "two"))
    plan = plans(given)["family_out"]
    assert are_tested_once(plan, np.arange(NUM))
    for fold in plan.folds:
        assert not {given.families[row] for row in fold.train} & {given.families[row] for row in fold.test}
        assert len({given.data[row] for row in (*fold.train, *fold.test)}) == 1
    assert set(plan.parts) == {f"{data}: {family}" for data in ("one", "two") for family in "abcd"}


def test_a_question_in_two_families_holds_both_out():
    given = made_up()
    shared = replace(given, questions=(given.questions[1], *given.questions[1:]))
    joined = [fold for fold in plans(shared)["family_out"].folds if 0 in fold.test]
    assert {shared.families[row] for row in joined[0].test} == {"a", "b"}


def test_what_cannot_be_split_says_why():
    one = plans(made_up(families="a"))
    assert "one data set" in one["out_of_domain"].reason
    assert "several families" in one["family_out"].reason
    same = replace(made_up(), questions=("same",) * NUM)
    found = plans(same)
    assert "one question" in found["in_domain"].reason
    assert all(not found[split].folds and found[split].reason for split in SPLITS)
    assert found["in_domain"].tested.size == 0


def test_equal_questions_have_one_key():
    assert question_key("Who wrote  Émile?") == question_key("who wrote Emile")
    assert question_key("2 + 2?") != question_key("2 - 2?")
    assert question_key(" ?! ") == "?!"


def test_answers_to_a_tested_question_are_left_out_of_the_fit():
    fold = Fold(np.array([0, 1, 2]), np.array([3]))
    assert without_tested(fold, ("a", "b", "c", "b")).tolist() == [0, 2]
