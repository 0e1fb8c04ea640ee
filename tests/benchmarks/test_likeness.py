"""Shares of correct answers of kinds of answers: the table, its finding, and the prompts that hold a text."""

import numpy as np
import pytest

from analysis.datasets.written_pairs import written_pairs
from benchmarks.likeness import AMONG, MORE_WRITTEN, OTHERS, WORDY, Judged, prompt_of, record_of, written_answers

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


def test_longer_written_answers_hold_one_side_of_their_pair_and_are_right_in_half():
    made = list(written_answers(PAIRS[:20]))
    for kind in (WORDY, AMONG):
        own = [(text, is_right) for one, _, text, is_right in made if one == kind]
        assert [is_right for _, is_right in own] == [True, False] * 20
        for pair, (right, _), (wrong, _) in zip(PAIRS[:20], own[::2], own[1::2], strict=True):
            assert right.replace(pair.right.text, pair.wrong.text) == wrong != right
            others = [one for one in PAIRS if one.group != pair.group and one.right.text in right]
            assert len(others) >= (MORE_WRITTEN if kind == AMONG else 0)
