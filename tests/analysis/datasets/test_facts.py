"""The tables of facts: what they promise, and what is said of a row that breaks it."""

import csv
import re
import shutil
from collections import Counter

import pytest

from analysis.datasets.facts.tables import FAMILIES, KINDS, STRATA, TABLES, facts, names, phrases
from analysis.datasets.names import FACT_SETS, fact_set
from analysis.normalisation import plain_words
from rauq.errors import InvalidInput

EVERY_KIND = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def copy(tmp_path):
    """A copy of the tables that a test may break."""
    folder = tmp_path / "facts"
    shutil.copytree(TABLES, folder, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    return folder


def change(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_as_many_facts_families_and_strata_as_promised():
    found = facts()
    assert len(found) >= 1_500
    assert len({fact.id for fact in found}) == len(found)
    counts = Counter((fact.family.id, fact.stratum) for fact in found)
    assert len(FAMILIES) >= 8
    assert {family for family, _ in counts} == set(FAMILIES)
    assert set(counts) == {(family, stratum) for family in FAMILIES for stratum in STRATA}
    assert min(counts.values()) >= 30
    assert all(sum(counts[family, stratum] for stratum in STRATA) >= 110 for family in FAMILIES)


@EVERY_KIND
def test_no_two_names_share_a_text(kind):
    texts = [words for name in names(kind) for words in {plain_words(text) for text in name.texts}]
    assert len(set(texts)) == len(texts)
    assert all(texts)


@EVERY_KIND
def test_a_phrase_contains_a_name_and_is_none(kind):
    accepted = {text for fact in facts() if fact.family.kind == kind for text in fact.accepted}
    texts = {" ".join(plain_words(text)) for text in accepted.union(*(name.texts for name in names(kind)))}
    for phrase in phrases(kind):
        words = " ".join(plain_words(phrase))
        assert words not in texts
        assert any(re.search(rf"\b{re.escape(text)}\b", words) for text in texts), phrase


def test_no_question_contains_its_answer_or_accepts_another_name():
    named = {kind: {plain_words(text): name for name in names(kind) for text in name.texts} for kind in KINDS}
    for fact in facts():
        question = f" {' '.join(plain_words(fact.question))} "
        accepted = {plain_words(text) for text in fact.accepted}
        assert not any(f" {' '.join(words)} " in question for words in accepted), fact.id
        things = {named[fact.family.kind][words] for words in accepted if words in named[fact.family.kind]}
        assert things, fact.id
        assert all(name.texts[0] in fact.accepted for name in things), fact.id


def test_facts_known_from_elsewhere_are_among_them():
    """A few of each family, with what else is right."""
    by_id = {fact.id: fact for fact in facts()}
    for fact, answer in {
        "capitals-australia": "Canberra",
        "capitals-bolivia": "La Paz",
        "cities-kano": "Nigeria",
        "cities-london": "England",
        "currencies-japan": "yen",
        "currencies-norway": "krone",
        "currencies-panama": "US dollar",
        "country_names-tyskland-in-swedish": "Germany",
        "symbols-tungsten": "W",
        "elements-fe": "iron",
        "elements-cs": "caesium",
        "atomic_numbers-gold": "seventy-nine",
        "authors-the-trial": "Kafka",
        "authors-the-communist-manifesto": "Engels",
        "painters-girl-with-a-pearl-earring": "Vermeer",
        "composers-the-blue-danube": "Johann Strauss",
        "years-the-titanic-sink": "1912",
    }.items():
        assert answer in by_id[fact].accepted, fact


@pytest.mark.parametrize("name", FACT_SETS)
@pytest.mark.parametrize("kind", ["base", "instruct"])
def test_both_forms_ask_the_same_and_give_no_answer_away(name, kind):
    data = fact_set(name, kind=kind)
    assert (data.name, data.quality) == (name, "facts")
    solved = {(family.id, subject) for family in FAMILIES.values() for subject in family.solved}
    asked = [fact for fact in facts() if (fact.family.id, fact.subject) not in solved]
    assert [example.id for example in data.examples] == [fact.id for fact in asked]
    for example, fact in zip(data.examples, asked, strict=True):
        assert (example.group, example.stratum) == (fact.family.id, fact.stratum)
        assert example.references == fact.accepted
        assert example.prompt.count(fact.question) == 1
        assert example.prompt == fact.question or example.prompt.endswith(f"{fact.question}\nAnswer:")


def test_a_few_shot_prompt_has_four_worked_examples_of_its_family():
    few_shot, plain = (fact_set(name, kind="instruct") for name in ("facts_few_shot", "facts"))
    example = next(example for example in few_shot.examples if example.group == "symbols")
    assert example.prompt.startswith("Question: What is the chemical symbol of sulfur?\nAnswer: S\n\nQuestion: ")
    assert example.prompt.count("Question: What is the chemical symbol of ") == 5
    assert few_shot == fact_set("facts_few_shot", kind="base")
    assert (few_shot.stop, few_shot.chat) == (("\n",), False)
    assert (plain.stop, plain.chat) == (None, None)
    assert plain.examples[0].prompt == "What is the capital of China?"


def test_the_tables_are_written_as_the_build_command_writes_them():
    paths = sorted(TABLES.rglob("*.csv"))
    assert len(paths) == 1 + len(FAMILIES) + sum(not kind.numbers for kind in KINDS.values())
    for path in paths:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file, strict=True))
        text = path.read_bytes().decode()
        assert "\r" not in text
        assert text.endswith("\n")
        assert all(cell == cell.strip() for row in rows for cell in row), path.name
        assert len({len(row) for row in rows}) == 1


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        (
            "questions/capitals.csv",
            "Australia,Canberra,,common",
            "Australia,Canberra,,often",
            r"questions/capitals\.csv, row \d+: 'stratum' is 'often'; it is one of common, middle, rare",
        ),
        (
            "questions/capitals.csv",
            "Australia,Canberra,,common",
            "Australia,Canbera,,common",
            r"row \d+: the answer 'Canbera' is unknown; it is a name of names/city\.csv",
        ),
        (
            "questions/capitals.csv",
            "Australia,Canberra,,common",
            "Australia,Canberra,common",
            r"row \d+: it has 3 cells; it needs 4, subject, answers, also, stratum",
        ),
        ("questions/capitals.csv", "Australia,Canberra,", "Australia,,", r"row \d+: 'subject' or 'answers' is empty"),
        ("questions/capitals.csv", "Australia,Canberra,", ",Canberra,", r"row \d+: 'subject' or 'answers' is empty"),
        (
            "questions/capitals.csv",
            "Australia,Canberra,,",
            "Australia,Canberra | ,,",
            r"row \d+: 'answers' is 'Canberra \| '; give texts separated by ' \| ', without empty ones",
        ),
        (
            "questions/capitals.csv",
            "Australia,Canberra,,common\n",
            "Australia,Canberra,,common\nAustralia,Vienna,,rare\n",
            r"row \d+: 'Australia' is also in questions/capitals\.csv, row \d+, so that the question has two answers",
        ),
        (
            "questions/capitals.csv",
            "Australia,Canberra,,common\n",
            "Australia,Canberra,Vienna,common\n",
            r"row \d+: 'also' is 'Vienna', which names/city\.csv has already",
        ),
        (
            "questions/capitals.csv",
            "Australia,Canberra,,common\n",
            "Australia,Canberra,,common\nCanberra in the west,Canberra,,rare\n",
            r"row \d+: the question 'What is the capital of Canberra in the west\?' contains its answer 'Canberra'",
        ),
        (
            "questions/capitals.csv",
            "Portugal,Lisbon,,",
            "Portogallo,Lisbon,,",
            "no row for 'Portugal', a worked example",
        ),
        ("questions/years.csv", "the Titanic sink,1912", "the Titanic sink,12", "'12' is unknown; it is a number from"),
        (
            "questions/capitals.csv",
            "subject,answers,also,stratum",
            "subject,answers,stratum,also",
            r"questions/capitals\.csv has the columns subject, answers, stratum, also; it needs subject, answers, also",
        ),
        (
            "names/city.csv",
            "Vienna,",
            "Vienna,Canberra",
            r"names/city\.csv, row \d+: 'Canberra' is also in names/",
        ),
        ("names/city.csv", "Vienna,", ",Wien", r"names/city\.csv, row \d+: 'name' is ''; give one name"),
        ("names/city.csv", "Vienna,", '"Vienna,', r"names/city\.csv cannot be read \("),
        ("phrases.csv", "country,Panama Canal", "land,Panama Canal", r"phrases\.csv, row \d+: 'kind' is 'land'; it is"),
    ],
)
def test_a_wrong_row_is_named_with_what_is_allowed(copy, file, old, new, words):
    change(copy / file, old, new)
    with pytest.raises(InvalidInput, match=words):
        (facts(copy), [phrases(kind, copy) for kind in KINDS])


def test_a_missing_table_is_named(copy):
    (copy / "names" / "year.csv").touch()  # numbers need none, and one that is there is not read
    (copy / "names" / "author.csv").unlink()
    with pytest.raises(InvalidInput, match=r"names/author\.csv cannot be read"):
        facts(copy)
