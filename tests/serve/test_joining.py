"""Where the engine can, an answer begins while others are generated, and ends before them."""

import math
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from rauq.errors import EngineStopped, InvalidInput, OutOfMemory, Stopped
from rauq.model.loading import load_model
from serve.job import Job, Wanted
from serve.worker import Limits, Worker
from tests.gguf_files import MERGED, save_gguf
from tests.waiting import wait_until

SHORT, LONG, LARGE = 4, 12, 50  # tokens
PROMPT = "abc"


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    save_gguf(file := tmp_path_factory.mktemp("joining") / "tiny.gguf", entries=MERGED)
    return load_model(file, engine="llama.cpp", kind="base")


@pytest.fixture
def held(monkeypatch):
    """A long answer waits at its third token for `until`, and sets `reached` there."""
    take, reached, until = Job._take, threading.Event(), threading.Event()

    def slow(self, index, token, text):
        if self.wanted.most_tokens >= LONG and index == 2:
            reached.set()
            assert until.wait(30)
        take(self, index, token, text)

    monkeypatch.setattr(Job, "_take", slow)
    yield reached, until
    until.set()


def ask(server, name, tokens):
    return server.post({"model": name, "prompt": PROMPT, "max_tokens": tokens}, kind="text")


def no_thread(**_):
    message = "can't start new thread"
    raise RuntimeError(message)


NO_THREADS = SimpleNamespace(Thread=no_thread)


def length(response):
    return response.json()["usage"]["completion_tokens"]


def test_an_answer_begins_and_ends_while_another_runs(serving, llama, held):
    reached, until = held
    server = serving(lm=llama, limits=Limits(batch=2, tokens=64))
    with ThreadPoolExecutor(2) as pool:
        long = pool.submit(ask, server, llama.name, LONG)
        assert reached.wait(30)
        assert length(ask(server, llama.name, SHORT)) == SHORT
        assert length(ask(server, llama.name, SHORT)) == SHORT
        assert not long.done()
        until.set()
        assert length(long.result(30)) == LONG


def test_one_that_does_not_fit_waits_and_so_do_those_behind_it(serving, llama, held, monkeypatch):
    monkeypatch.setattr("serve.worker._USUAL", 1)
    reached, until = held
    server = serving(lm=llama, limits=Limits(batch=2, tokens=200))
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(ask, server, llama.name, LONG)
        assert reached.wait(30)
        large = pool.submit(ask, server, llama.name, LARGE)
        wait_until(lambda: len(server.service.worker.waiting) == 1)
        after = pool.submit(ask, server, llama.name, SHORT)
        wait_until(lambda: len(server.service.worker.waiting) == 2)
        until.set()
        assert [length(answer.result(30)) for answer in (first, large, after)] == [LONG, LARGE, SHORT]


def test_where_others_use_the_model_too_nobody_joins_for_ever(serving, llama, held, monkeypatch):
    monkeypatch.setattr("serve.worker._SHIFT", 0.0)
    turns, (reached, until) = [], held

    @contextmanager
    def turn():
        turns.append(len(turns))
        yield

    server = serving(lm=llama, worker=Worker(llama, Limits(batch=2, tokens=64), turn=turn))
    with ThreadPoolExecutor(2) as pool:
        long = pool.submit(ask, server, llama.name, LONG)
        assert reached.wait(30)
        short = pool.submit(ask, server, llama.name, SHORT)
        wait_until(lambda: len(server.service.worker.waiting) == 1)
        until.set()
        assert [length(answer.result(30)) for answer in (long, short)] == [LONG, SHORT]
    assert turns == [0, 1]


@pytest.mark.parametrize(
    ("fault", "goes_on"), [(Stopped, True), (InvalidInput, True), (EngineStopped, False), (OutOfMemory, False)]
)
def test_others_may_join_after_a_fault_unless_they_would_fail_with_it(fault, goes_on):
    told = []

    def fails(*_, **__):
        raise fault

    wanted = Wanted(prompt="a", chat=None, num_prompt=1, most_tokens=4, stops=(), sampling=None, until=math.inf)
    lm = SimpleNamespace(generate_batch=fails, most_together=0)
    assert Worker(lm, Limits())._answer(lm, [Job(wanted=wanted, tell=told.append)]) is goes_on
    assert [type(one.error) for one in told] == [fault]


def test_where_no_thread_can_be_started_its_client_is_told_and_the_others_go_on(serving, llama, held, monkeypatch):
    reached, until = held
    server = serving(lm=llama, limits=Limits(batch=2, tokens=64))
    with ThreadPoolExecutor(1) as pool:
        long = pool.submit(ask, server, llama.name, LONG)
        assert reached.wait(30)
        with monkeypatch.context() as patched:
            patched.setattr("serve.worker.threading", NO_THREADS)
            assert ask(server, llama.name, SHORT).status_code == 500
        assert length(ask(server, llama.name, SHORT)) == SHORT
        until.set()
        assert length(long.result(30)) == LONG


def test_where_the_process_ends_its_clients_are_told_and_the_next_is_answered(serving, llama, held):
    reached, until = held
    server = serving(lm=llama, limits=Limits(batch=2, tokens=64))
    with ThreadPoolExecutor(1) as pool:
        long = pool.submit(ask, server, llama.name, LONG)
        assert reached.wait(30)
        llama.engine.process().running.kill()
        until.set()
        assert long.result(30).status_code == 503
    assert length(ask(server, llama.name, SHORT)) == SHORT
