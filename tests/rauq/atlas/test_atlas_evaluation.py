"""The judge of the embedded model's answers: laws over every held-out prompt."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rauq.atlas.evaluation import FAMILIES, FILLERS, Example, Fact, judge, load_examples, same_facts

EXAMPLES = {family: load_examples(family) for family in FAMILIES}
EVERY = [example for family in FAMILIES for example in EXAMPLES[family]]
CAPITAL = Example(
    "places-x",
    "places",
    "seen 31+",
    "Q: What is the capital of France?\nA:",
    "The capital of France is Paris.",
    ("The capital of France is {capital}.", "It is {capital}.", "{capital}."),
    (Fact("capital", ("Paris",)),),
)


def filled(example, wording, change=None):
    """An answer in a wording, with every fact that it states at its truth, or at "X" for the changed one."""
    values = {fact.name: (fact.accepted or ("Xyz",))[0] for fact in example.facts}
    return wording.format(**(values | ({change: "Xyz"} if change else {})))


def stated_in(wording, example):
    return [fact for fact in example.facts if f"{{{fact.name}}}" in wording]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_has_at_least_500_prompts_and_its_strata(family):
    examples = EXAMPLES[family]
    strata = Counter(example.stratum for example in examples)
    assert len(examples) >= 500
    assert len(strata) >= 6
    assert min(strata.values()) >= 50
    assert len({example.id for example in EVERY}) == len({example.prompt for example in EVERY}) == len(EVERY)


def test_every_reference_is_correct_and_states_every_required_fact():
    for example in EVERY:
        verdict = judge(example, f" {example.reference}\n")
        assert verdict.correct, example.id
        assert {fact.name for fact in example.facts if fact.required} <= {stated.name for stated in verdict.statements}


def test_every_wording_is_correct_exactly_if_all_facts_are_correct_and_none_is_missing():
    for example in EVERY:
        required = {fact.name for fact in example.facts if fact.required}
        for wording in example.wordings:
            facts = stated_in(wording, example)
            complete = required <= {fact.name for fact in facts} and all(fact.accepted for fact in facts)
            assert judge(example, filled(example, wording)).correct == complete, (example.id, wording)


def test_a_reference_with_another_fact_is_incorrect_and_only_there():
    for example in EVERY:
        wording = next(wording for wording in example.wordings if filled(example, wording) == example.reference)
        for fact in stated_in(wording, example):
            verdict = judge(example, filled(example, wording, change=fact.name))
            assert not verdict.correct
            assert [stated.name for stated in verdict.statements if not stated.correct] == [fact.name], example.id


def test_facts_are_at_the_positions_of_the_verdict():
    for example in EVERY:
        answer = f" {example.reference}\n"
        for stated in judge(example, answer).statements:
            assert 0 <= stated.start < stated.end <= len(answer)
            assert answer[stated.start : stated.end] == stated.value


@pytest.mark.parametrize(
    "answer",
    [
        " The capital of France is Paris.\n",
        "It is Paris",
        "paris.",
        "It is  Paris, I think.",
        *[f"Paris, {filler}." for filler in FILLERS],
    ],
)
def test_wordings_fillers_case_and_spaces(answer):
    assert judge(CAPITAL, answer).correct


@pytest.mark.parametrize(
    "answer", ["", "\n", "Lyon.", "It is Paris or Lyon.", "The capital of Spain is Paris.", "Not Paris."]
)
def test_wrong_answers(answer):
    assert not judge(CAPITAL, answer).correct


def test_accents_and_a_leading_article_do_not_matter():
    example = Example("x", "places", "s", "p", "r", ("It is {capital}.",), (Fact("capital", ("the Brasília",)),))
    assert judge(example, "It is Brasilia.").correct


def test_the_fact_of_a_wording_is_not_the_whole_answer():
    (stated,) = judge(CAPITAL, " It is Paris.\n").statements
    assert (stated.value, stated.start, stated.end) == ("Paris", 7, 12)


def test_same_facts_in_other_words():
    first, second, other = (judge(CAPITAL, answer) for answer in ("It is paris.", "Paris, I think.", "It is Lyon."))
    assert same_facts(first, second)
    assert not same_facts(first, other)
    unknown = judge(CAPITAL, "")
    assert not same_facts(unknown, unknown)


@given(st.text(max_size=80))
def test_any_text_gets_a_verdict(answer):
    verdict = judge(CAPITAL, answer)
    assert verdict.correct <= verdict.recognised


def test_rows_are_plain_json_objects():
    for family in FAMILIES:
        for example in EXAMPLES[family][:20]:
            assert json.loads(json.dumps(example.prompt)) == example.prompt
            assert example.family == family
