"""The judge of known facts: two answers are the same if and only if their facts are."""

from itertools import product

import pytest

from rauq.atlas.evaluation import FAMILIES, facts_for_prompt, facts_of, load_examples

EXAMPLES = [load_examples(family)[place] for family in FAMILIES for place in (0, 50, 200)]


def stated(example, values):
    """The answer in every accepted wording that has all the facts."""
    required = [fact.name for fact in example.facts]
    wordings = [wording for wording in example.wordings if all(f"{{{name}}}" in wording for name in required)]
    return [wording.format(**values) for wording in wordings]


def truth(example):
    return {fact.name: fact.accepted[0] if fact.accepted else "Nowhere" for fact in example.facts}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.id)
def test_the_same_facts_in_other_words_are_the_same(example):
    facts, answers = facts_of(example), stated(example, truth(example))
    assert answers
    for first, second in product([*answers, f" {answers[0].upper()}\n"], repeat=2):
        assert facts.same(first, second)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.id)
def test_another_fact_is_not_the_same_and_both_ways_alike(example):
    facts, right = facts_of(example), stated(example, truth(example))[0]
    for fact in example.facts:
        other = stated(example, truth(example) | {fact.name: "Atlantis"})[0]
        assert not facts.same(right, other)
        assert not facts.same(other, right)
        assert facts.same(other, other.upper()), "wrong in the same way is the same"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.id)
def test_unknown_words_are_the_same_as_equal_ones_only(example):
    facts = facts_of(example)
    assert facts.same("Eh?\nWhat", "Eh?\nWhat")
    assert not facts.same("Eh?\nWhat", "eh?\nwhat")
    assert not facts.same("Eh?\nWhat", example.reference)
    assert facts.keywords("Eh?\nWhat") == ()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.id)
def test_keywords_are_the_stated_facts_where_they_stand(example):
    answer, values = stated(example, truth(example))[0], truth(example)
    spans = facts_of(example).keywords(answer)
    assert sorted(answer[first:last] for first, last in spans) == sorted(values.values())
    assert list(spans) == sorted(spans)


def test_it_is_found_by_the_prompt_and_by_no_other():
    example = EXAMPLES[0]
    found = facts_for_prompt(example.prompt)
    assert found.keywords(example.reference) == facts_of(example).keywords(example.reference) != ()
    assert facts_for_prompt(f"{example.prompt} ") is None
    assert facts_for_prompt("") is None
