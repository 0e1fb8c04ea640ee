"""A response of vLLM becomes a trace: that of this project's own capture, or an error that says what is missing."""

import base64
import copy
import json
from pathlib import Path

import numpy as np
import pytest
from openai.types.chat import ChatCompletion

import rauq
from rauq.model.vllm import REQUEST, from_vllm
from tests.real_models import SMOLLM2

RECORDED = json.loads((Path(__file__).parent / "recorded.json").read_text(encoding="utf-8"))
QUESTION = "What is the capital of Japan? Answer with an emoji flag too."
MESSAGES = [{"role": "user", "content": QUESTION}]


@pytest.fixture
def response():
    return copy.deepcopy(RECORDED)


def test_it_is_what_this_project_captures_of_the_same_tokens(response, monkeypatch, tmp_path):
    monkeypatch.setenv("RAUQ_CACHE", str(tmp_path))
    lm = rauq.load_model(SMOLLM2, engine="transformers", device="cpu")
    found = from_vllm(response, messages=MESSAGES)
    own = lm.read(MESSAGES, found.answer_ids.tolist())
    assert own.prompt_ids.tolist() == found.prompt_ids.tolist()
    for name in ("answer_tokens", "pieces", "prompt", "messages", "prompt_form", "num_layers", "vocab_size", "kind"):
        assert getattr(own, name) == getattr(found, name)
    rows = own.attention[list(found.layers), :, :-1, :1]
    np.testing.assert_allclose(found.attention[:, :, :-1], rows, atol=1e-4)
    np.testing.assert_allclose(found.logprobs, own.logprobs, atol=1e-3)
    np.testing.assert_allclose(found.entropies, own.entropies, atol=1e-3)
    mine, theirs = rauq.score(found), rauq.score(own)
    np.testing.assert_array_equal(mine.heads, theirs.heads)
    assert mine.uncertainty == pytest.approx(theirs.uncertainty, abs=1e-4)
    named = response["kv_transfer_params"]["rauq"]
    assert dict(zip(named["layers"], named["heads"], strict=True)) == dict(zip(mine.layers, mine.heads, strict=True))


def test_it_does_what_every_trace_does(response, tmp_path):
    found = from_vllm(response)
    assert found.prompt_form == "templated"
    assert found.stop_reason == "eos"
    assert found.is_greedy
    assert rauq.Trace.from_bytes(found.to_bytes()).answer == found.answer == "The capital of Japan is Tokyo."
    found.save(tmp_path / "answer.safetensors")
    again = rauq.Trace.load(tmp_path / "answer.safetensors")
    assert rauq.score(again).uncertainty == rauq.score(found).uncertainty
    assert again.alternatives == found.alternatives
    assert found.plot("confidence").data
    assert all(np.isfinite(value) for value in rauq.evaluate(found, ["rauq", "msp", "mean_token_entropy"]).values())
    with pytest.raises(rauq.InvalidInput, match="not captured"):
        rauq.score(found, rauq.Settings(alignment="own"))


def test_the_object_of_openai_gives_the_same(response):
    found = from_vllm(ChatCompletion.model_validate({"id": "1", "created": 1} | response))
    assert found.to_bytes() == from_vllm(response).to_bytes()


def chunks_of(response):
    """A stream of the response: of the prompt, of two tokens at a time, and of what was used."""
    choice = response["choices"][0]
    rows, ids = choice["logprobs"]["content"], choice["token_ids"]
    prompt = {name: response[name] for name in ("model", "prompt_token_ids", "prompt_text")}
    yield prompt | {"choices": [{"index": 0, "delta": {"role": "assistant"}, "finish_reason": None}]}
    for start in range(0, len(ids), 2):
        ends = start + 2 >= len(ids)
        delta = {"content": "…"} | ({"rauq": response["kv_transfer_params"]["rauq"]} if ends else {})
        part = {"index": 0, "delta": delta, "token_ids": ids[start : start + 2], "stop_reason": None}
        part |= {"logprobs": {"content": rows[start : start + 2]}, "finish_reason": "stop" if ends else None}
        yield {"model": response["model"], "choices": [part]}
    yield {"model": response["model"], "choices": [], "usage": {}}


def test_the_chunks_of_a_stream_give_the_same(response):
    assert from_vllm(list(chunks_of(response))).to_bytes() == from_vllm(response).to_bytes()


def test_a_stream_without_its_end_or_with_several_answers_is_refused(response):
    chunks = list(chunks_of(response))
    for part in (chunks[:-2], chunks[1:], []):
        with pytest.raises(rauq.InvalidInput, match="middleware"):
            from_vllm(part)
    chunks[2]["choices"][0]["index"] = 1
    with pytest.raises(rauq.InvalidInput, match="several choices"):
        from_vllm(chunks)


def test_an_alternative_whose_id_is_unknown_branches_by_its_text(response):
    first = from_vllm(response).alternatives[0]
    assert [one.instead for one in first] == [504, "In", "K"]


def test_an_alternative_with_the_text_of_the_token_is_another_token(response):
    rows = response["choices"][0]["logprobs"]["content"]
    rows[0]["top_logprobs"][1]["token"] = rows[0]["token"]
    assert [one.id for one in from_vllm(response).alternatives[0]] == [504, -1, -1]


def test_a_character_of_several_tokens_is_with_the_last_of_them(response):
    rows = response["choices"][0]["logprobs"]["content"]
    rows[1] |= {"token": "", "bytes": []}
    rows[2] |= {"token": "é", "bytes": [195, 169]}
    found = from_vllm(response)
    assert found.pieces[1:3] == (b"", "é".encode())
    assert rauq.Trace.from_bytes(found.to_bytes()).answer_tokens[1:3] == ("", "é")


@pytest.mark.parametrize(
    ("finish", "stop", "reason"),
    [("length", None, "length"), ("stop", "\n", "stop"), ("abort", None, "cancelled"), ("stop", None, "eos")],
)
def test_how_it_ended(response, finish, stop, reason):
    response["choices"][0] |= {"finish_reason": finish, "stop_reason": stop}
    found = from_vllm(response)
    assert found.stop_reason == reason
    assert found.answer_tokens[-1] == ("" if reason == "eos" else "<|im_end|>")


def without(*names):
    def change(response):
        inner = response
        for name in names[:-1]:
            inner = inner[name]
        del inner[names[-1]]

    return change


def stopped(response):
    response["choices"][0]["stop_reason"], response["kv_transfer_params"] = "\n", None


def lost(response):
    response["kv_transfer_params"]["rauq"]["entropies"][3] = None


def lost_row(response):
    found = response["kv_transfer_params"]["rauq"]
    rows = np.frombuffer(base64.b64decode(found["attention"]), "<f4").reshape(found["shape"]).copy()
    rows[3, :, 2:4] = np.nan
    found["attention"] = base64.b64encode(rows.tobytes()).decode()


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        (without("kv_transfer_params"), rauq.InvalidInput, "plugin rauq-vllm"),
        (without("kv_transfer_params", "rauq"), rauq.InvalidInput, "kv_transfer_params"),
        (stopped, rauq.InvalidInput, "without stop strings"),
        (without("prompt_token_ids"), rauq.InvalidInput, "return_token_ids"),
        (without("prompt_text"), rauq.InvalidInput, "return_prompt_text"),
        (without("choices", 0, "token_ids"), rauq.InvalidInput, "return_token_ids"),
        (without("choices", 0, "logprobs"), rauq.InvalidInput, "logprobs"),
        (without("choices", 0), rauq.InvalidInput, "n=1"),
        (lambda one: one["choices"].append(one["choices"][0]), rauq.InvalidInput, "2 choices"),
        (lambda one: one["choices"][0].update(logprobs=None), rauq.InvalidInput, "logprobs"),
        (lambda one: one["kv_transfer_params"]["rauq"].update(schema=2), rauq.InvalidInput, "Update"),
        (lambda one: one["kv_transfer_params"]["rauq"].update(attention="???"), rauq.InvalidInput, "plugin rauq-vllm"),
        (lambda one: one["kv_transfer_params"]["rauq"].update(shape=[2]), rauq.InvalidInput, "plugin rauq-vllm"),
        (lambda one: one["choices"][0]["token_ids"].pop(), rauq.InvalidInput, "plugin rauq-vllm"),
        (lost, rauq.NotCaptured, "entropies of 1 of 8"),
        (lost_row, rauq.NotCaptured, "attention of 2 of 8"),
    ],
)
def test_what_is_missing_is_said(response, change, error, says):
    change(response)
    with pytest.raises(error, match=says):
        from_vllm(response)


@pytest.mark.parametrize("given", [{}, {"choices": None}, {"choices": "x"}, {"error": {"message": "no"}}])
def test_what_is_no_response_is_refused(given):
    with pytest.raises(rauq.InvalidInput, match="plugin rauq-vllm"):
        from_vllm(given)


def test_the_request_is_json():
    assert json.loads(json.dumps(REQUEST)) == REQUEST
