"""Answers that share the cache of one process: what they feed is one batch, and none waits for a slow one."""

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest

from rauq.errors import EngineStopped, InvalidInput, Stopped
from rauq.llama_cpp import room
from rauq.model.loading import load_model
from tests.gguf_files import MERGED, save_gguf

PROMPT, LENGTH = [10, 11, 12, 13], 16
OPTIONS = {"stop": (), "max_new_tokens": LENGTH}


@pytest.fixture(scope="module")
def lm(tmp_path_factory):
    save_gguf(file := tmp_path_factory.mktemp("room") / "tiny.gguf", entries=MERGED)
    return load_model(file, engine="llama.cpp", kind="base")


@pytest.fixture
def batches(lm, monkeypatch):
    """How many tokens each request to feed has had."""
    found, process = [], lm.engine.process()
    ask = process.ask

    def counted(do, *arrays, **options):
        if do == "feed":
            found.append(len(arrays[0]))
        return ask(do, *arrays, **options)

    monkeypatch.setattr(process, "ask", counted)
    return found


def held(at, *, until, reached):
    """Waits at a token for an event; sets the other one there."""

    def on_token(index, _id, _text):
        if index == at:
            reached.set()
            assert until.wait(30)

    return on_token


def test_tokens_of_all_are_one_batch(lm, batches):
    with lm.together(200) as joined, ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda first: joined.generate([first, 11, 12, 13], **OPTIONS), range(20, 24)))
    assert 4 in batches
    assert sum(batches) == 4 * (len(PROMPT) + LENGTH - 1)


def test_one_that_is_slow_holds_up_nobody(lm):
    reached, until = threading.Event(), threading.Event()
    with lm.together(200) as joined, ThreadPoolExecutor(2) as pool:
        slow = pool.submit(joined.generate, PROMPT, on_token=held(3, until=until, reached=reached), **OPTIONS)
        assert reached.wait(30)
        quick = pool.submit(joined.generate, PROMPT, **OPTIONS).result(30)
        assert not slow.done()
        until.set()
        np.testing.assert_allclose(slow.result(30).logprobs, quick.logprobs, atol=5e-3)


def test_a_long_prompt_lets_others_go_on(lm, batches, monkeypatch):
    monkeypatch.setattr(room, "_PROMPT", 32)
    monkeypatch.setattr(room, "_PATIENCE", 20)
    reached, started = threading.Event(), threading.Event()
    with lm.together(400) as joined, ThreadPoolExecutor(2) as pool:
        on_token = held(2, until=started, reached=reached)
        other = pool.submit(joined.generate, PROMPT, on_token=on_token, stop=(), max_new_tokens=60)
        assert reached.wait(30)
        long = pool.submit(joined.generate, [10 + place % 200 for place in range(100)], **OPTIONS)
        while not any(size > len(PROMPT) for size in batches) and not long.done():
            pass
        started.set()
        other.result(60), long.result(60)
    parts = [place for place, size in enumerate(batches) if size > len(PROMPT)]
    assert [batches[place] for place in parts] == [32, 32, 32]
    assert any(later - place > 1 for place, later in pairwise(parts))


def test_a_prompt_that_is_cancelled_leaves_the_others(lm, monkeypatch):
    monkeypatch.setattr(room, "_PROMPT", 32)
    with lm.together(400) as joined, ThreadPoolExecutor(2) as pool:
        other = pool.submit(joined.generate, PROMPT, **OPTIONS)
        cancelled = threading.Event()
        cancelled.set()
        with pytest.raises(Stopped):
            joined.generate([10 + place % 200 for place in range(200)], cancel=cancelled, **OPTIONS)
        assert len(other.result(30).answer_ids) == LENGTH
        assert len(joined.generate(PROMPT, **OPTIONS).answer_ids) == LENGTH


def test_where_the_process_ends_all_are_told_and_the_next_prompt_starts_another(lm):
    reached, until = threading.Event(), threading.Event()
    with lm.together(200) as joined, ThreadPoolExecutor(2) as pool:
        on_token = held(3, until=until, reached=reached)
        answers = [pool.submit(joined.generate, PROMPT, on_token=on_token, **OPTIONS) for _ in range(2)]
        assert reached.wait(30)
        lm.engine.process().running.kill()
        until.set()
        for answer in answers:
            with pytest.raises(EngineStopped, match="has ended with exit code -9"):
                answer.result(30)
    assert len(lm.generate(PROMPT, **OPTIONS).answer_ids) == LENGTH


def test_a_fault_of_another_kind_is_told_to_all_and_leaves_no_place_taken(lm, monkeypatch):
    process = lm.engine.process()
    ask = process.ask

    def faulty(do, *arrays, **options):
        if do == "feed" and len(arrays[0]) == 2:
            message = "no such thing"
            raise ValueError(message)
        return ask(do, *arrays, **options)

    monkeypatch.setattr(process, "ask", faulty)
    monkeypatch.setattr(room, "_PATIENCE", 20)
    reached, until = threading.Event(), threading.Event()
    with lm.together(200) as joined, ThreadPoolExecutor(2) as pool:
        on_token = held(1, until=until, reached=reached)
        answers = [pool.submit(joined.generate, PROMPT, on_token=on_token, **OPTIONS) for _ in range(2)]
        assert reached.wait(30)
        until.set()
        for answer in answers:
            with pytest.raises(EngineStopped, match="ValueError: no such thing"):
                answer.result(30)
        assert not lm.engine._room.taken
        assert len(joined.generate(PROMPT, **OPTIONS).answer_ids) == LENGTH


def test_what_takes_more_than_one_place_is_refused(lm):
    with lm.together(200) as joined:
        assert len(joined.sample(PROMPT, k=1, **OPTIONS)) == 1
        with pytest.raises(InvalidInput, match="checked while no answer runs"):
            joined.check()
        with pytest.raises(InvalidInput, match="Draw them one by one"):
            joined.sample(PROMPT, k=2, **OPTIONS)
        with pytest.raises(InvalidInput, match="each is alone"):
            list(joined.generate_batch([PROMPT, PROMPT], **OPTIONS))
        with ThreadPoolExecutor(1) as pool:
            reached, until = threading.Event(), threading.Event()
            on_token = held(1, until=until, reached=reached)
            first = pool.submit(joined.generate, PROMPT, offsets=2, on_token=on_token, **OPTIONS)
            assert reached.wait(30)
            with pytest.raises(InvalidInput, match="needs 3 keys back, as number 2"):
                joined.generate(PROMPT, offsets=3, **OPTIONS)
            until.set()
            first.result(30)
        joined.generate(PROMPT, offsets=3, **OPTIONS)
