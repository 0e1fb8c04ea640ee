"""The comparison with peers, without their environment: our own worker, the records, and what stands in their place."""

import io
import json
import math
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

import rauq
from benchmarks.peers import agreement, asking, memory, payload, times, worker
from benchmarks.peers.material import atlas_folder, atlas_prompts
from benchmarks.peers.times import Turns
from benchmarks.peers.worker import ALPHA, Answer, Request
from benchmarks.support.paired import Ratio
from benchmarks.support.random_model import Shape, build
from rauq.errors import InvalidInput
from tests.architectures import save_tiny
from tests.evidence import make_record

PROMPT, NEW_TOKENS = "Where is it?", 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tiny(tmp_path_factory.mktemp("peers") / "tiny")


def request_of(folder, what, tool="rauq", **options):
    prompts = (PROMPT, PROMPT[:5])
    return Request(what=what, tool=tool, folder=str(folder), prompts=prompts, new_tokens=NEW_TOKENS, **options)


def test_both_take_as_many_turns_as_were_asked_for(folder):
    found = worker.times(request_of(folder, "times", pairs=(3, 1)))
    assert list(map(len, found)) == [3, 1]
    assert all(seconds > 0 for turns in found for plain, tool in turns for seconds in (*plain, *tool))


def test_our_answers_are_those_of_plain_generation(folder):
    generated = worker.plain(request_of(folder, "answers", "plain"))(PROMPT)
    answer, _ = worker.answers(request_of(folder, "answers"))
    whole = [*answer.prompt_ids, *answer.answer_ids]
    assert generated.sequences[0].tolist() == whole
    assert answer.weights.shape[2] == len(answer.answer_ids) - 1 == NEW_TOKENS - 1


@pytest.mark.parametrize("tool", ["plain", "rauq"])
def test_memory_is_what_an_answer_takes_more_than_the_model(folder, tool):
    assert 0 <= worker.memory(request_of(folder, "memory", tool)) < 200


def test_bytes_of_weights_are_those_that_transformers_returns():
    shape = Shape(hidden=16, inner=16, layers=2, heads=4, key_heads=2, vocabulary=50)
    model = build(shape)
    model.set_attn_implementation("eager")
    ids = torch.arange(1, 12)[None]
    found = model.generate(
        ids, attention_mask=torch.ones_like(ids), max_new_tokens=5, do_sample=False, pad_token_id=0,
        output_attentions=True, return_dict_in_generate=True,
    )  # fmt: skip
    held = sum(layer.nbytes for step in found.attentions for layer in step)
    assert memory._weights_bytes(11, shape=shape, new_tokens=5) == held


def turns(plain, tool, pairs=5):
    return Turns(plain=(plain,) * pairs, tool=(tool,) * pairs)


@pytest.mark.parametrize(("theirs", "met"), [(3.1, True), (2.9, False)])
def test_time_is_held_against_plain_generation_of_each_environment(theirs, met):
    found = {
        (length, tool, clock): turns(plain, plain * ratio)
        for length in (32, 4096)
        for clock in ("CPU", "wall")
        for tool, plain, ratio in (("rauq", 2.0, 1.0), ("lm-polygraph", 4.0, theirs if length > 32 else 9.0))
    }
    record = times._record(found)
    assert [row[:3] for row in record.rows] == sorted(found)
    assert record.rows[0][3:] == (4.0, 36.0, 9.0, 9.0, 9.0, 5)
    assert record.met is met


def test_a_ratio_of_ratios_is_as_uncertain_as_both():
    assert times._over(Ratio(6, 5, 8, 9), Ratio(2, 1, 4, 7)) == Ratio(3, 1.25, 8, 7)


@pytest.mark.parametrize(("theirs", "met"), [(1500, True), (1490, False)])
def test_memory_of_the_longest_prompt_is_held_to_its_bound(theirs, met):
    peaks = {"plain": [90.0, 80.0, 99.0], "rauq": [100.0, 70.0, 170.0], "lm-polygraph": [theirs, 1.0, 9_000.0]}
    record = memory._record({(length, way): found for length in (512, 4096) for way, found in peaks.items()})
    assert record.rows[1][:5] == (512, "rauq", 100.0, 70.0, 170.0)
    *_, computed = record.rows
    assert computed[:2] == (8192, "lm-polygraph")
    assert math.isnan(computed[2])
    assert computed[-1] == pytest.approx(17.2e9 / 2**20, rel=0.02)
    assert record.met is met


def answers_of_a_peer(*, nudge=0.0):
    """Three layers, all in the window but the first, scored by the recurrence written out."""
    rng = np.random.default_rng(0)
    logprobs, weights = np.log(rng.uniform(0.1, 1, 7)), rng.random((3, 2, 6))
    scores = []
    for layer in (1, 2):
        head = weights[layer, weights[layer].mean(-1).argmax()]
        confidence = [math.exp(logprobs[0])]
        for weight, logprob in zip(head, logprobs[1:], strict=True):
            confidence.append(ALPHA * math.exp(logprob) + (1 - ALPHA) * weight * confidence[-1])
        scores.append(1 - np.log(confidence).mean())
    return [
        Answer(
            prompt_ids=[5, 6],
            answer_ids=list(range(7)),
            logprobs=logprobs,
            weights=weights,
            uncertainty=max(scores) + nudge,
        )
    ]


def agreeing(ours, theirs, *, ends=False):
    return agreement._record([agreement._compared("tiny", ours, theirs, theirs, ends=ends)])


def test_agreement_takes_off_the_constant():
    theirs = answers_of_a_peer()
    ours = [replace(theirs[0], uncertainty=theirs[0].uncertainty - 1)]
    record = agreeing(ours, theirs)
    assert record.met
    assert [row[3] for row in record.rows] == ["", "", 1]
    assert not agreeing(theirs, theirs).met


def test_disagreement_is_found():
    honest = answers_of_a_peer()
    ours = [replace(honest[0], uncertainty=honest[0].uncertainty - 1)]
    assert [bound.met for bound in agreeing(ours, answers_of_a_peer(nudge=2e-9)).bounds] == [False, True, True]
    assert [bound.met for bound in agreeing(ours, answers_of_a_peer(nudge=2e-5)).bounds] == [False, True, False]
    other = [replace(ours[0], answer_ids=[9] * 7)]
    assert [bound.met for bound in agreeing(other, honest).bounds] == [True, False, False]


def test_the_embedded_model_without_its_end_token_never_stops(tmp_path):
    prompts = atlas_prompts(2)
    lengths = {}
    for end in (True, False):
        lm = rauq.load_model(atlas_folder(tmp_path / str(end), end=end))
        assert bool(lm.end_ids) is end
        lengths[end] = [len(lm.generate(prompt, max_new_tokens=40, stop=()).answer_ids) for prompt in prompts]
    assert max(lengths[True]) < 40
    assert lengths[False] == [40, 40]


def test_payload_is_counted_in_times_of_ours():
    record = payload._record(2 * 2**20, 500 * 2**20)
    assert [row[1:] for row in record.rows] == [(2.0, 1.0), (500.0, 250.0)]
    assert "250 times" in record.finding


def peers_in(tmp_path, monkeypatch, *lines):
    """An interpreter of the peers that does what the lines of shell say."""
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text("\n".join(("#!/bin/sh", *lines)))
    python.chmod(0o755)
    monkeypatch.setattr(asking, "ENVIRONMENT", tmp_path)


def test_the_peer_is_asked_in_its_own_environment(tmp_path, monkeypatch):
    peers_in(tmp_path, monkeypatch, 'printf \'{"asked": "%s", "request": %s}\' "$2" "$(cat)"')
    found = asking.ask(request_of("models", "memory", "lm-polygraph"))
    assert found["asked"] == "benchmarks.peers.worker"
    assert Request(**found["request"]) == replace(
        request_of("models", "memory", "lm-polygraph"), prompts=[PROMPT, PROMPT[:5]], pairs=[]
    )


def test_a_failing_worker_is_reported_in_its_own_words(tmp_path, monkeypatch):
    peers_in(tmp_path, monkeypatch, "echo no such estimator >&2; exit 3")
    with pytest.raises(RuntimeError, match="no such estimator"):
        asking.ask(request_of("models", "memory", "lm-polygraph"))


def test_missing_peers_are_named_with_their_command(tmp_path, monkeypatch):
    monkeypatch.setattr(asking, "ENVIRONMENT", tmp_path / "none")
    with pytest.raises(InvalidInput, match="make bench-peers"):
        asking.ask(request_of("models", "memory", "lm-polygraph"))


def test_versions_are_those_of_the_peers(tmp_path, monkeypatch):
    meta = tmp_path / "lib" / "python3.11" / "site-packages" / "lm_polygraph-0.7.0.dist-info"
    meta.mkdir(parents=True)
    (meta / "METADATA").write_text("Metadata-Version: 2.1\nName: lm-polygraph\nVersion: 0.7.0\n")
    monkeypatch.setattr(asking, "ENVIRONMENT", tmp_path)
    found = asking.with_versions(make_record(versions=(("Python", "3.11"),)), ["lm-polygraph"])
    assert found.versions == (("Python", "3.11"), ("lm-polygraph of the peers", "0.7.0"))


def test_the_worker_prints_only_json(folder, capsys, monkeypatch):
    request = {**vars(request_of(folder, "answers")), "prompts": [PROMPT]}
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(request)))
    worker.main()
    [answer] = json.loads(capsys.readouterr().out)
    assert np.array(answer["weights"]).ndim == 3
