"""Malformed requests get OpenAI's errors with the right status; clients that leave cost two tokens at most."""

import json
import logging
import os
import random
import re
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from benchmarks import serving_load
from rauq.errors import EngineStopped, InvalidInput
from rauq.model.generation import NonFiniteLogits
from rauq.model.loading import wrap
from serve.worker import Limits
from tests.chat_templates import CHATML, chat_model
from tests.serve.conftest import CHAT, MESSAGES, NAME, TEXT
from tests.waiting import wait_until

ROOT = Path(__file__).parents[2]
HOSTILE = "<script>alert(1)</script>\x00\u202e' OR 1=1; {{7*7}} \U0001f600"
IMAGE = {"type": "image_url", "image_url": {"url": "x"}}


def error_of(response, status):
    assert response.status_code == status, response.text
    error = response.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    return error


@pytest.mark.parametrize(
    ("fields", "status", "param"),
    [
        ({"model": "gpt-4"}, 404, "model"),
        ({"model": HOSTILE}, 404, "model"),
        ({"max_tokens": -1}, 400, "max_tokens"),
        ({"tools": [{"type": "function"}]}, 400, "tools"),
        ({HOSTILE: 1}, 400, HOSTILE[:60]),
        ({"messages": [{"role": HOSTILE, "content": "Hi"}]}, 400, "messages"),
        ({"messages": [{"role": "user", "content": [IMAGE]}]}, 400, "messages"),
        ({"messages": [{"role": "user", "content": 5}]}, 400, "messages"),
        ({"messages": [{"role": "user", "content": "long " * 500}]}, 400, "messages"),
    ],
)  # fmt: skip
def test_a_field_at_fault_is_named(server, fields, status, param):
    assert error_of(server.post(CHAT | fields), status)["param"] == param


def test_hostile_text_is_answered_as_text(server, tiny):
    messages = [{"role": "user", "content": HOSTILE}]
    trace = tiny.generate(messages, max_new_tokens=4, stop=())
    body = server.post(CHAT | {"messages": messages, "max_tokens": 4, "user": HOSTILE, "stop": HOSTILE}).json()
    assert body["choices"][0]["message"]["content"] == trace.answer


@pytest.mark.parametrize(
    ("content", "status"),
    [(b"{", 400), (b"[" * 100_000, 400), (b"\xff\xfe", 400), (b'{"temperature": NaN}', 400), (b"", 400)],
)
def test_a_body_that_is_no_request_is_refused(server, content, status):
    headers = {"content-type": "application/json"}
    error_of(httpx.post(f"{server.base}/chat/completions", content=content, headers=headers), status)


def test_nan_as_temperature_is_refused(server):
    content = json.dumps(CHAT | {"temperature": float("nan")})
    response = httpx.post(
        f"{server.base}/chat/completions", content=content, headers={"content-type": "application/json"}
    )
    assert error_of(response, 400)["param"] == "temperature"


def test_a_body_of_50_megabytes_is_refused(server):
    response = server.post(CHAT | {"user": "x" * 50_000_000})
    assert "larger than" in error_of(response, 413)["message"]
    assert server.post(CHAT).status_code == 200


def test_other_content_types_are_refused(server):
    """A page of another site can send a form to this machine, and JSON only where the server allows it."""
    error_of(httpx.post(f"{server.base}/chat/completions", content=json.dumps(CHAT)), 415)


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/v1/none", 404), ("GET", "/v1/completions", 405)])
def test_other_addresses_and_methods_are_refused(server, method, path, status):
    error_of(httpx.request(method, server.address + path), status)


def test_a_name_of_another_machine_is_refused_without_a_key(server):
    error_of(httpx.get(f"{server.base}/models", headers={"host": "evil.example"}), 403)


@pytest.mark.parametrize("header", [{}, {"authorization": "Bearer wrong"}, {"authorization": "secret-key"}])
def test_a_key_is_needed_where_one_is_set(serving, header):
    server = serving(key="secret-key")
    headers = {"authorization": "Bearer secret-key", "host": "rauq.example.org"}
    assert httpx.get(f"{server.base}/models", headers=headers).status_code == 200
    assert httpx.get(f"{server.address}/health").status_code == 200
    if header != {"authorization": "secret-key"}:
        assert error_of(httpx.get(f"{server.base}/models", headers=header), 401)["code"] == "invalid_api_key"


def test_a_base_model_without_chat_template_says_so(serving):
    from tests.architectures import named, tiny_language_model

    lm = tiny_language_model(named("llama"))
    server = serving(lm)
    assert "chat template" in error_of(server.post(CHAT | {"model": lm.name}), 400)["message"]
    assert server.post(TEXT | {"model": lm.name}, kind="text").status_code == 200


def test_a_full_queue_is_said(serving, gate):
    server = serving(limits=Limits(waiting=2, batch=1, tokens=4))
    worker = server.service.worker
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(server.post, CHAT)
        wait_until(lambda: worker.running)
        others = [pool.submit(server.post, CHAT) for _ in range(2)]
        wait_until(lambda: len(worker.waiting) == 2)
        assert error_of(server.post(CHAT), 429)["code"] == "rate_limit_exceeded"
        gate.remove()
        assert [one.result().status_code for one in (first, *others)] == [200] * 3


def test_waiting_requests_are_answered_in_one_batch(serving, gate):
    server = serving(limits=Limits(tokens=4))
    worker = server.service.worker
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(server.post, CHAT)
        wait_until(lambda: worker.running)
        others = [pool.submit(server.post, CHAT | {"max_tokens": tokens}) for tokens in (1, 2, 3)]
        wait_until(lambda: len(worker.waiting) == 3)
        gate.open(4)  # the prompt of the first, and what follows three of its four tokens
        assert first.result().status_code == 200
        wait_until(lambda: len(worker.running) == 3)
        gate.remove()
        lengths = [one.result().json()["usage"]["completion_tokens"] for one in others]
    assert lengths == [1, 2, 3]


@pytest.mark.parametrize("passes", [0, 1, 2, 6])
def test_a_client_that_hangs_up_costs_two_tokens_at_most(serving, gate, passes):
    """It leaves before the first token, after it, and later."""
    server = serving()
    body = json.dumps(CHAT | {"stream": True, "max_tokens": 60}).encode()
    head = (
        "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    worker = server.service.worker
    with socket.create_connection(("127.0.0.1", int(server.address.rpartition(":")[2]))) as client:
        client.sendall(head.encode() + body)
        wait_until(lambda: worker.running)
        (job,) = worker.running
        gate.open(passes)
        wait_until(lambda: job.count == passes)
        client.shutdown(socket.SHUT_RDWR)
    wait_until(job.gone.is_set)
    gate.remove()
    wait_until(lambda: worker.is_idle)
    assert job.count <= passes + 2
    assert server.service.counts.answers == {"cancelled": 1}


def test_who_hangs_up_while_waiting_is_not_answered(serving, gate):
    server = serving(limits=Limits(batch=1, tokens=4))
    worker = server.service.worker
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(server.post, CHAT)
        wait_until(lambda: worker.running)
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{server.base}/chat/completions", json=CHAT, timeout=0.2)
        wait_until(lambda: all(job.gone.is_set() for job in worker.waiting) and worker.waiting)
        gate.remove()
        assert first.result().status_code == 200
    wait_until(lambda: worker.is_idle)
    assert server.service.counts.answers == {"length": 1}


@pytest.mark.parametrize(
    ("error", "status"),
    [(EngineStopped("gone"), 503), (NonFiniteLogits("nan"), 500), (ZeroDivisionError(HOSTILE), 500)],
)
def test_an_error_of_the_model_is_told_and_the_next_request_is_answered(serving, error, status, caplog):
    model, tokenizer = chat_model(CHATML)
    lm = wrap(model, tokenizer, name=NAME, kind="instruct")
    server = serving(lm)

    def fail(*_):
        raise error

    hook = model.register_forward_pre_hook(fail)
    with caplog.at_level(logging.INFO):
        assert HOSTILE not in error_of(server.post(CHAT), status)["message"]
        assert error_of(server.post(CHAT | {"stream": True}), status)
    hook.remove()
    assert server.post(CHAT).status_code == 200
    assert HOSTILE not in caplog.text


def test_an_error_in_the_middle_of_a_stream_is_told_in_it(serving):
    model, tokenizer = chat_model(CHATML)
    lm = wrap(model, tokenizer, name=NAME, kind="instruct")
    server, passes, error = serving(lm), [], EngineStopped("gone")

    def fail(*_):
        passes.append(1)
        if len(passes) > 3:
            raise error

    hook = model.register_forward_pre_hook(fail)
    with httpx.stream("POST", f"{server.base}/chat/completions", json=CHAT | {"stream": True}) as response:
        lines = [line for line in response.iter_lines() if line]
    hook.remove()
    assert json.loads(lines[-1].removeprefix("data: "))["error"]["type"] == "server_error"


def test_an_answer_that_does_not_begin_in_time_is_refused(serving, gate):
    server = serving(limits=Limits(batch=1, seconds=0.3, tokens=4))
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(server.post, CHAT | {"rauq": True})
        wait_until(lambda: server.service.worker.running)
        second = pool.submit(server.post, CHAT)
        wait_until(lambda: server.service.worker.waiting)
        wait_until(lambda: server.service.worker.waiting[0].is_late)
        gate.remove()
        choice = first.result().json()["choices"][0]
        assert (choice["finish_reason"], choice["message"]["rauq"]["ended"]) == ("length", "time")
        assert "not begun" in error_of(second.result(), 503)["message"]


def test_two_hundred_connections_are_served(serving):
    server = serving(limits=Limits(waiting=200, tokens=2))
    with ThreadPoolExecutor(50) as pool:
        held = [socket.create_connection(("127.0.0.1", int(server.address.rpartition(":")[2]))) for _ in range(150)]
        found = list(pool.map(lambda _: server.post(CHAT | {"max_tokens": 2}).status_code, range(50)))
        for one in held:
            one.close()
    assert found == [200] * 50
    wait_until(lambda: server.service.worker.is_idle)


def test_a_stopping_server_ends_running_answers_and_takes_no_new_ones(serving, gate):
    server = serving(limits=Limits(tokens=4))
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(server.post, CHAT)
        wait_until(lambda: server.service.worker.running)
        server.service.worker.stop()
        assert "stopping" in error_of(server.post(CHAT), 503)["message"]
        assert httpx.get(f"{server.address}/health").status_code == 503
        gate.remove()
        assert first.result().status_code == 200


@contextmanager
def started(folder, *options):
    """The command as a user types it, once it listens: the process, and its address."""
    command = [sys.executable, "-m", "rauq", "serve", "--model", str(folder), "--port", "0", *options]
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=variables) as running:
        try:
            yield (
                running,
                next(found[1] for line in running.stderr if (found := re.search(r"on (http://\S+)/v1", line))),
            )
        finally:
            running.kill()


def test_sigterm_ends_a_server_once_ten_answers_have_ended(chat_folder):
    def read(address, body):
        with httpx.stream("POST", f"{address}/v1/chat/completions", json=body, timeout=60) as response:
            return list(filter(None, response.iter_lines()))

    def have_all_come():
        said = httpx.get(f"{address}/metrics").text
        there = [int(count) for count in re.findall(r"^rauq_serve_(?:waiting|running) (\d+)$", said, re.MULTILINE)]
        return sum(there) + sum(one.done() for one in answers) >= len(answers)

    with started(chat_folder) as (running, address):
        name = httpx.get(f"{address}/v1/models").json()["data"][0]["id"]
        body = {"model": name, "messages": MESSAGES, "max_tokens": 100, "stream": True}
        with ThreadPoolExecutor(10) as pool:
            answers = [pool.submit(read, address, body) for _ in range(10)]
            wait_until(have_all_come)
            running.send_signal(signal.SIGTERM)
            last = [one.result()[-1] for one in answers]
        assert running.wait(60) == 0
        log = running.stderr.read()
    assert all(line == "data: [DONE]" or "stopping" in line for line in last)
    assert "Where is it" not in log


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--host", "192.0.2.1"], "RAUQ_API_KEY is not set"),
        (["--port", "99999"], "--port is 99999"),
        (["--max-tokens", "0"], "--max-tokens is 0"),
        (["--max-seconds", "nan"], "--max-seconds is nan"),
        (["--keep-answers", "0"], "--keep-answers is 0"),
        (["--keep-hours", "-1"], "--keep-hours is -1"),
    ],
)
def test_options_are_checked_before_the_model_loads(options, said, capsys, monkeypatch):
    from rauq.cli.main import main

    monkeypatch.delenv("RAUQ_API_KEY", raising=False)
    assert main(["serve", *options]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(("options", "key"), [(["--host", "192.0.2.1"], ""), ([], "a key")])
def test_the_app_beside_an_endpoint_is_for_this_machine_alone(options, key, monkeypatch):
    from serve.main import parser, serve

    monkeypatch.setenv("RAUQ_API_KEY", key)
    with pytest.raises(InvalidInput, match="for this machine alone"):
        serve(parser().parse_args(["--app", *options]))


@pytest.mark.parametrize("options", [["--layers", "99"], ["--app", "--keep-answers", "9999999"]])
def test_what_no_answer_can_have_is_refused_at_the_start(options, capfd):
    command = [sys.executable, "-m", "rauq", "serve", "--model", "atlas", "--port", "0", *options]
    assert subprocess.run(command, check=False, timeout=120).returncode == 2
    assert options[-1].lstrip("-") in capfd.readouterr().err.replace(",", "")


def test_the_app_needs_streamlit(capsys, monkeypatch):
    from rauq.cli.main import main

    monkeypatch.setattr("serve.main.find_spec", lambda _: None)
    assert main(["serve", "--app"]) == 1
    assert "pip install 'rauq[app]'" in capsys.readouterr().err


def test_the_clients_of_the_benchmark_tell_answers_from_errors(server, monkeypatch):
    monkeypatch.setattr(serving_load, "MODEL", NAME)
    chosen = random.Random(0)
    with httpx.Client(base_url=server.base, timeout=60) as client:
        assert all(serving_load._is_answered(client, chosen) for _ in range(8))
    assert all(serving_load._refused(server.base, chosen) for _ in range(8))
    assert all(serving_load._no_request(server.base, chosen) for _ in range(5))
    for _ in range(5):
        serving_load._hangs_up(server.base, chosen)
        serving_load._half(server.base, chosen)
    assert serving_load._until_quiet(server.base) < 60
    monkeypatch.setattr(serving_load, "MODEL", "another")
    with httpx.Client(base_url=server.base, timeout=60) as client:
        assert not serving_load._is_answered(client, chosen)
    assert not serving_load._is_error(400, lambda: server.post(CHAT))
