"""The judge of facts: what names an answer, what names another, and how far it agrees with judgements by reading."""

import csv
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.datasets.example import Example
from analysis.datasets.facts.tables import FAMILIES, facts, names
from analysis.datasets.names import FACT_SETS, load
from analysis.quality.facts import judge_fact, known_facts
from analysis.quality.measures import load_judge
from analysis.runs.methods import without_download

READ = Path(__file__).parents[2] / "golden" / "fact_judgements.csv"
BY_ID = {fact.id: fact for fact in facts()}

RIGHT = [
    ("capitals-australia", "The capital of Australia is Canberra."),
    ("capitals-australia", "canberra"),
    ("capitals-australia", "**CANBERRA**!"),
    ("capitals-australia", "It is Canberra, not Wellington."),
    ("capitals-australia", "Unlike Wellington, Canberra is small. It's Canberra rather than Wellington."),
    ("capitals-the-united-states", "Washington, D.C."),
    ("capitals-the-united-states", "Washington DC"),
    ("capitals-bolivia", "It is La Paz, or Sucre."),
    ("capitals-mexico", "Ciudad de Mexico"),
    ("capitals-the-maldives", "It is Male, of course."),
    ("capitals-chad", "N\u2019Djamena"),
    ("capitals-chad", "Ndjamena"),
    ("capitals-grenada", "Saint George's"),
    ("capitals-grenada", "St. George\u2019s, on the coast"),
    ("cities-kano", "Kano lies in northern Nigeria, which borders Niger and Chad."),
    ("cities-los-angeles", "It is in the U.S."),
    ("cities-los-angeles", "It is in the US, north of the Gulf of Mexico."),
    ("cities-london", "It is in England."),
    ("cities-kinshasa", "the Democratic Republic of the Congo"),
    ("cities-kinshasa", "Democratic Republic of Congo"),
    ("country_names-tyskland-in-swedish", "Tyskland is Swedish for Germany."),
    ("currencies-japan", "the yen"),
    ("currencies-norway", "The currency of Norway is the krone."),
    ("currencies-norway", "Norwegian kroner"),
    ("currencies-canada", "They pay in Canadian dollars."),
    ("currencies-france", "Euros"),
    ("currencies-mali", "The currency of Mali is the CFA franc, or CFA."),
    ("currencies-panama", "the US dollar and the balboa"),
    ("symbols-gold", "In chemistry, gold is Au."),
    ("symbols-indium", "The symbol is In."),
    ("elements-cs", "Caesium."),
    ("elements-pb", "It is Lead"),
    ("atomic_numbers-gold", "seventy-nine"),
    ("atomic_numbers-gold", "It is 79; its weight is 196.97."),
    ("atomic_numbers-hydrogen", "The atomic number is one of them: 1."),
    ("atomic_numbers-hydrogen", "The atomic number is one."),
    ("authors-the-trial", "Kafka"),
    ("authors-the-trial", "It was written by Franz Kafka, as was The Castle."),
    ("authors-the-old-man-and-the-sea", "Ernest Miller Hemingway"),
    ("authors-the-lord-of-the-rings", "J.R.R. Tolkien"),
    ("authors-the-lord-of-the-rings", "JRR Tolkien"),
    ("authors-the-hound-of-the-baskervilles", "Sir Arthur Conan Doyle"),
    ("authors-the-hound-of-the-baskervilles", "By Doyle"),
    ("authors-the-communist-manifesto", "Marx and Engels"),
    ("painters-mona-lisa", "It is Leonardo's."),
    ("composers-the-blue-danube", "Johann Strauss"),
    ("years-the-titanic-sink", "It sank on 15 April 1912."),
    ("years-albert-einstein-die", "Born on 14 March 1879 in Ulm, he died in 1955."),
    ("years-albert-einstein-get-born", "He was born in 1879."),
]
WRONG = [
    ("capitals-australia", ""),
    ("capitals-australia", "I am sorry, but I cannot answer that."),
    ("capitals-australia", "Sydney"),
    ("capitals-australia", "Canberra or Wellington"),
    ("capitals-australia", "It is Sydney, though some say Canberra."),
    ("capitals-australia", "It is not Canberra."),
    ("capitals-australia", "Canberran"),
    ("capitals-the-maldives", "a male person, I think"),
    ("cities-kano", "Niger"),
    ("cities-kano", "Kano lies in Chad, which borders Nigeria and Niger."),
    ("cities-medan", "Papua New Guinea"),
    ("cities-los-angeles", "Tell us more."),
    ("cities-kinshasa", "the Republic of the Congo"),
    ("cities-kinshasa", "Republic of Congo"),
    ("currencies-canada", "the US dollar"),
    ("currencies-canada", "the Canadian dollar or the US dollar"),
    ("currencies-canada", "US dollars"),
    ("currencies-tuvalu", "the Tuvalu dollar"),
    ("cities-mogadishu", "In a region that is bordered by Somalia."),
    ("symbols-gold", "au"),
    ("symbols-gold", "Au or Ag"),
    ("symbols-indium", "In chemistry there are symbols."),
    ("atomic_numbers-gold", "179"),
    ("atomic_numbers-gold", "79 or 80"),
    ("atomic_numbers-gold", "79.5"),
    ("atomic_numbers-hydrogen", "It is one of the elements."),
    ("authors-the-trial", "Peter Kafka"),
    ("authors-the-trial", "Franz Kafka or Thomas Mann"),
    ("authors-the-odyssey", "Homer Simpson"),
    ("years-the-titanic-sink", "It sank in 1912 or 1913."),
    ("years-the-titanic-sink", "in the 1912s"),
    ("years-albert-einstein-get-born", "He was born in 1879, or born in 1880."),
    ("years-albert-einstein-die", "He died in 1879 or 1955."),
]


def asked(fact):
    found = BY_ID[fact]
    return Example(id=fact, prompt="", references=found.accepted, question=found.question, group=found.family.id)


@pytest.mark.parametrize(("fact", "answer"), RIGHT)
def test_an_answer_that_names_the_fact_and_no_other_is_correct(fact, answer):
    assert judge_fact(asked(fact), answer).quality == 1


@pytest.mark.parametrize(("fact", "answer"), WRONG)
def test_an_answer_that_names_another_or_none_is_incorrect(fact, answer):
    assert judge_fact(asked(fact), answer).quality == 0


@pytest.mark.parametrize(
    ("fact", "answer", "carry"),
    [
        ("capitals-australia", "It is Canberra; yes, CANBERRA.", ["Canberra", "CANBERRA"]),
        ("capitals-australia", "It is Canberra or Wellington.", ["Canberra", "Wellington"]),
        ("capitals-australia", "It is not Vienna. It is Wellington.", ["Wellington"]),
        ("capitals-grenada", "It is St. George\u2019s.", ["St. George\u2019s"]),
        ("cities-los-angeles", "North of Mexico, in the U.S.A.", ["Mexico", "U.S.A"]),
        ("authors-the-trial", "By the Czech author Franz Kafka", ["Franz Kafka"]),
        ("authors-the-trial", "By John Grisham", []),
        ("atomic_numbers-gold", "Seventy-nine, I think", ["Seventy-nine"]),
        ("currencies-canada", "the US dollar", ["US dollar"]),
    ],
)
def test_the_facts_are_every_name_in_the_answer(fact, answer, carry):
    assert [answer[start:end] for start, end in judge_fact(asked(fact), answer).facts] == carry


def test_other_names_of_an_answer_are_not_other_answers():
    example = Example(
        id="", prompt="", references=("Kyiv",), question="What is the capital of Ukraine?", group="capitals"
    )
    assert judge_fact(example, "Kyiv, or Kiev").quality == 1
    assert judge_fact(example, "Kyiv, or Minsk").quality == 0


def test_a_name_in_the_question_is_neither_right_nor_wrong():
    example = Example(
        id="", prompt="", references=("Vienna",), question="Which capital is west of Bratislava?", group="capitals"
    )
    judged = judge_fact(example, "Vienna is west of Bratislava.")
    assert (judged.quality, judged.facts) == (1, ((0, 6),))
    assert judge_fact(example, "Bratislava").quality == 0


@pytest.mark.parametrize("fact", [fact.id for fact in BY_ID.values() if fact.subject in fact.family.solved])
def test_every_accepted_text_is_right_and_the_first_name_of_another_row_is_wrong(fact):
    example, known = asked(fact), BY_ID[fact]
    for text in known.accepted:
        assert judge_fact(example, f"I think it is {text}, of course.").quality == 1, text
    others = [name.texts[0] for name in names(known.family.kind) if name.texts[0] not in known.accepted]
    for text in others[:: max(1, len(others) // 40)]:
        judged = judge_fact(example, f"I think it is {known.accepted[0]}, or {text}.")
        assert (judged.quality, len(judged.facts)) == (0, 2), text


@settings(deadline=None)  # the first answer of a kind waits for its table
@given(st.sampled_from(sorted(BY_ID)), st.text())
def test_any_text_is_judged_and_its_facts_are_characters_of_it(fact, answer):
    judged = judge_fact(asked(fact), answer)
    assert judged.unclear or judged.quality in {0, 1}
    assert judged.unclear == math.isnan(judged.quality) == judged.reason.startswith("unclear: ")
    ends = [0, *(place for span in judged.facts for place in span), len(answer)]
    assert ends == sorted(ends)


def test_an_unknown_family_is_undefined():
    judged = judge_fact(Example(id="1", prompt="", references=("x",), group="rivers"), "x")
    assert math.isnan(judged.quality)
    assert "'rivers' is not a family of facts; choose capitals, cities" in judged.reason
    (without,) = load_judge("facts")([Example(id="1", prompt="", references=("x",))], ["x"])
    assert "needs the family of the fact as a group" in without.reason


def rows_read():
    with READ.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("part", ["development", "check"])
def test_the_rule_agrees_with_judgements_by_reading(part):
    """Answers of SmolLM2-135M-Instruct (Q4_1), read one by one; no rule was changed because of one of "check"."""
    rows = [row for row in rows_read() if row["part"] == part]
    assert len(rows) >= 60
    judged = [(judge_fact(asked(row["id"]), row["answer"]), float(row["correct"])) for row in rows]
    agree = [judgement.quality == read for judgement, read in judged if not judgement.unclear]
    assert sum(agree) >= 0.97 * len(agree)
    assert len(agree) >= 0.92 * len(rows)


def test_what_was_read_is_of_every_family_and_of_both_verdicts():
    rows = rows_read()
    assert len({row["id"] for row in rows}) == len(rows) >= 200
    assert {BY_ID[row["id"]].family.id for row in rows} == set(FAMILIES)
    assert sum(row["correct"] == "1" for row in rows) >= 50


def test_two_answers_are_the_same_if_they_name_the_same_things():
    judge = known_facts(asked("capitals-australia"))
    same = [
        ("It is Canberra.", "canberra, of course", True),
        ("It is Canberra.", "It is Sydney.", False),
        ("It is Sydney.", "Sydney!", True),
        ("It is Canberra.", "Canberra or Sydney", False),
        ("I do not know.", "Nobody knows.", False),
        ("I do not know.", "I do not know.", True),
    ]
    for first, second, expected in same:
        assert judge.same(first, second) == judge.same(second, first) == expected, (first, second)
    assert [list(judge.keywords(answer)) for answer in ("It is Canberra.", "It is not.")] == [[(6, 14)], []]


def test_facts_are_known_of_embedded_prompts_and_of_questions_of_facts_alone():
    embedded = load("places", kind="base", limit=1).examples[0]
    assert known_facts(embedded).same(embedded.references[0], embedded.references[0])
    assert known_facts(Example(id="1", prompt="What is the capital of Australia?", group="capitals")) is None
    assert known_facts(Example(id="capitals-australia", prompt="Which?", references=("x",), group="rivers")) is None
    for name in FACT_SETS:
        data = load(name, kind="instruct", limit=2)
        assert all(known_facts(example) for example in data.examples)
        assert "semantic_entropy_facts" in without_download("smollm2", data)
