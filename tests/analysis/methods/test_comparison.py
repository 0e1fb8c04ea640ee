"""Methods side by side: each as if alone, undefined ones named and never ranked, means over groups, one oracle."""

import time

import numpy as np
import pytest

from analysis.intervals import estimate
from analysis.methods.comparison import WITHIN, compare, groups_of, marks, rejections
from analysis.quality.judgement import Thresholds
from analysis.stats import prr, rejection_curve, roc_auc
from rauq.errors import InvalidInput
from tests.analysis.methods.made_up import SKILL, made_up

METRICS = pytest.mark.parametrize("metric", ["prr", "roc_auc"])


def compared(answers, *, metric="prr", methods=tuple(SKILL), **options):
    groups = groups_of(list(answers["group"]))
    return compare(answers, methods, groups, metric=metric, thresholds=Thresholds(roc=0.4), **options)


def values_of(estimates):
    return np.array([one.value for one in estimates])


@METRICS
def test_every_method_is_estimated_as_if_it_were_alone(metric):
    answers = made_up()
    found = compared(answers, metric=metric)
    assert (found.groups, found.methods) == (("all", WITHIN, "a", "b"), tuple(SKILL))
    for group in ("all", "a", "b"):
        own = answers if group == "all" else answers[answers["group"] == group]
        truth = own["quality"] if metric == "prr" else own["quality"] > 0.4
        for method, got in zip(found.methods, found.of_group(group), strict=True):
            alone = estimate(prr if metric == "prr" else roc_auc, own[method].to_numpy(), truth.to_numpy())
            assert (got.n, got.excluded, got.reason) == (alone.n, 0, "")
            assert (got.value, got.low, got.high) == pytest.approx((alone.value, alone.low, alone.high))


@METRICS
def test_the_mean_is_over_groups_and_its_interval_narrower_than_theirs(metric):
    found = compared(made_up(400), metric=metric)
    for _, mean, *own in found.estimates:
        assert mean.value == pytest.approx(values_of(own).mean())
        assert mean.low < mean.value < mean.high
        assert mean.high - mean.low < min(one.high - one.low for one in own)
    assert values_of(found.of_group(WITHIN)).argmax() == 0
    assert (found.mean_ranks[0], found.mean_ranks[-1]) == (1, 4)


def test_a_single_group_has_no_mean_and_its_own_ranks():
    found = compared(made_up(groups=("a",)))
    assert found.groups == ("all",)
    assert found.mean_ranks.tolist() == [1, 2, 3, 4]


@METRICS
def test_a_group_without_a_ranking_is_left_out_of_the_mean_and_of_the_ranks(metric):
    answers = made_up(160, groups=("a", "b", "alike", "few"))
    answers.loc[answers["group"] == "alike", "quality"] = 1.0
    answers = answers.drop(index=answers.index[answers["group"] == "few"][3:]).assign(
        quality=lambda table: table["quality"].round()
    )
    answers.loc[answers["group"] == "few", "quality"] = [1.0, 1.0, 1.0]
    found = compared(answers, metric=metric)
    two = compared(answers[answers["group"].isin(["a", "b"])], metric=metric)
    for mean, alone in zip(found.of_group(WITHIN), two.of_group(WITHIN), strict=True):
        assert (mean.value, mean.low, mean.high) == pytest.approx((alone.value, alone.low, alone.high))
        assert (mean.n, mean.excluded, mean.reason) == (80, 43, "")
    np.testing.assert_array_equal(found.mean_ranks, two.mean_ranks)


def test_where_no_group_can_be_ranked_the_mean_is_undefined():
    answers = made_up(60)
    found = compared(answers.assign(quality=(answers["group"] == "a").astype(float)))
    assert {one.reason for one in found.of_group(WITHIN)} == {
        "no group has correct and incorrect answers to at least 5 questions each"
    }
    assert np.isnan(found.mean_ranks).all()
    assert not any(one.reason for one in found.of_group("all"))


def test_a_group_with_one_incorrect_answer_is_left_out_of_the_mean():
    answers = made_up(400, groups=("a", "b"))
    answers = answers.drop(index=answers.index[answers["group"] == "b"][12:])
    answers.loc[answers["group"] == "b", "quality"] = [0.0] + [1.0] * 11
    found = compared(answers)
    for whole, mean, first, second in found.estimates:
        assert (mean.value, mean.low, mean.high) == pytest.approx((first.value, first.low, first.high))
        assert (whole.no_interval, first.no_interval) == ("", "")
        assert second.no_interval == "1 incorrect answer is too few"
        assert np.isnan(second.low)


def test_an_undefined_method_is_named_never_ranked_and_changes_no_other():
    answers = made_up()
    plain = compared(answers)
    answers.loc[answers["group"] == "a", "msp"] = np.nan
    found = compared(answers)
    place = found.methods.index("msp")
    undefined = found.of_group("a")[place]
    assert np.isnan([undefined.value, undefined.low, undefined.high, found.mean_ranks[place]]).all()
    assert "at least 2 are needed" in undefined.reason
    assert found.of_group(WITHIN)[place].reason == "undefined in 1 of 2 groups"
    assert marks(found.of_group("a"))[place] == 0
    assert found.of_group("b") == plain.of_group("b")
    assert found.estimates[0] == plain.estimates[0]
    assert (found.of_group("all")[place].n, found.of_group("all")[place].excluded) == (60, 60)


def test_too_few_answers_are_undefined():
    answers = made_up(40)
    answers.loc[3:, "msp"] = np.nan
    found = compared(answers).of_group("all")[2]
    assert np.isnan([found.value, found.low, found.high]).all()
    assert found.reason == "only 3 answers: too few for rejection"


@pytest.mark.parametrize(("quality", "words"), [(0.9, "correct"), (0.4, "incorrect")])
def test_without_two_kinds_of_answers_there_is_no_roc_auc(quality, words):
    found = compared(made_up().assign(quality=quality), metric="roc_auc")
    assert {one.reason for one in found.of_group("all")} == {f"all 120 answers are {words}: ranking is undefined"}


def test_no_quality_is_no_ranking():
    found = compared(made_up().assign(quality=np.nan))
    assert all(one.reason.startswith("no answers with both") and one.excluded == 120 for one in found.of_group("all"))
    assert np.isnan(found.mean_ranks).all()
    assert not marks(found.of_group(WITHIN)).any()


@METRICS
def test_the_order_of_answers_and_of_methods_does_not_count(metric):
    answers = made_up()
    plain = compared(answers, metric=metric)
    shuffled = compared(answers.sample(frac=1, random_state=0).reset_index(drop=True), metric=metric)
    np.testing.assert_allclose(values_of(shuffled.of_group(WITHIN)), values_of(plain.of_group(WITHIN)))
    turned = compared(answers, metric=metric, methods=tuple(SKILL)[::-1])
    assert turned.of_group(WITHIN) == plain.of_group(WITHIN)[::-1]


def test_the_best_and_the_second_are_marked_equal_ones_alike():
    answers = made_up()
    answers["msp"] = answers["rauq"]
    found = compared(answers)
    np.testing.assert_array_equal(marks(found.of_group("all")), [1, 2, 1, 0])
    np.testing.assert_array_equal(found.mean_ranks, [1.5, 3, 1.5, 4])


@METRICS
def test_many_answers_take_well_under_a_second(metric):
    answers = made_up(20_000)
    started = time.process_time()
    compared(answers, metric=metric)
    assert time.process_time() - started < 1


def test_a_method_without_a_column_is_refused():
    with pytest.raises(InvalidInput, match=r"have no column sar; their columns are quality, group, rauq"):
        compared(made_up(), methods=("rauq", "sar"))


def test_all_curves_are_of_the_same_answers():
    answers = made_up()
    answers.loc[:9, "msp"] = np.nan
    answers.loc[5:14, "quality"] = np.nan
    methods = ("rauq", "msp")
    found = rejections({name: answers[name].to_numpy() for name in methods}, answers["quality"].to_numpy())
    assert (found.methods, found.n, found.excluded) == (methods, 105, 15)
    alone = rejection_curve(answers["rauq"].to_numpy()[15:], answers["quality"].to_numpy()[15:])
    np.testing.assert_array_equal(found.curves[0].kept_quality, alone.kept_quality)
    np.testing.assert_array_equal(found.curves[0].oracle, found.curves[1].oracle)


def test_methods_without_a_common_answer_have_empty_curves():
    found = rejections({"rauq": np.array([1.0, np.nan]), "msp": np.array([np.nan, 1.0])}, np.array([0.0, 1.0]))
    assert (found.n, found.excluded) == (0, 2)
    assert not len(found.curves[0].rejected)
