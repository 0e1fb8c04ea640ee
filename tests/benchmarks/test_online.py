"""Scores and alarms while an answer is written: rows, findings, questions about five facts, and simulated intervals."""

import math
from dataclasses import replace

import numpy as np
import pytest

from analysis.online.alarms import RATES, Alarms, Share
from analysis.online.curves import NAMES, ONLINE_SCORES, Curves
from analysis.online.early import POINTS
from benchmarks import online
from benchmarks.online import alarms as stopping
from benchmarks.online.lists import FORMS, ITEMS, data_set, quality_of, questions
from benchmarks.online.runs import Scored
from benchmarks.online.simulated import CASES, simulated, simulated_curves

SIZE, LONGEST = 200, 10


@pytest.fixture(scope="module")
def run():
    """Answers whose RAUQ is higher where they are incorrect; nothing else tells them apart."""
    rng = np.random.default_rng(0)
    lengths, correct = rng.integers(2, LONGEST + 1, SIZE), rng.integers(0, 2, SIZE).astype(float)
    values = {name: rng.standard_normal((SIZE, LONGEST)) for name in ONLINE_SCORES}
    values["rauq"] = values["rauq"] / 4 + 2 * (correct == 0)[:, None]
    for one in values.values():
        one[np.arange(LONGEST) >= lengths[:, None]] = np.nan
    groups = tuple("ab"[place % 2] for place in range(SIZE))
    return Scored(
        "made up", Curves(values=values, lengths=lengths, correct=correct, clusters=np.arange(SIZE), groups=groups)
    )


@pytest.fixture(scope="module")
def stopped(run):
    return list(stopping.stopped_of(run, resampled=20))


def test_a_record_has_every_score_at_every_point_and_a_finding(run):
    record = online.record_of([run, run._replace(name="again")])
    assert len(record.rows) == 2 * len(online.COMPARED) * len(POINTS)
    assert record.column("score")[: len(POINTS)] == (NAMES["rauq"],) * len(POINTS)
    assert record.finding.startswith(
        "ROC-AUC of RAUQ after half of the tokens, with the heads selected so far: made up: 1.00 [0.9"
    )
    assert "; again: 1.00 [0.9" in record.finding


def test_a_point_that_no_answer_reaches_is_a_row_without_numbers(run):
    curves = replace(run.curves, lengths=np.ones(SIZE, dtype=int))
    row = next(online.rows_of(run._replace(curves=curves)))
    assert row[3] == 0
    assert row[-3:] == ("undefined", "–", "undefined")


def test_alarms_have_a_row_for_each_score_threshold_and_rate_with_rauq_first(stopped):
    assert len(stopped) == len(RATES) * (2 * len(stopping.COMPARED) - 1)
    rows = [stopping.row_of(one) for one in stopped]
    assert {row[3] for row in rows if row[2] == "one"} - {row[3] for row in rows if row[2] == "by position"} == {
        NAMES["num_tokens"]
    }
    assert all((row[-2:] == ("–", "–")) == (row[3] == NAMES["rauq"]) for row in rows)


def test_a_score_with_an_effect_is_better_than_those_without(stopped):
    rows = [stopping.row_of(one) for one in stopped if one.name in stopping.SIMPLER and one.alarms.rate == 0.1]
    assert all(row[-2].endswith(" better") for row in rows)
    text = stopping.finding(stopped)
    assert "with one threshold, than mean entropy in 3 of 3, mean −log p in 3 of 3" in text
    assert "number of tokens in 3 of 3; with one for each position, than mean entropy in 3 of 3" in text
    turned = [one._replace(alarms=one.by_rauq, by_rauq=one.alarms) for one in stopped]
    assert "than mean entropy in 0 of 3 (fewer in 3)" in stopping.finding(turned)


def test_rows_are_in_the_order_of_the_runs_and_the_rates(run, stopped, monkeypatch):
    monkeypatch.setattr(stopping, "simulated_bounds", tuple)  # which take minutes
    again = [one._replace(run="again") for one in stopped]
    record = stopping.record_of([run, run._replace(name="again")], [*again, *stopped])
    of_run = len(record.rows) // 2
    assert record.column("run") == ("made up",) * of_run + ("again",) * of_run
    rates = record.column("correct that may be stopped, %")[:of_run]
    assert list(rates) == sorted(rates)
    correct = int((run.curves.correct == 1).sum())
    assert f"made up: {correct} correct, {SIZE - correct} incorrect; again: {correct}" in record.notes[0]


def test_shares_are_whole_percents_with_their_interval_and_differences_have_a_sign():
    assert stopping.percent(Share(0.304, 0.2, 0.396)) == "30 [20, 40]"
    assert stopping.percent(Share(-0.002, -0.25, 0.031), sign="+") == "+0 [−25, +3]"
    assert stopping.percent(Share(math.nan, math.nan, math.nan)) == "–"


@pytest.mark.parametrize(("shift", "word"), [(0.5, " better"), (0.0, ""), (-0.5, " worse")])
def test_a_difference_is_called_one_where_its_interval_excludes_0(shift, word):
    values = np.linspace(-0.1, 0.1, 101) + shift
    assert stopping.verdict(values) == word
    assert stopping.difference(values).endswith(f"]{word}")


def test_a_rate_that_too_few_correct_answers_allow_has_dashes():
    nothing = np.full(11, math.nan)
    alarms = Alarms(rate=0.05, correct=nothing, incorrect=nothing, saved=nothing)
    row = stopping.row_of(stopping.Stopped("made up", "one", "mean_entropy", alarms, alarms))
    assert row[4:] == ("–",) * 5


def test_a_question_names_five_subjects_of_which_none_is_asked_twice_or_in_the_worked_example():
    asked = questions()
    subjects = [(fact.family.id, fact.subject) for one in asked for fact in one.facts]
    assert len(set(subjects)) == len(subjects) == ITEMS * len(asked)
    for one in asked:
        assert {fact.family.id for fact in one.facts} == {one.family} <= set(FORMS)
        assert not {fact.subject for fact in one.facts} & {fact.subject for fact in one.worked}
        assert one.prompt.endswith(f"Question: {one.question}\nAnswer:\n")
        assert all(fact.subject in one.question for fact in one.facts)
    examples = data_set(asked).examples
    assert [one.prompt for one in examples] == [one.prompt for one in asked]


def test_an_answer_is_correct_where_each_line_names_its_fact():
    for asked in questions()[:20]:
        lines = [FORMS[asked.family].sentence.format(fact.subject, fact.accepted[0]) for fact in asked.facts]
        assert quality_of(asked, "\n".join(lines)) == 1
        assert quality_of(asked, "\n\n".join(lines)) == 1
        assert quality_of(asked, "\n".join(lines[:-1])) == 0
        assert quality_of(asked, "\n".join([*lines[:-1], lines[0]])) == 0


@pytest.mark.parametrize("case", CASES, ids=str)
def test_simulated_answers_are_higher_by_their_effects(case):
    curves = simulated_curves(np.random.default_rng(0), replace(case, size=20_000))
    wrong = curves.correct == 0
    assert (~wrong).mean() == pytest.approx(case.correct, abs=0.01)
    for values, effect in zip(curves.values.values(), (case.first, case.second), strict=True):
        first = values[:, 0]
        assert first[wrong].mean() - first[~wrong].mean() == pytest.approx(effect, abs=0.08)
        np.testing.assert_array_equal(np.isnan(values).sum(axis=1), values.shape[1] - curves.lengths)


def test_intervals_of_simulated_alarms_hold_the_truth():
    found = simulated(CASES[0], by_position=False, simulations=12, resampled=100)
    assert found.share_covered >= 0.75
    assert found.difference_covered >= 0.75
    assert found.claimed <= 0.25
