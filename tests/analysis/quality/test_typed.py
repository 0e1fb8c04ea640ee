"""A typed correct answer finds the measure that suits it; the measures themselves are tested beside this file."""

import math

import pytest

from analysis.datasets.facts.tables import facts
from analysis.quality.facts import family_of
from analysis.quality.judgement import Thresholds
from analysis.quality.measures import judge_typed, last_question


@pytest.mark.parametrize(
    ("prompt", "question"),
    [
        ("What is it? ", "What is it?"),
        ("A text.\nWhat is it?", "A text.\nWhat is it?"),
        ("Q: One?\nA: 1\n\nQ: Two?\nA:", "Two?"),
        ("Question: Two?\nAnswer: ", "Two?"),
        ("A:", ""),
        ("", ""),
    ],
)
def test_the_last_question_of_worked_examples_is_what_was_asked(prompt, question):
    assert last_question(prompt) == question


def test_every_question_of_facts_is_of_its_family():
    for fact in facts():
        assert family_of(f" {fact.question.upper()}\n", ()) == fact.family.id


@pytest.mark.parametrize(
    ("question", "family"),
    [
        ("Who is the author of Paradise?", "authors"),
        ("Who is the author of Paradise? Say why.", "capitals"),
        ("I ask: who is the author of Paradise?", "capitals"),
    ],
)
def test_the_question_comes_before_the_names(question, family):
    assert family_of(question, ["Oslo"]) == family


@pytest.mark.parametrize(
    ("references", "family"),
    [
        (["Oslo"], "capitals"),
        (["the baht"], "currencies"),
        (["Oslo", "Canberra"], "capitals"),
        (["Oslo", "baht"], ""),
        (["79"], ""),
        (["Quxton"], ""),
        ([], ""),
    ],
)
def test_names_of_one_kind_stand_for_a_family(references, family):
    assert family_of("Which one?", references) == family


@pytest.mark.parametrize(
    ("correct_answer", "measure"),
    [("Oslo", "facts"), ("27 | 28", "contains"), ("one two three four five six", "token_f1")],
)
def test_the_measure_follows_from_the_typed_answer(correct_answer, measure):
    ruling = judge_typed("Which one?", correct_answer, f"It is {correct_answer.split(' | ')[-1]}")
    assert ruling.measure.id == measure


@pytest.mark.parametrize("text", ["?!", " | ", "…"])
def test_a_typed_answer_without_words_decides_nothing(text):
    assert judge_typed("Which one?", text, "It is Oslo").correct is None


@pytest.mark.parametrize(
    ("quality", "correct"), [(1, True), (0.9, None), (0.5, None), (0.1, None), (0.0, False), (math.nan, None)]
)
def test_thresholds_leave_a_band_undecided(quality, correct):
    assert Thresholds().decide(quality) is correct
