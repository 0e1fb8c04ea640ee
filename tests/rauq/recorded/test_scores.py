"""The reference scores: those of the models' own answers, with their verdicts."""

import numpy as np
import pytest

import rauq
from analysis.datasets.names import WRITTEN as WRITTEN_SET
from analysis.datasets.names import load
from analysis.quality.measures import load_judge
from analysis.runs.attention import means
from analysis.runs.library import bundled_folder
from analysis.runs.opened import open_run
from analysis.stats import roc_auc
from rauq.checkpoints.named import NAMED_MODELS
from rauq.recorded import scores
from rauq.recorded.answers import find_recorded, load_recorded
from rauq.recorded.scores import WRITTEN, load_scores, scores_of, write_scores
from tests.traces import as_lig

BY_MODEL = {one.model: one for one in load_scores()}


def test_there_are_those_of_the_bundled_run():
    run, kept = open_run(bundled_folder()), BY_MODEL["smollm2"]
    decided = run.answers[~run.answers["unclear"]]
    np.testing.assert_allclose(kept.uncertainties, decided["rauq"], atol=1e-4)
    assert list(kept.correct) == list(decided["quality"] == 1)
    assert kept.unclear == run.answers["unclear"].sum() == len(run.answers) - len(decided)
    assert (kept.revision, kept.kind) == (run.answerer.revision, run.answerer.kind)


def test_heads_are_those_of_the_bundled_run():
    run, kept = open_run(bundled_folder()), BY_MODEL["smollm2"].heads
    decided = ~run.answers["unclear"].to_numpy()
    weights, answers = means(run)[decided], run.answers[decided]
    correct = (answers["quality"] == 1).to_numpy()
    np.testing.assert_allclose(kept.in_correct, weights[correct].mean(axis=0), atol=1e-4)
    area, weight = np.zeros(weights.shape[1:]), 0.0
    for group in sorted(set(answers["group"])):
        own = (answers["group"] == group).to_numpy()
        right, wrong = weights[own & correct], weights[own & ~correct]
        pairs = (right[:, None] > wrong[None]).mean(axis=(0, 1)) + (right[:, None] == wrong[None]).mean(axis=(0, 1)) / 2
        own_weight = len(right) * len(wrong) / (own.sum() + 1)
        area, weight = area + own_weight * pairs, weight + own_weight
    np.testing.assert_allclose(kept.auc, area / weight, atol=2e-3)
    assert 0.03 < kept.chance < 0.2


def test_there_are_those_of_the_embedded_model():
    kept, lm = BY_MODEL["atlas"], rauq.load_model("atlas")
    examples = load("atlas", kind="base", per_group=300).examples
    assert len(kept.correct) == len(kept.uncertainties) == len(examples)
    places = range(0, len(examples), 75)
    traces = [lm.generate(examples[place].prompt, max_new_tokens=64) for place in places]
    judged = load_judge("exact_truth")([examples[place] for place in places], [trace.answer for trace in traces])
    for place, trace, judgement in zip(places, traces, judged, strict=True):
        assert abs(kept.uncertainties[place] - rauq.score(trace).uncertainty) < 1e-3
        assert kept.correct[place] == (judgement.quality == 1)


def test_an_answer_finds_those_of_its_model():
    found = {recorded.trace().model: scores_of(recorded.trace()) for recorded in load_recorded()}
    assert found == {"smollm2": BY_MODEL["smollm2"], "atlas": BY_MODEL["atlas"], "gemma3-270m": None}


def test_other_weights_or_another_kind_find_none(make_other):
    assert scores_of(make_other()) is not None
    assert scores_of(make_other(revision="0" * 64)) is None
    assert scores_of(make_other(kind="instruct")) is None


def test_a_damaged_file_says_how_to_make_it_again(tmp_path, monkeypatch):
    monkeypatch.setattr(scores, "SCORES", tmp_path / "scores.json")
    with pytest.raises(rauq.TraceFileError, match="training run"):
        load_scores()
    (tmp_path / "scores.json").write_text('[{"model": "a"}]')
    with pytest.raises(rauq.TraceFileError, match="training run"):
        load_scores()


def test_what_is_written_is_read_again_in_the_place_of_the_former(tmp_path, monkeypatch):
    monkeypatch.setattr(scores, "SCORES", tmp_path / "scores.json")
    for one in (BY_MODEL["smollm2"], BY_MODEL["atlas"], BY_MODEL["smollm2"]):
        write_scores(one)
    assert load_scores() == (BY_MODEL["atlas"], BY_MODEL["smollm2"])


@pytest.fixture
def make_other():
    """An answer of the embedded model, with some of its fields changed."""
    from dataclasses import replace

    trace = find_recorded("myth").trace()
    return lambda **changes: replace(trace, **changes)


def test_there_are_none_for_attributions():
    recorded = find_recorded("canberra").trace()
    assert scores_of(recorded) is not None
    assert scores_of(as_lig(recorded, layers=(12, 13))) is None


OF_WRITTEN = {one.model: one for one in load_scores(WRITTEN)}


def test_every_packaged_model_has_read_the_written_answers():
    assert set(OF_WRITTEN) == {named.name for named in NAMED_MODELS}
    for one in OF_WRITTEN.values():
        data = load(WRITTEN_SET, kind=one.kind)
        assert one.correct == tuple(example.quality == 1 for example in data.examples)
        assert len(one.uncertainties) == len(data.examples)
        assert np.bincount(one.clusters).tolist() == [2] * (len(data.examples) // 2)
        assert one.written


def test_they_are_told_apart_and_the_wrong_name_is_marked():
    for one in OF_WRITTEN.values():
        assert roc_auc(np.array(one.uncertainties), np.array(one.correct, dtype=float)) > 0.7
        assert one.weak_point.incorrect.share > 0.9 > one.weak_point.incorrect.limit
