"""What clients get: the library's answer and numbers, and no numbers where they ask for none."""

import json
import threading
from contextlib import contextmanager

import httpx
import numpy as np
import pytest

import rauq
from rauq.errors import NotCaptured
from rauq.scoring.settings import Settings
from serve import streaming, worker
from serve.worker import Limits, Worker
from tests.serve.conftest import CHAT, MESSAGES, NAME, TEXT


def answered(lm, **options):
    options = {"max_new_tokens": 12, "stop": ()} | options
    return lm.generate(MESSAGES, **options)


def chunks(server, body, kind="chat"):
    """The chunks of a stream, after which it is done."""
    path = "/chat/completions" if kind == "chat" else "/completions"
    with httpx.stream("POST", server.base + path, json=body | {"stream": True}, timeout=60) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        lines = [line.removeprefix("data: ") for line in response.iter_lines() if line]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


def test_an_answer_is_the_librarys(server, tiny):
    trace, response = answered(tiny), server.post(CHAT)
    body = response.json()
    assert response.status_code == 200
    assert body["choices"][0]["message"] == {"role": "assistant", "content": trace.answer, "refusal": None}
    assert body["choices"][0]["finish_reason"] == "length"
    assert body["usage"] == {
        "prompt_tokens": len(trace.prompt_ids),
        "completion_tokens": 12,
        "total_tokens": len(trace.prompt_ids) + 12,
    }


@pytest.mark.parametrize("kind", ["chat", "text"])
def test_a_client_that_asks_for_no_numbers_sees_none(server, kind):
    body = CHAT if kind == "chat" else TEXT
    whole = server.post(body, kind=kind).text
    streamed = json.dumps(chunks(server, body | {"stream_options": {"include_usage": True}}, kind))
    assert "rauq" not in whole + streamed


def test_numbers_are_those_of_the_score(server, tiny):
    trace = answered(tiny)
    score = rauq.score(trace)
    choice = server.post(CHAT | {"logprobs": True, "top_logprobs": 3}).json()["choices"][0]
    content, numbers = choice["logprobs"]["content"], choice["message"]["rauq"]
    row = score.layers.index(score.layer)
    np.testing.assert_allclose([one["logprob"] for one in content], trace.logprobs, atol=1e-5)
    expected = np.stack([score.confidence[row], score.collapse, trace.entropies], axis=1)
    given = [[one["rauq"][name] for name in ("confidence", "collapse", "entropy")] for one in content]
    np.testing.assert_allclose(given, expected, atol=1e-5)
    assert "".join(one["token"] for one in content) == choice["message"]["content"] == trace.answer
    assert [bytes(one["bytes"]) for one in content] == list(trace.pieces)
    best = [[other.text for other in row[:3]] for row in trace.alternatives]
    assert [[other["token"] for other in one["top_logprobs"]] for one in content] == best
    assert numbers["uncertainty"] == pytest.approx(score.uncertainty, abs=1e-5)
    assert (numbers["layer"], numbers["heads"]) == (score.layer, score.heads.tolist())
    assert numbers["no_rank"] == "the server was started without --run"
    weakest = numbers["weakest"]
    assert trace.answer[weakest["start"] : weakest["end"]] == weakest["text"] == trace.answer_tokens[weakest["token"]]
    assert len({len(column) for column in numbers["sentences"].values()}) == 1


def test_numbers_have_no_list_of_dicts_and_nothing_that_json_lacks(server):
    numbers = server.post(CHAT | {"rauq": True}).json()["choices"][0]["message"]["rauq"]
    lists = [value for value in _values(numbers) if isinstance(value, list)]
    assert lists
    assert [one for value in lists for one in value if isinstance(one, dict)] == []
    assert json.dumps(numbers, allow_nan=False)


def _values(value):
    yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _values(inner)


def test_a_stop_text_is_cut_from_text_and_log_probabilities(server, tiny):
    answer = answered(tiny).answer
    stop = answer[4:6]
    cut = answer[: answer.index(stop)]
    for streamed in (False, True):
        body = CHAT | {"logprobs": True, "stop": [stop]}
        choice = _joined(chunks(server, body)) if streamed else server.post(body).json()["choices"][0]
        assert choice["message"]["content"] == cut
        assert "".join(one["token"] for one in choice["logprobs"]["content"]) == cut
        assert choice["finish_reason"] == "stop"
        assert choice["message"]["rauq"]["ended"] == "stop"


def test_an_answer_without_text_is_not_applicable(server, tiny):
    first = answered(tiny).answer[0]
    numbers = server.post(CHAT | {"rauq": True, "stop": first}).json()["choices"][0]["message"]["rauq"]
    assert numbers["uncertainty"] is None
    assert numbers["reason"].startswith("Not applicable: the answer is empty.")
    assert "weakest" not in numbers


def _joined(parts):
    """The answer that the chunks of a stream make."""
    deltas = [choice for part in parts for choice in part["choices"]]
    found = {"content": "", "rauq": None}
    content = []
    for choice in deltas:
        found["content"] += choice["delta"].get("content", "")
        found["rauq"] = choice["delta"].get("rauq", found["rauq"])
        content += (choice["logprobs"] or {"content": []})["content"]
    return {"message": found, "logprobs": {"content": content}, "finish_reason": deltas[-1]["finish_reason"]}


def rounded(value):
    """The same, with numbers to 6 decimals: sums depend on how the weights lie in memory."""
    if isinstance(value, dict):
        return {name: rounded(inner) for name, inner in value.items()}
    return [rounded(inner) for inner in value] if isinstance(value, list) else _rounded(value)


def _rounded(value):
    return round(value, 6) if isinstance(value, float) else value


@pytest.mark.parametrize("logprobs", [False, True])
def test_a_stream_gives_the_same_answer_and_its_numbers_once(server, logprobs):
    body = CHAT | {"rauq": True, "logprobs": logprobs}
    whole, parts = server.post(body).json(), chunks(server, body | {"stream_options": {"include_usage": True}})
    streamed, expected = _joined(parts), whole["choices"][0]
    assert streamed["message"]["content"] == expected["message"]["content"]
    assert streamed["finish_reason"] == expected["finish_reason"]
    (once,) = [one["delta"]["rauq"] for part in parts for one in part["choices"] if "rauq" in one["delta"]]
    assert rounded(once) == rounded(expected["message"]["rauq"]) == rounded(parts[-1]["usage"]["rauq"])
    assert parts[-1]["choices"] == []
    assert rounded(parts[-1]["usage"]) == rounded(whole["usage"])
    tokens = [one["token"] for one in streamed["logprobs"]["content"]]
    assert tokens == ([one["token"] for one in expected["logprobs"]["content"]] if logprobs else [])
    assert parts[0]["choices"][0]["delta"]["role"] == "assistant"


def test_streamed_tokens_have_the_numbers_of_the_answer_so_far(server, tiny):
    content = _joined(chunks(server, CHAT | {"logprobs": True}))["logprobs"]["content"]
    first = rauq.score(answered(tiny, max_new_tokens=1))
    assert content[0]["rauq"]["collapse"] == pytest.approx(first.collapse[0], abs=1e-5)
    last = rauq.score(answered(tiny))
    assert content[-1]["rauq"]["collapse"] == pytest.approx(last.collapse[-1], abs=1e-5)


def test_drawn_answers_are_those_of_sample(server, tiny):
    body = server.post(CHAT | {"n": 3, "seed": 5, "temperature": 1.5}).json()
    drawn = tiny.sample(MESSAGES, k=3, seed=5, temperature=1.5, top_k=0, max_new_tokens=12, stop=())
    assert [one["message"]["content"] for one in body["choices"]] == [trace.answer for trace in drawn]
    assert [one["index"] for one in body["choices"]] == [0, 1, 2]


def test_without_a_seed_answers_differ(server):
    texts = {server.post(CHAT | {"temperature": 2}).json()["choices"][0]["message"]["content"] for _ in range(4)}
    assert len(texts) > 1


def test_completions_have_lists_beside_their_tokens(server, tiny):
    trace = tiny.generate("Where is it?", max_new_tokens=12, stop=(), chat=False)
    choice = server.post(TEXT | {"logprobs": 2}, kind="text").json()["choices"][0]
    logprobs = choice["logprobs"]
    assert choice["text"] == trace.answer
    assert logprobs["tokens"] == list(trace.answer_tokens)
    np.testing.assert_allclose(logprobs["rauq"]["collapse"], rauq.score(trace).collapse, atol=1e-5)
    assert {len(column) for column in logprobs["rauq"].values()} == {12}
    starts = np.cumsum([0, *map(len, trace.answer_tokens)])[:-1].tolist()
    assert logprobs["text_offset"] == starts
    assert choice["rauq"]["uncertainty"] == pytest.approx(rauq.score(trace).uncertainty, abs=1e-5)
    parts = chunks(server, TEXT, "text")
    assert "".join(one["text"] for part in parts for one in part["choices"]) == trace.answer


def test_several_prompts_are_answered_in_their_order(server, tiny):
    body = server.post(TEXT | {"prompt": ["Where?", "What?"], "n": 2, "temperature": 0}, kind="text").json()
    single = [tiny.generate(p, max_new_tokens=12, stop=(), chat=False) for p in ("Where?", "What?")]
    assert [one["text"] for one in body["choices"]] == [trace.answer for trace in single for _ in range(2)]
    assert body["usage"]["prompt_tokens"] == sum(len(trace.prompt_ids) for trace in single)


def test_an_alarm_ends_the_answer_and_says_why(serving, tiny):
    first = rauq.score(answered(tiny, max_new_tokens=1)).uncertainty
    choice = serving(threshold=first - 0.1).post(CHAT | {"rauq": True}).json()["choices"][0]
    assert choice["finish_reason"] == "stop"
    assert choice["message"]["rauq"]["ended"] == "alarm"
    assert choice["message"]["rauq"]["alarm"].endswith("nats at token 0")


@pytest.mark.parametrize("alignment", ["predicting", "own"])
def test_a_stream_has_numbers_in_either_alignment(serving, tiny, alignment):
    settings = Settings(alignment=alignment)
    worker = Worker(tiny, Limits(tokens=64), last_row=alignment == "own")
    content = _joined(chunks(serving(settings=settings, worker=worker), CHAT | {"logprobs": True}))["logprobs"]
    score = rauq.score(answered(tiny, last_row=True), settings)
    assert content["content"][-1]["rauq"]["collapse"] == pytest.approx(score.collapse[-1], abs=1e-5)


def test_an_error_of_scoring_is_told_in_the_stream(server, monkeypatch):
    def fail(*_given):
        message = "no score"
        raise NotCaptured(message)

    monkeypatch.setattr("serve.numbers.score", fail)
    with httpx.stream("POST", f"{server.base}/chat/completions", json=CHAT | {"stream": True, "rauq": True}) as said:
        lines = [line for line in said.iter_lines() if line]
    assert json.loads(lines[-1].removeprefix("data: "))["error"]["message"] == "no score"
    assert server.post(CHAT | {"rauq": True}).status_code == 500


def test_settings_are_those_of_the_server(serving, tiny):
    settings = Settings(signal="probability", alpha=0.3)
    numbers = serving(settings=settings).post(CHAT | {"rauq": True}).json()["choices"][0]["message"]["rauq"]
    assert numbers["uncertainty"] == pytest.approx(rauq.score(answered(tiny), settings).uncertainty, abs=1e-5)
    assert numbers["settings"]["alpha"] == 0.3


def test_the_model_is_listed(server):
    listed = httpx.get(f"{server.base}/models").json()["data"]
    assert [one["id"] for one in listed] == [NAME]
    assert httpx.get(f"{server.base}/models/{NAME}").json() == listed[0]
    assert httpx.get(f"{server.base}/models/other").status_code == 404


def test_metrics_count_requests_answers_and_tokens(server):
    server.post(CHAT)
    server.post(CHAT | {"model": "other"})
    lines = httpx.get(f"{server.address}/metrics").text.splitlines()
    assert 'rauq_serve_requests_total{route="/v1/chat/completions",status="200"} 1' in lines
    assert 'rauq_serve_requests_total{route="/v1/chat/completions",status="404"} 1' in lines
    assert 'rauq_serve_answers_total{ending="length"} 1' in lines
    assert 'rauq_serve_tokens_total{kind="completion"} 12' in lines
    assert httpx.get(f"{server.address}/health").json() == {"status": "ok"}


@pytest.mark.parametrize(
    ("length", "text"), [(0, ""), (1, ""), (2, "ab"), (3, "ab"), (4, "abcd"), (5, "abcd"), (6, "abcdéf")]
)
def test_a_token_is_streamed_once_all_of_it_is_sure(length, text):
    """The third has no character yet: it comes with the one that completes it."""
    assert streaming._whole_tokens(("ab", "cd", "", "éf", ""), length) == text


def keeping(kept):
    def keep(found, ended, uncertainty):
        kept.append((found, ended, uncertainty))
        return f"inspect?kept={len(kept)}"

    return keep


def test_with_an_app_the_numbers_have_an_address_of_the_picture(serving):
    kept = []
    server = serving(keep=keeping(kept))
    numbers = server.post(CHAT | {"rauq": True}).json()["choices"][0]["message"]["rauq"]
    assert numbers["url"] == f"{server.address}/inspect?kept=1"
    (found, ended, uncertainty), text = kept[0], server.post(TEXT | {"logprobs": 0}, kind="text").json()["choices"][0]
    assert numbers["uncertainty"] == uncertainty == pytest.approx(found.score.uncertainty)
    assert text["rauq"]["url"] == f"{server.address}/inspect?kept=2"
    assert ended.trace is found.trace


@pytest.mark.parametrize("stream", [False, True])
def test_with_an_app_all_answers_are_kept_and_clients_that_ask_for_no_numbers_see_none(serving, stream):
    kept = []
    server = serving(keep=keeping(kept))
    body = CHAT | {"n": 2, "seed": 3}
    seen = json.dumps(chunks(server, body)) if stream else server.post(body).text
    assert len(kept) == 2
    assert "rauq" not in seen
    assert "inspect" not in seen


def test_a_stream_has_the_address_once(serving):
    server = serving(keep=keeping([]))
    found = chunks(server, CHAT | {"logprobs": True})
    urls = [choice["delta"]["rauq"]["url"] for one in found for choice in one["choices"] if "rauq" in choice["delta"]]
    assert urls == [f"{server.address}/inspect?kept=1"]


def test_an_answer_without_a_number_is_kept_without_one(serving):
    kept = []
    server = serving(keep=keeping(kept))
    first = server.post(CHAT).json()["choices"][0]["message"]["content"][0]
    numbers = server.post(CHAT | {"stop": first, "rauq": True}).json()["choices"][0]["message"]["rauq"]
    assert numbers["uncertainty"] is None
    assert kept[-1][2] is None
    assert numbers["url"].endswith("kept=2")


def test_a_batch_holds_the_turn_of_a_model_that_others_use_too(serving, tiny):
    turns = []

    @contextmanager
    def turn():
        turns.append("held")
        yield
        turns.append("left")

    server = serving(worker=Worker(tiny, Limits(tokens=64), turn=turn), keep=lambda *_: str(turns.copy()))
    url = server.post(CHAT | {"rauq": True}).json()["choices"][0]["message"]["rauq"]["url"]
    assert "held" in url
    assert server.post(CHAT).status_code == 200
    assert turns[:3] == ["held", "left", "held"]


def test_memory_goes_back_once_after_each_time_of_work(serving, monkeypatch):
    others, rested = set(threading.enumerate()), threading.Semaphore(0)  # servers of other tests rest too

    def rest():
        if threading.current_thread() not in others:
            rested.release()

    monkeypatch.setattr(worker, "_REST", 0.01)
    monkeypatch.setattr(worker, "give_back", rest)
    server = serving()
    assert not rested.acquire(timeout=0.1)  # nothing was done yet
    for _ in range(2):
        assert server.post(CHAT).status_code == 200
        assert rested.acquire(timeout=60)
    assert not rested.acquire(timeout=0.1)
