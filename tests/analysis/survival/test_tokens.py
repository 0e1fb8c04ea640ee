"""The ladder of tokens: answers are the units of its intervals, and a table gives the numbers of the run it is from."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from analysis.runs.library import bundled_folder
from analysis.runs.opened import open_run
from analysis.runs.traces import tokens
from analysis.stats import roc_auc
from analysis.survival.asked import survive
from analysis.survival.controls import capitals, unasked
from analysis.survival.judged import area_within, difference_within, mean_areas
from analysis.survival.labelled import Signal, by_chance
from analysis.survival.ladder import begins, ladder_of, prepare
from analysis.survival.planted import self_test
from analysis.survival.tokens import tokens_of_run, words_of
from benchmarks.token_simulations import runs_of_noise, simulated_tokens, token_claims
from rauq.errors import InvalidInput
from rauq.methods.method import Method

ANSWERS = 40


@pytest.fixture(scope="module")
def given():
    return simulated_tokens(np.random.default_rng(3), ANSWERS)


def signal(values):
    return Signal(name="mine", values=np.asarray(values, dtype=float), replaced={})


def of_each(values, given):
    """ROC-AUC of every answer that has correct and incorrect tokens, one by one."""
    rows = (np.flatnonzero(given.answer == own) for own in np.unique(given.answer))
    found = [roc_auc(values[own], ~given.incorrect[own]) for own in rows]
    return np.array([one for one in found if not np.isnan(one)])


def test_within_answers_is_the_mean_of_the_areas_of_the_answers(given):
    labelled, risk = given
    noise = runs_of_noise(np.random.default_rng(0), labelled.answer)
    each, other = of_each(risk + noise, labelled), of_each(noise, labelled)
    found = area_within(risk + noise, labelled, labelled.answer)
    assert (found.value, found.n) == (pytest.approx(each.mean()), len(each))
    drawn = np.random.default_rng(1).choice(each, size=(4000, len(each))).mean(axis=1)
    np.testing.assert_allclose((found.low, found.high), np.quantile(drawn, (0.025, 0.975)), atol=0.02)
    less = difference_within((risk + noise)[:, None], noise[:, None], labelled, labelled.answer)
    assert less.value == pytest.approx((each - other).mean())
    both = mean_areas(np.column_stack([risk + noise, noise]), labelled, labelled.answer)
    np.testing.assert_allclose(both, [each.mean(), other.mean()])


def test_planted_signals_are_found_leaks_are_caught_and_claims_without_an_effect_are_rare(given):
    found = self_test(prepare(given[0]), random=20)
    assert found.holds
    assert found.surviving <= 2
    assert token_claims(20, simulations=10).claimed <= 1


def test_values_by_chance_are_those_of_the_answer_turned_in_a_circle(given):
    labelled, risk = given
    for values in by_chance(risk, labelled, count=5, seed=0):
        for own in range(ANSWERS):
            rows = np.flatnonzero(labelled.answer == own)
            turns = [np.roll(risk[rows], step) for step in range(len(rows))]
            assert any(np.array_equal(values[rows], turned) for turned in turns)


def test_a_span_begins_where_its_predecessor_is_correct_or_of_another_answer(given):
    labelled, _ = given
    some = labelled.take(np.arange(6))
    answer, place = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 2, 0, 1, 3])
    made = replace(some, answer=answer, place=place, incorrect=np.array([1, 1, 0, 1, 0, 1], dtype=bool))
    assert begins(made).tolist() == [True, False, False, True, False, True]
    last = replace(made, incorrect=np.array([0, 0, 1, 1, 1, 1], dtype=bool))
    assert begins(last).tolist() == [False, False, True, True, False, True]


def test_the_first_token_of_a_span_is_judged_apart_from_the_others(given):
    labelled, _ = given
    values = 5.0 * begins(labelled) + runs_of_noise(np.random.default_rng(2), labelled.answer)
    found = ladder_of(labelled, signal(values))
    assert found.of("first").estimate.value > 0.99
    assert found.of("later").estimate.value == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        ((" Mic", "hel", "angelo", ",", " 15", "03"), ["Michelangelo"] * 3 + [",", "1503", "1503"]),
        ((" an", " É", "mile", ".\n"), ["an", "Émile", "Émile", "."]),
        (("", "🦀", " x"), ["", "🦀", "x"]),
        (("一" * 31, "二"), ["一" * 31, "二"]),
        ((), []),
    ],
)
def test_the_word_of_a_token(pieces, words):
    assert words_of(pieces) == words


def test_controls_of_words():
    assert capitals(["Oslo", "oslo", "7", "é", "Émile", ""]).tolist() == [1, 0, 1, 0, 1, 0]
    assert unasked(["Norway", "Oslo"], ["The capital of norway?"] * 2).tolist() == [0, 1]


def table_of(run, found, rows, values):
    """Some tokens of a run, with the others of their answers, which have no verdict, as a table."""
    some, judged = found.given.take(rows), np.flatnonzero(np.isfinite(run.answers["quality"].to_numpy(dtype=float)))
    own, texts = np.unique(some.answer), tokens(run)
    written = [(str(one), text, run.questions[judged[one]]) for one in own for text in texts[judged[one]].texts]
    frame = pd.DataFrame(written, columns=["id", "token", "question"]).assign(incorrect="", mine=None)
    starts = np.cumsum([0, *(len(texts[judged[one]].texts) for one in own)])
    place = starts[np.searchsorted(own, some.answer)] + some.place
    frame.loc[place, "incorrect"] = some.incorrect.astype(int).astype(str)
    frame.loc[place, "mine"] = values
    return frame


def test_a_table_of_a_run_gives_the_numbers_of_the_run():
    run = open_run(bundled_folder())
    found = tokens_of_run(run)
    whole = [
        row for row, own in enumerate(tokens(run)) if row % 8 == 0 and all(text.strip() for text in own.texts[:-1])
    ]
    rows = np.flatnonzero(np.isin(found.given.answer, whole))
    collapse = found.signal("collapse").among(rows)
    one = survive(table_of(run, found, rows, collapse.values), "mine", level="tokens")
    other = ladder_of(found.given.take(rows), signal(collapse.values))
    assert one.units == other.units
    for name in ("alone", "within", "first", "later", "same_place"):
        assert one.of(name).estimate.value == pytest.approx(other.of(name).estimate.value, abs=1e-9), name


def test_signals_of_a_run_have_a_ladder_and_collapse_one_without_its_attention():
    run = open_run(bundled_folder())
    found = tokens_of_run(run, np.arange(0, 798, 20))
    rungs = {name: ladder_of(found.given, found.signal(name)).rungs for name in ("collapse", "entropy")}
    assert {rung.id for rung in rungs["collapse"]} - {rung.id for rung in rungs["entropy"]} == {
        "attention_another",
        "attention_constant",
    }
    assert all(np.isfinite(rung.estimate.value) or rung.estimate.reason for own in rungs.values() for rung in own)


FRAME = {"id": ["a"] * 3 + ["b"] * 3, "token": ["x", " y", " z"] * 2, "incorrect": [0, 1, 0] * 2, "mine": [1.0] * 6}


@pytest.mark.parametrize(
    ("change", "name", "message"),
    [
        ({}, "yours", "no column 'yours'"),
        ({"token": None}, "mine", "no column 'token'"),
        ({"incorrect": None}, "mine", "No column of data frame says which tokens are incorrect"),
        ({"incorrect": ["perhaps"] * 6}, "mine", "Row 1 of data frame: 'incorrect' is 'perhaps'"),
        ({"mine": ["high"] * 6}, "mine", "Row 1 of data frame: 'mine' is 'high'"),
        ({}, "mine", "Too few tokens: data frame has 6"),
        ({"token": [" "] * 6}, "mine", "no token with a verdict"),
    ],
)
def test_a_table_of_tokens_that_cannot_be_used_says_why(change, name, message):
    columns = {key: value for key, value in (FRAME | change).items() if value is not None}
    with pytest.raises(InvalidInput, match=message):
        survive(pd.DataFrame(columns), name, level="tokens")


def test_what_tokens_of_a_run_do_not_have_is_refused():
    run = open_run(bundled_folder())
    with pytest.raises(InvalidInput, match=r"no signal 'msp' of tokens. A run has collapse, probability, entropy and"):
        survive(run, "msp", level="tokens")
    with pytest.raises(InvalidInput, match="gives a number of an answer"):
        survive(run, Method(id="own", name="Own", compute=lambda _evidence: 1.0), level="tokens")
