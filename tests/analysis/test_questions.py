"""Near-duplicate questions are one cluster, different ones are not: facts in many forms, passages, other scripts."""

# ruff: noqa: RUF001 - letters of other scripts are the point

import random

import numpy as np
import pytest

from analysis.datasets.facts.tables import facts
from analysis.questions import about_joined, as_first_asked, clusters_of, joined
from benchmarks.coverage.folds import FORMS

FACTS = [fact.question for fact in facts()][::5]

MORE_FORMS = FORMS | {
    "colon": lambda question: f"Answer this question: {question}",
    "ChatML": lambda question: (
        f"<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\n{question}<|im_end|>\n"
        "<|im_start|>assistant\n"
    ),
    "Gemma": lambda question: f"<bos><start_of_turn>user\n{question}<end_of_turn>\n<start_of_turn>model\n",
    "Llama 2": lambda question: f"<s>[INST] {question} [/INST]",
}

SAME = [
    ("What\u00b4s the capital of France?", "WHAT IS THE CAPITAL OF FRANCE?!"),
    ("Q: capital of France A:", "Capital of France"),
    ("Who isn't there?", "who isn\u2019t there"),
    ("What is 1,234 + 1?", "what is 1234 + 1"),
    ("Which is it?\nA. Paris\nB. Rome\nC. Oslo\nAnswer:", "Which is it?\nA) Oslo\nB) Paris\nC) Rome"),
    ("Which is it? (A) Paris (B) Rome", "Which is it? (a) Rome (b) Paris"),
    ("问题：法国的首都是什么？\n答案：", "法国的首都是什么"),
    ("ما هي عاصمة فرنسا؟", "ما هي عاصمة فرنسا"),
    ("Вопрос: Какая столица Франции?\nОтвет:", "какая столица франции"),
    ("Human: hi there\n\nAssistant:", "hi there"),
    ("", " "),
]

DIFFERENT = [
    ("What is the atomic number of 11?", "What is the atomic number of 12?"),
    *[
        (f"Which element has the symbol {one}?", f"Which element has the symbol {other}?")
        for one, other in ("IS", "SO")
    ],
    ("Which element has the symbol In?", "Which element has the symbol Be?"),
    ("What is vitamin A?", "What is vitamin?"),
    ("Is A larger than B?", "Is B larger than A?"),
    *[("2 + 2?", "2 - 2?"), ("3*4?", "3/4?"), ("-5?", "5?"), ("1.5?", "15?"), ("What is C++?", "What is C?")],
    *[("?", "!"), ("", "?"), ("Answer: yes", "Answer: no"), ("Is it so?", "Isn't it so?")],
    ("Which is it?\nA. Paris\nB. Rome", "Which is it?\nA. Paris\nB. Oslo"),
    ("法国的首都是什么？", "德国的首都是什么？"),
    ("मेरा कि", "मेरा की"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_near_duplicates_are_one_cluster(one, other):
    assert clusters_of([one, other]).tolist() == [0, 0]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_other_words_numbers_and_symbols_are_other_questions(one, other):
    assert clusters_of([one, other]).tolist() == [0, 1]


def test_each_fact_in_every_form_is_one_cluster_and_no_two_facts_are():
    asked = [form(question) for form in MORE_FORMS.values() for question in FACTS]
    found = clusters_of(asked).reshape(-1, len(FACTS))
    assert (found == np.arange(len(FACTS))).all()


def test_clusters_depend_neither_on_the_order_nor_on_repetition():
    asked = [form(question) for form in MORE_FORMS.values() for question in FACTS[:40]]
    places = random.Random(0).choices(range(len(asked)), k=800) + list(range(len(asked)))
    found, again = clusters_of(asked), clusters_of([asked[place] for place in places])
    same = found[places][:, None] == found[places][None]
    assert np.array_equal(same, again[:, None] == again[None])


PLACES = ("Alba", "Bora", "Cato", "Dema", "Elba", "Fora")
PASSAGES = [
    f"The river {name} rises in the hills. It is {place + 40} km long, flows north through the old town of {name}burg, "
    "and joins the sea. Fishing there began when settlers came with their boats and nets from the coast in the south."
    for place, name in enumerate(PLACES)
]
ASKED = ("Where does it rise?", "How long is it?", "When did it begin?", "Who came?", "Where does it flow?")


@pytest.mark.parametrize("sign", ["?", "."])
@pytest.mark.parametrize("form", ["{passage}\n{asked}", "{asked} {passage}"])
@pytest.mark.parametrize("passages", [PASSAGES, [f"The {name} is a river." for name in PLACES]], ids=["long", "short"])
def test_a_passage_and_a_question_about_it_are_both_asked(passages, form, sign):
    given = [form.format(passage=one, asked=asked.replace("?", sign)) for one in passages for asked in ASKED]
    assert len(set(clusters_of(given).tolist())) == len(given)


def test_no_questions_have_no_clusters():
    assert clusters_of([]).shape == (0,)


def test_joined_questions_are_listed_and_counted_and_can_be_kept_apart():
    asked = ["Who?", "What is it?", "who", "Who?", "Q: Who?", "What\u2019s it", "When?"]
    groups = joined(asked)
    assert groups == (("Who?", "who", "Q: Who?"), ("What is it?", "What\u2019s it"))
    assert about_joined(groups, apart=False) == "5 near-duplicate questions count as 2 questions."
    assert about_joined((), apart=False) == ""
    assert clusters_of(asked, apart=True).tolist() == [0, 1, 2, 0, 3, 4, 5]
    assert as_first_asked(asked) == ("Who?", "What is it?", "Who?", "Who?", "Who?", "What is it?", "When?")
    assert as_first_asked(asked, apart=True) == tuple(asked)
