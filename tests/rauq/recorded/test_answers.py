"""The recorded answers: made by the weights of their models, with correct descriptions."""

import os
from collections import Counter
from typing import get_args

import numpy as np
import pytest

import rauq
from rauq.atlas.evaluation import FAMILIES, invented_tokens, judge, load_examples
from rauq.checkpoints.named import NAMED_MODELS
from rauq.model.loading import ATLAS, sha256
from rauq.recorded.answers import FOLDER, Verdict, load_recorded
from tests.real_models import SMOLLM2

SHA256 = {model.name: model.sha256 for model in NAMED_MODELS} | {"atlas": sha256(ATLAS / "model.safetensors")}

RECORDED = load_recorded()
OF_ATLAS = [recorded for recorded in RECORDED if recorded.trace().model == "atlas"]
EXAMPLES = {example.prompt: example for family in FAMILIES for example in load_examples(family)}


def test_there_are_24_of_real_models_and_eight_of_the_embedded_one_in_three_families():
    models = Counter(recorded.trace().model for recorded in RECORDED)
    assert models["smollm2"] + models["gemma3-270m"] >= 24
    assert min(models["gemma3-270m"], 3) == 3
    families = Counter(EXAMPLES[recorded.trace().prompt].family for recorded in OF_ATLAS)
    assert families.total() >= 8
    assert set(families) == set(FAMILIES)


def test_the_index_and_the_folder_hold_the_same():
    assert {recorded.path for recorded in RECORDED} == set(FOLDER.glob("*.safetensors"))


def test_real_answers_are_correct_incorrect_and_partly_correct_short_and_long():
    real = [recorded for recorded in RECORDED if recorded not in OF_ATLAS]
    assert {recorded.verdict for recorded in real} == set(get_args(Verdict))
    assert max(len(recorded.trace().answer_ids) for recorded in real) >= 80
    assert min(len(recorded.trace().answer_ids) for recorded in real) <= 8


def test_the_app_opens_on_an_incorrect_answer_whose_largest_collapse_is_invented():
    first = RECORDED[0]
    trace = first.trace()
    collapse = rauq.score(trace).collapse
    assert first.verdict == "incorrect"
    assert int(np.argmax(collapse)) in trace.wrong


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda recorded: recorded.id)
def test_it_can_be_scored_in_both_alignments(recorded):
    for alignment in ("predicting", "own"):
        assert np.isfinite(rauq.score(recorded.trace(), rauq.Settings(alignment=alignment)).uncertainty)


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda recorded: recorded.id)
def test_only_answers_that_are_not_correct_have_invented_tokens(recorded):
    assert not (recorded.correct and recorded.trace().wrong)
    assert recorded.correct_answer
    assert recorded.correct or recorded.correct_answer in recorded.note


@pytest.mark.parametrize(
    "recorded", [recorded for recorded in RECORDED if recorded.trace().model in SHA256], ids=lambda one: one.id
)
def test_it_was_made_by_the_weights_of_that_name(recorded):
    assert recorded.trace().revision == SHA256[recorded.trace().model]


def test_smollm2_still_gives_its_first_answer():
    trace = RECORDED[0].trace()
    again = rauq.load_model(SMOLLM2).generate(trace.prompt, max_new_tokens=24, last_row=True)
    np.testing.assert_array_equal(again.answer_ids, trace.answer_ids[:24])
    np.testing.assert_allclose(again.attention[:, :, :24], trace.attention[:, :, :24], atol=1e-4)


@pytest.mark.parametrize("recorded", OF_ATLAS, ids=lambda recorded: recorded.id)
class TestAtlas:
    def test_its_answer_is_correct_or_not_as_stated(self, recorded):
        trace = recorded.trace()
        assert judge(EXAMPLES[trace.prompt], trace.answer).correct == recorded.correct

    def test_invented_tokens_are_those_of_its_wrong_statements(self, recorded):
        trace = recorded.trace()
        verdict = judge(EXAMPLES[trace.prompt], trace.answer)
        wrong = [one for one in verdict.statements if not one.correct]
        ends = np.cumsum([len(text) for text in trace.answer_tokens])
        # character by character: another way than that of invented_tokens
        places = [place for one in wrong for place in range(one.start, one.end)]
        owners = {int(np.searchsorted(ends, place, side="right")) for place in places}
        assert invented_tokens(trace, verdict) == tuple(sorted(owners))
        assert recorded.correct == (not owners)

    def test_the_model_still_gives_this_answer(self, recorded, atlas):
        trace = recorded.trace()
        again = atlas.generate(trace.prompt, last_row=True)
        np.testing.assert_array_equal(again.answer_ids, trace.answer_ids)
        np.testing.assert_allclose(again.attention, trace.attention, atol=1e-5)

    def test_its_description_mentions_a_collapse_if_there_is_one(self, recorded):
        highest = rauq.score(recorded.trace()).collapse.max()
        assert (highest >= 1) == ("confidence collapses" in recorded.what_to_see)


def test_a_recording_is_read_once_and_again_when_its_file_changes(tmp_path, monkeypatch):
    recorded = RECORDED[0]
    content = recorded.path.read_bytes()
    monkeypatch.setattr("rauq.recorded.answers.FOLDER", tmp_path)
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
