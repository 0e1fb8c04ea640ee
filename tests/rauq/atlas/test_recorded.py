"""The recorded generations: made by the embedded weights, with correct descriptions."""

import os
from collections import Counter

import numpy as np
import pytest
from rauq.atlas.recorded import FOLDER, load_recorded

import rauq
from rauq.atlas.evaluation import FAMILIES, judge, load_examples
from rauq.model.loading import ATLAS, sha256

RECORDED = load_recorded()
EXAMPLES = {example.prompt: example for family in FAMILIES for example in load_examples(family)}


def test_there_are_at_least_eight_over_the_three_families():
    families = Counter(EXAMPLES[recorded.trace().prompt].family for recorded in RECORDED)
    assert families.total() >= 8
    assert set(families) == set(FAMILIES)


def test_the_index_and_the_folder_hold_the_same():
    assert {recorded.path for recorded in RECORDED} == set(FOLDER.glob("*.safetensors"))


def test_the_first_one_is_incorrect_and_the_second_one_correct():
    assert [recorded.correct for recorded in RECORDED[:2]] == [False, True]


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda recorded: recorded.id)
class TestRecorded:
    def test_it_was_made_by_the_weights_beside_it(self, recorded):
        assert recorded.trace().revision == sha256(ATLAS / "model.safetensors")

    def test_its_answer_is_correct_or_not_as_stated(self, recorded):
        trace = recorded.trace()
        assert judge(EXAMPLES[trace.prompt], trace.answer).correct == recorded.correct

    def test_the_model_still_gives_this_answer(self, recorded, atlas):
        trace = recorded.trace()
        again = atlas.generate(trace.prompt, last_row=True)
        np.testing.assert_array_equal(again.answer_ids, trace.answer_ids)
        np.testing.assert_allclose(again.attention, trace.attention, atol=1e-5)

    def test_it_can_be_scored_in_both_alignments(self, recorded):
        for alignment in ("predicting", "own"):
            assert np.isfinite(rauq.score(recorded.trace(), rauq.Settings(alignment=alignment)).uncertainty)

    def test_its_description_mentions_a_collapse_if_there_is_one(self, recorded):
        highest = rauq.score(recorded.trace()).collapse.max()
        assert (highest >= 1) == ("confidence collapses" in recorded.what_to_see)


def test_a_recording_is_read_once_and_again_when_its_file_changes(tmp_path, monkeypatch):
    recorded = RECORDED[0]
    content = recorded.path.read_bytes()
    monkeypatch.setattr("rauq.atlas.recorded.FOLDER", tmp_path)
    recorded.path.write_bytes(content)
    os.utime(recorded.path, ns=(1, 1))
    first = recorded.trace()
    assert recorded.trace() is first
    os.utime(recorded.path, ns=(2, 2))
    assert recorded.trace() is not first
    recorded.path.write_bytes(content[:1000])
    os.utime(recorded.path, ns=(3, 3))
    for _ in range(2):
        with pytest.raises(rauq.TraceFileError, match="truncated"):
            recorded.trace()
    recorded.path.unlink()
    with pytest.raises(rauq.TraceFileError, match="There is no file"):
        recorded.trace()


@pytest.fixture(scope="module")
def atlas():
    return rauq.load_model("atlas")
