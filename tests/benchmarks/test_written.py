"""The comparison of scores of written answers: each score on a made-up reading, shares of marks, and the table."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.evidence.written import AREA, CHOSEN, PAIRS
from benchmarks import written
from benchmarks.written.marks import MARKS, hits, share_with_interval
from benchmarks.written.reading import Answers, Item, Reading
from benchmarks.written.scores import SCORES, rarity, rated

QUESTION = "Who is the author of Hamlet?"
TEXTS = ("Ham", "let", " was", " written", " by", " Charles", " Dick", "ens", ".")
SURPRISALS = np.array([9.0, 0.1, 5.0, 0.5, 0.1, 7.0, 2.0, 0.1, 8.0])


def reading(*, correct, surprisals=SURPRISALS, group="authors", question=QUESTION):
    count = len(TEXTS)
    return Reading(
        item=Item(group, "name last", question, "".join(TEXTS), (22, 37), correct),
        texts=TEXTS,
        surprisals=surprisals,
        entropies=np.full(count, 2.0),
        best=np.full(count, 0.5),
        elsewhere=surprisals - 1,
        rauq=(-2.0, 0.3),
        collapse=np.array([np.arange(count), np.arange(count)[::-1]], dtype=float),
        name=np.isin(np.arange(count), (5, 6, 7)),
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RAUQ, entropy", -2.0),
        ("mean surprisal", SURPRISALS.mean()),
        ("largest surprisal", 9.0),
        ("largest surprisal, first and last token left out", 7.0),
        ("largest surplus over the best alternative, first and last token left out", 6.5),
        ("largest surprisal minus entropy", 7.0),
        ("largest rise of surprisal over that after another question", 1.0),
        ("mean of the two largest surprisals", 8.0),
        (CHOSEN, 7.0),
    ],
)
def test_scores_are_as_their_names_say(name, value):
    assert SCORES[name](reading(correct=False)) == pytest.approx(value)


@pytest.mark.parametrize(
    ("name", "share"),
    [
        ("largest collapse, entropy", 1),
        ("largest collapse, probability", 0),
        ("largest surprisal", 0),
        (CHOSEN, 1),
        ("control: any word", 3 / 8),
        ("control: the first word", 0),
        ("control: the last word", 1),
        ("control: any word with a capital, or a number", 1),
    ],
)
def test_marks_fall_where_their_names_say(name, share):
    answers = Answers(model="m", name=PAIRS, read=(reading(correct=False), reading(correct=True)))
    assert hits(MARKS[name], answers) == pytest.approx([share])


def test_a_share_has_wilsons_interval():
    share, low, high = share_with_interval(np.array([1.0] * 9 + [0.0]))
    assert (share, low, high) == pytest.approx((0.9, 0.5958, 0.9821), abs=1e-4)  # R: binom.confint(9, 10, "wilson")


def test_the_rarest_word_counts():
    often, rare = -np.log(3 / 4), -np.log(1 / 4)
    assert rarity(["a b", "a c", "a b", "a b"]) == pytest.approx([often, rare, often, often])


def answers_with_an_effect(count=40):
    rng = np.random.default_rng(0)
    read = []
    for place in range(count):
        for correct in (True, False):
            values = rng.uniform(0, 4, len(TEXTS))
            values[5] += 0 if correct else 3
            question = f"Who is the author of the work {place} of Hamlet?"
            read.append(reading(correct=correct, surprisals=values, group=f"family {place % 2}", question=question))
    return Answers(model="smollm2", name=PAIRS, read=tuple(read))


def test_the_table_has_every_score_and_mark_and_its_finding_follows_from_it():
    answers = answers_with_an_effect()
    rows = list(written.rows_of(answers))
    record = written.record_of(rows)
    assert {row[3] for row in rows if row[1] == PAIRS and row[2] == AREA} == set(rated(answers.read))
    assert {row[3] for row in rows if row[2] == written.MARKED} == set(MARKS)
    [chosen] = [row for row in rows if row[1:4] == (PAIRS, AREA, CHOSEN)]
    value, low, high = chosen[5:8]
    assert 0.5 < low < value < high <= 1
    assert chosen[4] == 2 * 40
    assert f"{value:.2f}".lstrip("0") in record.finding
    blind = [row for row in rows if row[1:4] == (PAIRS, AREA, "RAUQ, entropy")]
    assert blind[0][5] == 0.5


def test_a_score_that_is_known_of_some_answers_is_compared_on_these():
    answers = answers_with_an_effect()
    some = tuple(replace(one, elsewhere=None) if place >= 20 else one for place, one in enumerate(answers.read))
    rows = list(written.score_rows(replace(answers, read=some)))
    [row] = [row for row in rows if "another question" in row[3]]
    assert row[4] == 20
