"""What is left of a signal: planted ones are found, leaks are caught, and every number has an independent check."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import rauq
from analysis.answer_sets.separation import areas, difference_of_areas, labelled
from analysis.datasets.columns import Columns
from analysis.stats import in_words, roc_auc
from analysis.survival.asked import labelled_signals, survive
from analysis.survival.beyond import beyond, fit
from analysis.survival.controls import crossed
from analysis.survival.labelled import LabelledUnits, Signal, drawn
from analysis.survival.ladder import BEYOND, LEFT_OUT, ladder_of, ladder_on, prepare
from analysis.survival.planted import self_test
from analysis.survival.sentences import in_lines, more, shown_table, verdict
from benchmarks.survival import claims, simulated_answers
from rauq.errors import InvalidInput
from tests.analysis.report.made_run import made_run

NUM = 200


@pytest.fixture(scope="module")
def given():
    return simulated_answers(np.random.default_rng(3), NUM)


def signal(values):
    return Signal(name="mine", values=np.asarray(values, dtype=float), replaced={})


def test_planted_signals_are_found_and_planted_leaks_caught(given):
    found = self_test(prepare(given[0]), random=40)
    assert [one.survives for one in found.planted] == [True, True, False, False, False, False]
    assert found.surviving <= 2
    assert found.holds


def test_risk_that_the_controls_know_adds_nothing_and_a_claim_is_rare(given):
    answers, risk = given
    noise = np.random.default_rng(0).normal(size=NUM)
    assert not ladder_of(answers, signal(risk + noise)).survives
    assert claims(100, simulations=20).claimed <= 1


def test_an_increasing_function_of_a_signal_changes_no_number(given):
    answers, _ = given
    values = answers.incorrect + np.random.default_rng(1).normal(size=NUM)
    prepared = prepare(answers)
    one, other = (ladder_on(prepared, signal(own)) for own in (values, np.exp(3 * values)))
    assert one.rungs == other.rungs
    assert one.survives
    assert one.of(BEYOND).p < 0.01


def test_a_low_signal_that_tells_is_said_to_be_reversed(given):
    answers, _ = given
    values = -2.0 * answers.incorrect + np.random.default_rng(1).normal(size=NUM)
    assert "low signal" in ladder_of(answers, signal(values)).of(BEYOND).note


def test_the_fits_are_those_of_scikit_learn():
    rng = np.random.default_rng(2)
    control, signals, incorrect = rng.normal(size=80), rng.normal(size=(3, 80)), rng.uniform(size=80) < 0.4
    for own, found in zip(signals, fit(control, signals, incorrect), strict=True):
        columns = np.column_stack([np.ones(80), control, own])
        expected = LogisticRegression(C=100, fit_intercept=False, tol=1e-10, max_iter=1000).fit(columns, incorrect)
        np.testing.assert_allclose(found, expected.coef_[0], atol=1e-5)


def test_a_difference_of_areas_is_that_of_the_areas_and_none_of_a_signal_and_itself(given):
    answers, _ = given
    rng = np.random.default_rng(4)
    one, other = rng.normal(size=(2, NUM, 1))
    counted = labelled(one, answers.sides, ["all"] * NUM, clusters=answers.clusters)
    found = difference_of_areas(one, other, counted)
    assert found.value == pytest.approx(float(areas(one, counted)[0] - areas(other, counted)[0]))
    assert found.low < found.value < found.high
    same = difference_of_areas(one, one, counted)
    assert (same.value, same.low, same.high) == (0, 0, 0)


def test_no_fit_sees_what_it_is_judged_on(given):
    answers, _ = given
    fold, seen = np.arange(NUM) % 5, []

    def spy(train, rows):
        seen.append((set(fold[train]), set(fold[rows])))
        return np.ones((len(train), 1)), np.ones((len(rows), 1))

    found = crossed(spy, answers.incorrect, fold)
    assert found.is_whole
    assert len(seen) == 15
    assert not any(train & rows for train, rows in seen)
    assert all(np.isnan(found.inner[own][fold == own]).all() for own in range(5))


def test_alone_is_the_area_of_the_signal_and_chance_surrounds_a_leak_of_the_group(given):
    answers, _ = given
    rate = {name: answers.incorrect[np.array(answers.groups) == name].mean() for name in set(answers.groups)}
    values = np.array([rate[name] for name in answers.groups])
    found = ladder_of(answers, signal(values))
    assert found.of("alone").estimate.value == pytest.approx(roc_auc(values, ~answers.incorrect))
    chance = found.of("chance").estimate
    assert chance.low == chance.high == pytest.approx(found.of("alone").estimate.value)
    assert found.of("chance").p == 1
    assert not found.survives


def test_answers_without_a_signal_are_left_out_and_said(given):
    answers, _ = given
    values = np.random.default_rng(1).normal(size=NUM)
    values[:7] = np.nan
    found = ladder_of(replace(answers, unjudged=4), signal(values))
    assert (found.units, found.without_signal, found.unjudged) == (NUM - 7, 7, 4)
    assert "Left out: 7 without the signal and 4 without a verdict." in more(found)


def test_of_many_answers_whole_questions_are_drawn():
    answers, _ = simulated_answers(np.random.default_rng(0), 60)
    twice = replace(answers, clusters=np.repeat(np.arange(30), 2))
    used = drawn(twice, 21, seed=0)
    assert used.sum() == 20
    assert (used[::2] == used[1::2]).all()
    assert drawn(twice, 60, seed=0).all()


@pytest.mark.parametrize("wrong", [0, 12])
def test_answers_of_one_side_or_too_few_are_refused(given, wrong):
    answers, _ = given
    some = answers.among(answers.incorrect if not wrong else np.arange(NUM) < wrong)
    with pytest.raises(InvalidInput, match="At least 20 are needed, correct and incorrect ones"):
        ladder_of(some, signal(np.arange(len(some.incorrect))))


def test_one_group_one_question_and_no_words_are_said_and_break_nothing(given):
    answers, risk = given
    bare = replace(answers, groups=("",) * NUM, questions=("?",) * NUM, texts=("…",) * NUM)
    found = ladder_of(bare, signal(risk))
    assert LEFT_OUT not in {rung.id for rung in found.rungs}
    assert found.of("group").estimate.reason == "all answers are of one group"
    assert found.controls == ("words", "length")
    assert verdict(found).startswith("Beyond words and length, mine adds")


def frame_of(answers: LabelledUnits, values):
    return pd.DataFrame(
        {
            "question": answers.questions,
            "answer": answers.texts,
            "incorrect": answers.incorrect.astype(int),
            "topic": answers.groups,
            "mine": values,
        }
    )


COLUMNS = Columns(prompt="question", answer="answer", incorrect="incorrect", group="topic")


def test_a_column_of_a_table_is_a_signal_without_a_model(given):
    answers, _ = given
    values = 2.0 * answers.incorrect + np.random.default_rng(5).normal(size=NUM)
    frame = frame_of(answers, values)
    frame.loc[3, "mine"] = None
    found = survive(frame, "mine", columns=COLUMNS)
    assert found.survives
    assert (found.units, found.without_signal) == (NUM - 1, 1)
    np.testing.assert_array_equal(labelled_signals(frame, ["mine"], columns=COLUMNS)[0].incorrect, answers.incorrect)


@pytest.mark.parametrize(
    ("change", "column", "message"),
    [
        ({}, "yours", "no column 'yours'. It has 'question'"),
        ({"mine": ["high"] * NUM}, "mine", "Row 1 of data frame: 'mine' is 'high'; a finite number is needed"),
        ({"incorrect": [""] * NUM}, "mine", "no answer with a verdict"),
    ],
)
def test_a_table_that_cannot_be_used_says_why(given, change, column, message):
    frame = frame_of(given[0], given[1]).assign(**change)
    with pytest.raises(InvalidInput, match=message):
        survive(frame, column, columns=COLUMNS)


def test_without_a_column_of_verdicts_one_is_asked_for(given):
    frame = frame_of(given[0], given[1])
    with pytest.raises(InvalidInput, match="No column of data frame says which answers are incorrect"):
        survive(frame, "mine", columns=Columns(prompt="question", answer="answer", group="topic"))


def test_a_method_of_ones_own_and_the_attention_of_rauq_on_a_run(tmp_path):
    run = made_run(tmp_path / "made", quality=[float(number % 3 > 0) for number in range(45)])
    own = rauq.Method(id="longest", name="Longest", compute=lambda evidence: float(len(evidence.trace.pieces)))
    found = survive(run, own)
    np.testing.assert_array_equal(labelled_signals(run, [own])[1][0].values, run.lengths)
    assert "attention_constant" not in {rung.id for rung in found.rungs}
    rungs = {rung.id: rung for rung in survive(run, "rauq").rungs}
    assert {"attention_another", "attention_constant"} <= set(rungs)
    assert in_words(rungs["attention_constant"].estimate)
    with pytest.raises(InvalidInput, match=r"no method 'other'; it has rauq"):
        survive(run, "other")


def test_every_rung_has_a_line_and_a_row(given):
    found = ladder_of(given[0], signal(given[1]))
    assert len(in_lines(found)) == len(found.rungs) + 1
    assert len(shown_table(found)) == len(found.rungs)
    assert verdict(found).startswith("Beyond words, length and group, mine adds ")


def test_p_is_how_often_shuffled_signals_do_as_well(given):
    answers, _ = given
    prepared = prepare(answers)
    values = np.random.default_rng(9).normal(size=(30, NUM))
    p = [beyond(own, answers, prepared.together, prepared.fold, permutations=49).p for own in values]
    assert min(p) >= 0.02
    assert 0.3 < np.mean(p) < 0.75
