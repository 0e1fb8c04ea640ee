"""Questions of five subjects, the items of their answers, the bootstrap over questions, and the table."""

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from analysis.answer_sets.separation import areas_with_interval, labelled
from analysis.answer_sets.sides import Sides
from analysis.evidence.record import find_record
from benchmarks import lists
from benchmarks.lists import areas
from benchmarks.lists.areas import intervals, resampled
from benchmarks.lists.items import Counts, Item, items_of
from benchmarks.lists.questions import SUBJECTS, TASKS, list_questions
from rauq.scoring.sentence_scores import SentenceScore
from tests.traces import trace_of_text


def question_of(group):
    return next(one for one in list_questions() if one.group == group)


def test_every_subject_is_asked_of_once_and_none_of_a_worked_example():
    questions = list_questions()
    assert len(questions) == 300
    assert {one.group for one in questions} == set(TASKS)
    asked = Counter(fact.id for one in questions for fact in one.facts)
    assert set(asked.values()) == {1}
    assert asked.total() == SUBJECTS * len(questions)
    assert {len(one.solved) for one in questions} == {SUBJECTS}
    assert not {fact.id for one in questions for fact in one.solved} & set(asked)
    assert list_questions() == questions != list_questions(seed=1)


@pytest.mark.parametrize("kind", ["base", "instruct"])
def test_a_prompt_ends_with_its_subjects_below_a_worked_example_and_does_not_answer(kind):
    one = question_of("capitals")
    prompt = one.prompt(kind)
    worked, last = prompt.split("\n\n") if kind == "base" else (prompt[1].content, prompt[2].content)
    for place, fact in enumerate(one.solved, start=1):
        assert f"{place}. {fact.subject}: {fact.accepted[0]}" in worked
    for place, fact in enumerate(one.facts, start=1):
        assert f"\n{place}. {fact.subject}\n" in f"{last}\n"
        assert not any(name in last for name in fact.accepted)


def answer_of(question, *lines):
    return "\n".join(line.format(*(fact.subject for fact in question.facts)) for line in lines)


def items_in(text, question, **changes):
    return items_of([question], [trace_of_text(text, **changes)])


def test_items_are_judged_by_their_own_subject_and_the_others_are_counted():
    question = question_of("capitals")
    right, other = question.facts[0].accepted[0], question.facts[3].accepted[0]
    text = answer_of(
        question,
        "Here they are:",
        f"1. {{0}}: {right}",
        "2. {1}: Lisboa",
        "- {2}",
        f"4. the {question.facts[3].subject.removeprefix('the ')}: {other}",
    )
    items, counts = items_of([question, question], [trace_of_text(text), None])
    assert [(item.place, item.correct) for item in items] == [(1, True), (2, False), (4, True)]
    assert items[0].text == f"{question.facts[0].subject}: {right}"
    assert text[items[0].score.start : items[0].score.end] == f"1. {items[0].text}\n"
    assert counts == Counts(asked=10, judged=3, unclear=0)


def test_the_first_line_of_a_subject_counts_and_a_line_that_was_cut_off_does_not():
    question = question_of("capitals")
    text = answer_of(question, "{0}: Lisboa", "{0}: Oslo", "{1}: Os")
    for reason, places in (("eos", [0, 2]), ("length", [0])):
        assert [item.place for item in items_in(text, question, stop_reason=reason)[0]] == places


def test_a_line_of_several_sentences_is_no_item():
    question = question_of("capitals")
    assert items_in(answer_of(question, "{0}: Oslo. It is cold.", "{1}: Oslo"), question)[0][0].place == 2


def test_an_answer_that_an_earlier_line_or_the_worked_example_gives_is_a_repeat():
    question = question_of("capitals")
    text = answer_of(question, "{0}: Oslo", "{1}: oslo", f"{{2}}: {question.solved[0].accepted[0]}", "{3}: Bern")
    assert [item.repeats for item in items_in(text, question)[0]] == [False, True, True, False]


def test_an_item_that_the_judge_cannot_decide_is_counted_as_unclear():
    question = question_of("capitals")
    name = question.facts[0].accepted[0]
    items, counts = items_in(answer_of(question, f"{{0}}: perhaps {name}"), question)
    assert (items, counts) == ((), Counts(asked=5, judged=0, unclear=1))


def made(effect, *, count=40, seed=0, by_question=0.5):
    rng = np.random.default_rng(seed)
    question = np.repeat(np.arange(count), SUBJECTS)
    correct = rng.random(len(question)) < 0.4
    values = rng.normal(size=len(question)) + effect * ~correct + by_question * rng.normal(size=count)[question]
    return values, correct, question


@pytest.mark.parametrize("groups", [1, 4])
def test_the_bootstrap_agrees_with_the_interval_of_delong(groups, monkeypatch):
    monkeypatch.setattr(areas, "RESAMPLES", 300)
    values, correct, question = made(0.8, count=120)
    by = [f"relation {one % groups}" for one in question]
    (found,) = intervals(resampled(values[:, None], correct, by, question))
    counted = labelled(values[:, None], Sides(correct, ~correct), by, clusters=question)
    known = areas_with_interval(-values[:, None], counted)
    assert found == pytest.approx([known.value[0], known.low[0], known.high[0]], abs=0.03)


@pytest.mark.parametrize(("effect", "truth"), [(0.0, 0.5), (1.0, 0.7365)])  # the normal distribution at 1 / sqrt 2.5
def test_intervals_cover_the_truth_with_and_without_an_effect(effect, truth, monkeypatch):
    monkeypatch.setattr(areas, "RESAMPLES", 100)
    covered = []
    for seed in range(20):
        values, correct, question = made(effect, seed=seed)
        (found,) = intervals(resampled(values[:, None], correct, ["all"] * len(values), question))
        covered.append(found.low <= truth <= found.high)
    assert np.mean(covered) >= 0.85


def test_scores_are_compared_on_the_same_draws_and_on_items_that_have_all(monkeypatch):
    monkeypatch.setattr(areas, "RESAMPLES", 50)
    values, correct, question = made(0.8)
    other = 2 * values + 1
    other[0] = np.nan
    found = resampled(np.column_stack([values, other]), correct, ["all"] * len(values), question)
    assert found.shape == (51, 2)
    assert found[:, 0] == pytest.approx(found[:, 1])
    kept = np.isfinite(other)
    alone = resampled(values[kept][:, None], correct[kept], ["all"] * kept.sum(), question[kept])
    assert found[0, 0] == pytest.approx(alone[0, 0])


def items_with(effect, count=25):
    values, correct, question = made(effect, count=count)
    rng = np.random.default_rng(2)
    return [
        Item(
            question=int(number),
            group=f"relation {number % 4}",
            place=place % SUBJECTS,
            text=rng.choice(["red", "green", "blue"]),
            repeats=bool(rng.integers(2)),
            correct=bool(right),
            score=SentenceScore(
                start=0,
                end=1,
                tokens=(0, int(rng.integers(1, 9))),
                uncertainty=float(value),
                mean_surprisal=float(rng.normal()),
                mean_entropy=float(rng.normal()),
                weakest_token=0,
                reason="",
            ),
        )
        for place, (value, right, number) in enumerate(zip(values, correct, question, strict=True))
    ]


def test_the_table_has_every_score_and_its_finding_follows_from_it(monkeypatch):
    monkeypatch.setattr(areas, "RESAMPLES", 50)
    found = [
        one for model, effect in (("good", 1.5), ("blind", 0.0)) for one in lists.compared(model, items_with(effect))
    ]
    record = lists.record_of(found, {"good": Counts(200, 150, 10)})
    of = {(one.model, one.score): one for one in found}
    assert len(record.rows) == len(of) == 2 * 7
    assert of["good", lists.RAUQ].area_within.low > 0.6
    blind = of["blind", lists.RAUQ].area
    assert blind.low < 0.5 < blind.high
    assert of["good", lists.WORDS].lead.low > 0
    assert 0.35 < of["good", lists.WORDS].area.value < 0.65
    good, none = record.finding.split("blind: ")
    assert "Over all items it is better than all others; within relations, better than all others." in good
    assert none.count("mean surprisal") == none.count("words of the item") == 2
    assert record.notes[0].startswith("good: 150 of 200 subjects have a judged item (75%); 40 have no line")
    assert record.column("RAUQ minus it")[0] == "-"


def test_the_document_shows_the_kept_record():
    text = (Path(__file__).parents[2] / "docs/long_answers.md").read_text(encoding="utf-8")
    kept = find_record("lists")
    for model, score, *_, over_all, within, _lead, _lead_within in kept.rows:
        assert f"| {model} | {score.removeprefix('control: ')} | {over_all} | {within} |" in text
    for model in lists.MODELS:
        note = next(note for note in kept.notes if note.startswith(model))
        share = re.search(r"([\d,]+ of [\d,]+) subjects", note)[1]
        assert share in text
