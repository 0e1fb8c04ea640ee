"""The verdict and the rank of the answer shown: from the recording and the small table, or why there is none."""

import json

import numpy as np
import pytest

import rauq
from analysis.one_answer.standing import nearest_in_words, rank_in_words, standing
from pages.ui.inspect.judged import NO_REFERENCE, OTHER_SETTING, UNDEFINED, judged_payload
from rauq.recorded.answers import find_recorded, load_recorded
from rauq.recorded.scores import scores_of
from rauq.scoring.score import score
from tests.traces import make_trace


@pytest.mark.parametrize("recorded", load_recorded(), ids=lambda one: one.id)
def test_a_recorded_answer_has_its_verdict_and_the_rank_of_its_score(recorded):
    trace = recorded.trace()
    found = judged_payload(trace, score(trace), recorded)
    assert found["verdict"] == recorded.verdict
    assert found["correctAnswer"] == ("" if recorded.correct else recorded.correct_answer)
    kept = scores_of(trace)
    if kept is None:
        assert found["standing"] == {"reason": NO_REFERENCE}
        return
    expected = standing(score(trace).uncertainty, np.array(kept.uncertainties), np.array(kept.correct))
    assert found["standing"]["rank"] == rank_in_words(expected)
    assert found["standing"]["nearest"] == nearest_in_words(expected)
    assert kept.model in found["standing"]["about"]
    json.dumps(found, allow_nan=False)


def test_heads_of_the_reference_are_those_of_its_table_and_only_for_their_alignment():
    trace = find_recorded("canberra").trace()
    found, kept = judged_payload(trace, score(trace), None)["heads"], scores_of(trace).heads
    assert found["auc"] == [value for row in kept.auc for value in row]
    assert len(found["inCorrect"]) == len(trace.layers) * trace.num_heads
    assert f"{0.5 - kept.chance:.2f} to {0.5 + kept.chance:.2f}" in found["caption"]
    assert judged_payload(trace, score(trace, rauq.Settings(alignment="own")), None)["heads"] is None
    embedded = find_recorded("myth").trace()
    assert judged_payload(embedded, score(embedded), None)["heads"] is None


def test_another_setting_is_not_compared_with_scores_of_the_papers():
    trace = find_recorded("canberra").trace()
    assert judged_payload(trace, score(trace, rauq.Settings(alpha=0.5)), None)["standing"] == {"reason": OTHER_SETTING}
    assert "rank" in judged_payload(trace, score(trace, rauq.Settings(signal="entropy", alpha=0.9)), None)["standing"]


def test_a_model_without_a_table_is_told_how_to_get_a_reference():
    trace = make_trace()
    found = judged_payload(trace, score(trace), None)
    assert (found["verdict"], found["standing"]) == (None, {"reason": NO_REFERENCE})


def test_an_undefined_score_has_no_rank(monkeypatch):
    trace = find_recorded("canberra").trace()
    monkeypatch.setattr("pages.ui.inspect.judged.standing", lambda *_: None)
    assert judged_payload(trace, score(trace), None)["standing"] == {"reason": UNDEFINED}
