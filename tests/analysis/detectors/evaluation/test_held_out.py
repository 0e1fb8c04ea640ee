"""Nothing is scored by a detector that saw it: planted leaks are refused; what is undefined is nan with its reason."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.detectors.evaluation.held_out import (
    SPLITS,
    Fold,
    SeenInTraining,
    detector_scores,
    plans,
    refuse_seen,
    searched,
    text_scores,
    train,
    without_tested,
)
from analysis.detectors.fit import scores_unseen, words
from analysis.stats import roc_auc
from rauq.errors import InvalidInput
from tests.analysis.detectors.evaluation.made_up import NUM, Line, Linear, features, fit_line, made_up, without

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


def test_answers_to_a_tested_question_are_left_out_of_the_fit():
    fold = Fold(np.array([0, 1, 2]), np.array([3]))
    assert without_tested(fold, ("a", "b", "c", "b")).tolist() == [0, 2]


LINE = Linear()


def scored(given, own, plan, method=LINE, **changes):
    return detector_scores(method, own, given, plan, **({"settings": 1.0, "seed": 1} | changes))


def leaking(plan):
    """The plan with an answer of the scored ones among the training answers of its first fold."""
    first = plan.folds[0]
    return replace(plan, folds=(Fold(np.append(first.train, first.test[0]), first.test), *plan.folds[1:]))


def test_each_answer_has_the_score_of_a_fit_on_the_other_folds():
    """The reference fits each fold by least squares on rows of its own."""
    given = made_up()
    own, plan = features(given, signal=1.0), plans(given)["in_domain"]
    found = scored(given, own, plan)
    for fold in plan.folds:
        kept = np.array([row for row in range(NUM) if row not in fold.test])
        x, y = np.array(own.values)[kept], 1 - given.quality[kept]
        ridge = np.vstack([np.column_stack([x - x.mean(axis=0)]), np.eye(x.shape[1])])
        weights = np.linalg.lstsq(ridge, np.append(y - y.mean(), np.zeros(x.shape[1])), rcond=None)[0]
        expected = y.mean() + (np.array(own.values)[fold.test] - x.mean(axis=0)) @ weights
        np.testing.assert_allclose(found.values[fold.test], expected, rtol=1e-9)
    assert set(found.reasons) == {""}


def test_a_planted_leak_is_refused():
    given = made_up()
    own, plan = features(given), leaking(plans(given)["in_domain"])
    with pytest.raises(SeenInTraining, match="was fitted on an answer to the question 'question"):
        scored(given, own, plan)
    with pytest.raises(SeenInTraining):
        text_scores(given, plan, seed=1)


def test_another_answer_to_a_question_of_the_fit_is_refused_too():
    given = made_up()
    plan = plans(given)["in_domain"]
    first = plan.folds[0]
    again = list(given.questions)
    again[first.test[3]] = again[first.train[5]]  # planted after the folds were made
    with pytest.raises(SeenInTraining):
        scored(replace(given, questions=tuple(again)), features(given), plan)
    kept = plans(replace(given, questions=tuple(again)))["in_domain"]
    assert any({first.test[3], first.train[5]} <= set(fold.test.tolist()) for fold in kept.folds)


def test_a_detector_refuses_its_own_training_answers():
    given = made_up()
    own, rows = features(given), np.arange(100)
    fitted = train(LINE, own, given, rows, settings=1.0, seed=1)
    assert fitted.questions == {f"question {row}" for row in rows}
    with pytest.raises(SeenInTraining):
        fitted.scores(own.values[99:102], own.reasons[99:102], given.questions[99:102])
    assert np.isfinite(fitted.scores(own.values[100:102], own.reasons[100:102], given.questions[100:102]).values).all()
    refuse_seen(["a"], ["b"])


def test_settings_are_searched_once_on_the_first_training_answers():
    given, calls = made_up(), []

    def search(features, quality, *, threshold, seed, full):
        calls.append((len(features), quality.copy(), threshold, seed, full))
        return 3.0

    plan = plans(given)["in_domain"]
    assert searched(Linear(search=search), features(given), given, plan, seed=4, full=True) == 3.0
    ((count, quality, *rest),) = calls
    assert count == len(plan.folds[0].train)
    np.testing.assert_array_equal(quality, given.quality[plan.folds[0].train])
    assert rest == [0.5, 4, True]
    assert searched(Linear(search=None), features(given), given, plan, seed=4, full=True) is None


def test_too_few_training_answers_of_a_side_are_undefined_fold_by_fold():
    given = made_up(families="ab")
    quality = np.where(np.array(given.families) == "a", given.quality, 0.0)  # without a there is no correct answer
    one_sided = replace(given, quality=quality)
    own, plan = features(given), plans(one_sided)["family_out"]
    found, text = scored(one_sided, own, plan), text_scores(one_sided, plan, seed=1)
    of_a = np.array(given.families) == "a"
    for scores in (found, text):
        assert np.isnan(scores.values[of_a]).all()
        assert np.isfinite(scores.values[~of_a]).all()
        assert set(scores.reasons[of_a]) == {"a fit would have fewer than 5 correct or incorrect answers"}
        assert scores.reason == ""
    assert searched(LINE, own, one_sided, plan, seed=1, full=False) == 1.0  # on the first fold that can be fitted
    nothing = replace(given, quality=np.zeros(NUM))
    assert "fewer than 5" in scored(nothing, own, plans(nothing)["in_domain"]).reason


def test_answers_without_features_are_neither_fitted_on_nor_scored():
    given = made_up()
    plan = plans(given)["in_domain"]
    found = scored(given, without(features(given), [3, 7]), plan)
    assert np.flatnonzero(np.isnan(found.values)).tolist() == [3, 7]
    assert found.reasons[[3, 7]].tolist() == ["not captured"] * 2
    none = scored(given, without(features(given), range(NUM)), plan)
    assert none.reason == "not captured"


def test_a_score_that_is_undefined_or_infinite_is_nan_with_its_reason():
    given = made_up()

    def fit(features, quality, **options):
        line = fit_line(features, quality, **options)

        class Odd(Line):
            def value(self, features, /):
                if features[0] > 1:
                    message = "too far away"
                    raise InvalidInput(message)
                return np.inf if features[0] < -1 else super().value(features)

        return Odd(line.weights, line.intercept)

    own = features(given)
    found = scored(given, own, plans(given)["in_domain"], Linear(fit=fit))
    first = np.array(own.values)[:, 0]
    assert set(found.reasons[first > 1]) == {"too far away"}
    assert set(found.reasons[first < -1]) == {"the detector gave no finite number"}
    assert np.array_equal(np.isnan(found.values), np.abs(first) > 1)


@pytest.mark.parametrize("failure", [InvalidInput, np.linalg.LinAlgError, ZeroDivisionError])
def test_a_fit_that_fails_says_why_and_stops_nothing(failure):
    given = made_up()

    def fit(*_arguments, **_options):
        message = "no convergence"
        raise failure(message)

    assert scored(given, features(given), plans(given)["in_domain"], Linear(fit=fit)).reason == "no convergence"


def test_quality_is_clipped_for_the_fit_and_labels_can_be_shuffled():
    given, seen = made_up(), []

    def fit(features, quality, **options):
        seen.append(quality)
        return fit_line(features, quality, **options)

    wide = replace(given, quality=np.where(given.correct, 1.4, -0.2))
    own, plan = features(given, signal=3.0), plans(wide)["in_domain"]
    found = scored(wide, own, plan, Linear(fit=fit))
    shuffled = scored(wide, own, plan, Linear(fit=fit), shuffled=True)
    for straight, mixed in zip(seen[:5], seen[5:], strict=True):
        assert set(straight) == {0.0, 1.0}
        assert not np.array_equal(straight, mixed)
        assert straight.sum() == mixed.sum()
    assert roc_auc(found.values, given.quality) > 0.95
    assert roc_auc(shuffled.values, given.quality) < 0.9
    again = scored(wide, own, plan, Linear(fit=fit), shuffled=True)
    np.testing.assert_array_equal(again.values, shuffled.values)


def test_a_method_that_is_fitted_for_minutes_is_scored_on_the_first_split_alone():
    given = made_up()
    plan = plans(given)["in_domain"]
    found = scored(given, features(given), plan, Linear(id="factoscope"))
    assert np.array_equal(np.flatnonzero(np.isfinite(found.values)), plan.folds[0].test)
    assert set(found.reasons[plan.folds[1].test]) == {"only the first split is scored, since a fit takes minutes"}


def test_the_text_classifier_finds_what_the_text_tells_and_nothing_else():
    told, plain = made_up(told=True), made_up()
    plan = plans(told)["in_domain"]
    assert roc_auc(text_scores(told, plan, seed=1).values, told.quality) > 0.95
    assert abs(roc_auc(text_scores(plain, plans(plain)["in_domain"], seed=1).values, plain.quality) - 0.5) < 0.15


def test_the_text_classifier_is_the_one_of_the_comparison_of_heads():
    """On five folds by question of one data set, without lengths, it gives what `scores_unseen` gives."""
    given = replace(made_up(told=True), lengths=np.ones((NUM, 2)))
    plan = plans(given)["in_domain"]
    fold = np.empty(NUM, dtype=int)
    for number, one in enumerate(plan.folds):
        fold[one.test] = number
    expected = scores_unseen(words(given.texts), given.correct, fold)
    np.testing.assert_allclose(text_scores(given, plan, seed=1).values, expected, atol=1e-5)
