"""Counts for whoever runs a host: the text of Prometheus, the log's lines, and who may read them."""

import logging
import re
import signal
import time
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest
import uvicorn
from starlette.datastructures import Headers
from streamlit.proto.WidgetStates_pb2 import WidgetState

from benchmarks.support.server import hosting
from pages.ui.host import server
from pages.ui.host.guarding import guard
from pages.ui.host.guarding.guard import OWN_METRICS, Rules
from pages.ui.host.hosting import Busy
from pages.ui.host.monitoring import metrics
from pages.ui.host.monitoring.metrics import Counts, Now, prometheus
from pages.ui.host.store import JobRegistry, store
from tests.robustness.client import OF_ATLAS, connected

NOW = Now(sessions=3, running=1, waiting=2, stopping=False)
TOKEN = "a-token-of-the-operator"
_SAMPLE = re.compile(r'^(rauq_[a-z_]+(?:\{[a-z]+="[^"\n]*"\})?) (\S+)$')


def samples(text):
    """Every line as a name with its labels and a number, or a comment."""
    lines = text.splitlines()
    found = [_SAMPLE.match(line) for line in lines if not line.startswith("# ")]
    assert all(found)
    assert text.endswith("\n")
    return {one[1]: float(one[2]) for one in found}


def test_counts_are_told_as_prometheus_reads_them():
    counts = Counts()
    for outcome, tokens, error in (("done", 20, ""), ("done", 5, ""), ("failed", 1, "OutOfMemory"), ("refused", 0, "")):
        counts.answer(outcome, tokens=tokens, error=error)
    counts.failure("KeyError")
    for status in (200, 200, 404):
        counts.request(status)
    for seconds in (0.05, 0.1, 0.2, 500.0):
        counts.wait(seconds)
    found = samples(prometheus(counts, NOW))
    assert found["rauq_sessions"] == 3
    assert (found['rauq_generations{state="running"}'], found['rauq_generations{state="waiting"}']) == (1, 2)
    assert found["rauq_tokens_total"] == 26
    assert found['rauq_answers_total{outcome="done"}'] == 2
    assert found['rauq_failures_total{error="OutOfMemory"}'] == found['rauq_failures_total{error="KeyError"}'] == 1
    assert found['rauq_requests_total{status="200"}'] == 2
    buckets = [found[f'rauq_wait_seconds_bucket{{le="{end}"}}'] for end in (*metrics.WAITS, "+Inf")]
    assert buckets == [2, 3, 3, 3, 3, 3, 3, 4]
    assert (found["rauq_wait_seconds_count"], found["rauq_wait_seconds_sum"]) == (4, pytest.approx(500.35))
    assert found["rauq_resident_bytes"] > 10**7
    types = re.findall(r"^# TYPE (\S+) (\S+)$", prometheus(counts, NOW), re.MULTILINE)
    assert len(types) == len(set(types)) == 10


def test_text_of_a_visitor_makes_no_line_of_its_own(caplog):
    with caplog.at_level(logging.INFO, logger="rauq.requests"):
        metrics.log("answer", prompt="one\ntwo\x1b[31m\u2028three", tokens=3, seconds=0.5)
    (line,) = [record.getMessage() for record in caplog.records]
    assert line == 'answer prompt="one\\ntwo\\u001b[31m\\u2028three" tokens=3 seconds=0.500'
    assert len(line.splitlines()) == 1


def test_a_stopping_host_admits_nothing():
    registry = JobRegistry()
    registry.admit("first", "")
    registry.stopping = True
    with pytest.raises(Busy, match="takes no new work"):
        registry.admit("second", "")


def ticked(host):
    """What a look of the server says; it waits for nothing, so it needs no event loop."""
    with pytest.raises(StopIteration) as ended:
        host.on_tick(0).send(None)
    return ended.value.value


@pytest.fixture
def stopping(monkeypatch):
    monkeypatch.setattr(store(), "jobs", JobRegistry())
    return lambda seconds: server.Server(uvicorn.Config(None), stop_seconds=seconds)


def test_a_running_answer_ends_before_the_server_does(stopping):
    host = stopping(60.0)
    store().jobs.admit("job", "")
    host.handle_exit(signal.SIGTERM, None)
    assert not ticked(host)
    store().jobs.dismiss("job")
    assert not ticked(host)  # its page still has to show it
    host.shown_by = time.monotonic()
    assert ticked(host)


def test_an_answer_that_takes_too_long_is_not_waited_for_nor_after_a_second_signal(stopping):
    host = stopping(0.0)
    store().jobs.admit("job", "")
    assert not ticked(host)
    host.handle_exit(signal.SIGTERM, None)
    assert ticked(host)
    twice = stopping(60.0)
    twice.handle_exit(signal.SIGTERM, None)
    assert twice.should_exit


def get(address, path, **headers):
    connection = HTTPConnection(urlsplit(address).netloc, timeout=60)
    try:
        connection.request("GET", path, headers=headers)
        found = connection.getresponse()
        return found.status, found.read().decode()
    finally:
        connection.close()


def test_a_host_tells_its_operator_alone_what_it_does_and_stops_in_order(tmp_path):
    with (tmp_path / "log").open("wb") as log, hosting("--log-prompts", log=log) as host:
        with connected(host.address) as client:
            client.open("inspect", OF_ATLAS)
            client.click("run", client.typed("prompt", "Q: Where is Lima?\nA:"))
            client.settle()
            status, text = get(host.address, OWN_METRICS)
            found = samples(text)
            alpha = client.widgets["settings_alpha"]
            for _ in range(3):  # a value that the field cannot have: the page fails
                client.change(WidgetState(id=alpha, bool_value=True))
                client.wait_for_page()
        assert (status, found["rauq_sessions"], found['rauq_answers_total{outcome="done"}']) == (200, 1, 1)
        assert found["rauq_tokens_total"] > 0
        assert found["rauq_wait_seconds_count"] == 1
        for refused in ({"X-Forwarded-For": "8.8.8.8"}, {"Host": "evil.example"}, {"Via": "1.1 proxy"}):
            assert get(host.address, OWN_METRICS, **refused)[0] == 404
        assert get(host.address, "/inspect?prompt=secret")[0] == 200
        host.process.send_signal(signal.SIGTERM)
        assert host.process.wait(60) == 0
    lines = (tmp_path / "log").read_text().splitlines()
    answers = [line for line in lines if " answer " in line]
    assert sum("A page failed: TypeError" in line for line in lines) == 1
    assert not [line for line in lines if "Traceback" in line]
    assert len(answers) == 1
    assert 'outcome="done" model="atlas" prompt_characters=20 tokens=' in answers[0]
    assert answers[0].endswith('prompt="Q: Where is Lima?\\nA:"')
    assert any(' request method="GET" path="/inspect" status=200 ' in line for line in lines)
    assert not any("secret" in line for line in lines)


def is_operator(token, client="127.0.0.1", **headers):
    scope = {"client": (client, 1)}
    return guard.is_operator(
        Headers({"host": "127.0.0.1:8501", **headers}), scope, Rules(names=("h",), metrics_token=token)
    )


def test_with_a_token_metrics_are_for_those_who_send_it():
    assert is_operator(TOKEN, client="8.8.8.8", authorization=f"Bearer {TOKEN}", via="1.1 proxy")
    for wrong in ({}, {"authorization": TOKEN}, {"authorization": "Bearer a"}, {"authorization": f"Bearer {TOKEN}é"}):
        assert not is_operator(TOKEN, **wrong)


def test_without_a_token_metrics_are_for_requests_of_this_machine():
    assert is_operator("")
    assert is_operator("", client="::1", host="localhost")
    assert not is_operator("", client="8.8.8.8")
    assert not is_operator("", host="rauq.example.org")
    for name in ("forwarded", "x-forwarded-for", "x-real-ip", "via"):
        assert not is_operator("", **{name: "127.0.0.1"})
