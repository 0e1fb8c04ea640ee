"""The third verdict: answers that both judges decide are decided rightly, and few real answers are left to a reader.

`fact_verdicts.csv` holds 150 made-up answers over all families, and 381 real ones to questions that the bundled run
does not hold (SmolLM2-135M-Instruct and Gemma 3 270M, greedy, at most 32 tokens; drawn with seed 34, the "blind" ones
with seed 77, the "later" ones with seed 1945 and other prompts, some of which ask for two answers). All were read and
judged by hand before a rule saw them. The blind ones were made after the rules, by another reader; no rule was changed
because of a real one that is "held out" or "blind". Of the later ones, the rules at first decided 118 for facts and 120
for contains, and 2 and 4 of these wrongly; three rules were then changed because of them.
"""

import csv
from pathlib import Path

import pytest

from analysis.datasets.example import Example
from analysis.datasets.facts.tables import FAMILIES, facts
from analysis.quality.measures import load_judge
from analysis.quality.wording import wording

READ = Path(__file__).parents[2] / "golden" / "fact_verdicts.csv"
BY_ID = {fact.id: fact for fact in facts()}


def rows_of(part, *, real):
    with READ.open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["part"] == part and bool(row["model"]) == real]


def judged(measure, rows):
    known = [BY_ID[row["id"]] for row in rows]
    examples = [
        Example(id=fact.id, prompt="", references=fact.accepted, question=fact.question, group=fact.family.id)
        for fact in known
    ]
    return load_judge(measure)(examples, [row["answer"] for row in rows])


def wrong_and_unclear(measure, rows):
    found = judged(measure, rows)
    decided = [(row, judgement) for row, judgement in zip(rows, found, strict=True) if not judgement.unclear]
    wrong = [row["answer"] for row, judgement in decided if judgement.quality != float(row["correct"])]
    return wrong, len(rows) - len(decided)


# Decided wrongly, at most: what was found.
@pytest.mark.parametrize(
    ("measure", "part", "real", "most_wrong"),
    [
        ("facts", "tuned", False, 0),
        ("facts", "held out", False, 0),
        ("facts", "tuned", True, 0),
        ("facts", "held out", True, 2),
        ("facts", "blind", True, 1),
        ("contains", "tuned", False, 1),
        ("contains", "held out", False, 0),
        ("contains", "tuned", True, 0),
        ("contains", "held out", True, 2),
        ("contains", "blind", True, 1),
        ("facts", "later", True, 0),
        ("contains", "later", True, 0),
    ],
)
def test_few_decided_verdicts_are_wrong(measure, part, real, most_wrong):
    rows = rows_of(part, real=real)
    wrong, unclear = wrong_and_unclear(measure, rows)
    assert len(wrong) <= most_wrong, wrong
    assert not real or unclear <= 0.08 * len(rows)


@pytest.mark.parametrize("measure", ["facts", "contains"])
@pytest.mark.parametrize("parts", [("tuned", "held out"), ("blind",), ("later",)])
def test_of_all_that_is_decided_two_in_a_hundred_are_wrong(measure, parts):
    rows = [row for part in parts for real in (False, True) for row in rows_of(part, real=real)]
    wrong, unclear = wrong_and_unclear(measure, rows)
    assert len(wrong) <= 0.02 * (len(rows) - unclear), wrong


def test_the_material_is_of_every_family_and_of_both_verdicts():
    rows = [row for part in ("tuned", "held out") for real in (False, True) for row in rows_of(part, real=real)]
    assert len(rows) == 300
    assert {BY_ID[row["id"]].family.id for row in rows} == set(FAMILIES)
    assert sum(row["correct"] == "1" for row in rows) >= 100


@pytest.mark.parametrize(
    ("answer", "name", "reason"),
    [
        ("Paris is not the capital.", "Paris", "'not' may deny"),
        ("Maybe Paris.", "Paris", "'Maybe' may put"),
        ("Paris or Lyon", "Paris", "'or' may put"),
        ("Paris, Texas", "Paris", "longer name or of a list"),
        ("Paris City", "Paris", "longer name or of a list"),
        ("It is a town based on Paris.", "Paris", "after 'on'"),
        ("1. Paris\n2. Lyon", "Paris", "one of several items"),
        ("East Berlin", "Berlin", "after 'East'"),
        ("Paris. No, wait: Lyon.", "Paris", "'No,' may deny"),
        ("There is no doubt that it is Paris.", "Paris", None),
        ("Paris, France", "Paris", None),
        ("It is Paris, which is large.", "Paris", None),
    ],
)
def test_the_reason_says_which_words_leave_it_open(answer, name, reason):
    start = answer.index(name)
    said = wording(answer, question="Which city is the capital of France?", names=[name]).doubt(
        [(start, start + len(name))]
    )
    assert reason in said if reason else said == ""
