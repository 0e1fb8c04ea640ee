"""Shares of correct answers of kinds of answers: the table, its finding, and the prompts that hold a text."""

import numpy as np
import pytest

from analysis.datasets.written_pairs import written_pairs
from benchmarks.likeness import OTHERS, Judged, prompt_of, record_of

PAIRS = [pair for pair in written_pairs(per_family=3) if not pair.paraphrased]


def answers(kind, *, stated, correct):
    return [Judged(kind, stated, float(one)) for one in correct]


def test_a_row_holds_the_stated_share_beside_the_true_one_and_the_finding_names_what_lies_outside():
    made = [
        *answers("copies", stated=0.6, correct=np.zeros(20)),
        *answers("own words", stated=0.5, correct=np.arange(20) % 2),
    ]
    record = record_of(made)
    assert [row[:4] for row in record.rows] == [("copies", 20, 0.6, 0), ("own words", 20, 0.5, 0.5)]
    assert record.finding == "The stated share is wrong for: copies, 60 % stated, 0 % [0 %, 16 %] correct, n = 20."
    assert record_of(made[20:]).finding == "The stated share holds for all kinds."


@pytest.mark.parametrize("is_correct", [True, False])
def test_a_text_answers_its_question_once_rightly_or_wrongly(is_correct):
    for pair in PAIRS:
        prompt = prompt_of(pair, PAIRS, is_correct=is_correct)
        own = {True: pair.right.text, False: pair.wrong.text}
        assert own[is_correct] in prompt
        assert own[not is_correct] not in prompt
        assert prompt.endswith(pair.question)
        assert sum(one.right.text in prompt for one in PAIRS if one.group != pair.group) >= OTHERS
