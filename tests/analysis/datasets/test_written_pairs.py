"""Written pairs about facts: one name differs, each name is as often right as wrong, and forms are equally frequent."""

from collections import Counter

import pytest

from analysis.datasets.facts.tables import FAMILIES, facts
from analysis.datasets.names import WRITTEN, load
from analysis.datasets.written_pairs import FORMS, written_pairs
from analysis.normalisation import plain_words


@pytest.fixture(scope="module")
def pairs():
    return written_pairs()


def name_of(written):
    return written.text[slice(*written.name)]


def around(written):
    start, end = written.name
    return written.text[:start], written.text[end:]


def test_there_are_a_thousand_of_all_families_and_forms(pairs):
    assert len(pairs) >= 1_000
    assert {pair.group for pair in pairs} == set(FAMILIES)
    forms = Counter(pair.form for pair in pairs)
    assert set(forms) == set(FORMS)
    assert max(forms.values()) - min(forms.values()) <= len(FAMILIES)
    assert len({pair.id for pair in pairs}) == len(pairs)


def test_the_right_name_is_accepted_and_the_wrong_one_is_not_and_the_question_names_neither(pairs):
    known = {fact.id: fact for fact in facts()}
    for pair in pairs:
        accepted = {plain_words(text) for text in known[pair.id].accepted}
        assert plain_words(name_of(pair.right)) in accepted
        assert plain_words(name_of(pair.wrong)) not in accepted
        assert f" {' '.join(plain_words(name_of(pair.wrong)))} " not in f" {' '.join(plain_words(pair.question))} "


def test_the_two_answers_differ_in_the_name_alone_or_are_paraphrased(pairs):
    same = [around(pair.right) == around(pair.wrong) for pair in pairs]
    assert same == [not pair.paraphrased for pair in pairs]
    assert sum(pair.paraphrased for pair in pairs) >= 100


def test_each_name_is_wrong_as_often_as_it_is_right(pairs):
    for family in FAMILIES:
        own = [pair for pair in pairs if pair.group == family]
        right, wrong = (Counter(name_of(getattr(pair, side)) for pair in own) for side in ("right", "wrong"))
        assert sum((right - wrong).values()) <= 0.02 * len(own)


def test_the_seed_decides(pairs):
    assert written_pairs() == pairs
    assert written_pairs(seed=1) != pairs
    assert len(written_pairs(per_family=3)) <= 3 * len(FAMILIES)


@pytest.mark.parametrize("kind", ["base", "instruct"])
def test_they_are_a_data_set_of_given_answers_half_of_them_correct(kind):
    data = load(WRITTEN, kind=kind, per_group=4)
    assert data.quality == "given"
    assert [example.quality for example in data.examples] == [1.0, 0.0] * (len(data.examples) // 2)
    assert len({example.id for example in data.examples}) == len(data.examples)
    for example in data.examples:
        assert all(text in example.answer for text in (*example.facts, *example.wrong))
        assert example.answer.startswith(" ") == example.prompt.endswith("Answer:") == (kind == "base")
    right, wrong = data.examples[::2], data.examples[1::2]
    assert [one.question for one in right] == [one.question for one in wrong]


def test_a_limit_draws_some_of_them():
    assert len(load(WRITTEN, kind="base", limit=7).examples) == 7
