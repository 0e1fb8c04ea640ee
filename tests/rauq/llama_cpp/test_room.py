"""Answers that share the cache of one process: what they feed is one batch, and none waits for a slow one."""

import itertools
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import numpy as np
import pytest

from rauq.capture.logits import LogitsBuffer
from rauq.errors import EngineStopped, InvalidInput, Stopped
from rauq.llama_cpp import room
from rauq.llama_cpp.process import receive, send
from rauq.model.loading import load_model
from tests.gguf_files import MERGED, save_gguf
from tests.waiting import wait_until

PROMPT, LENGTH = [10, 11, 12, 13], 16
OPTIONS = {"stop": (), "max_new_tokens": LENGTH}


@pytest.fixture(scope="module")
def lm(tmp_path_factory):
    save_gguf(file := tmp_path_factory.mktemp("room") / "tiny.gguf", entries=MERGED)
    return load_model(file, engine="llama.cpp", kind="base")


@pytest.fixture(scope="module")
def alone(lm):
    """The answers to prompts with nothing in common, each of which ran alone."""
    return [lm.generate([first, *PROMPT], **OPTIONS) for first in (20, 21, 22)]


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


@pytest.mark.parametrize("is_joined", [False, True])
def test_a_token_is_kept_while_the_process_runs_it(lm, monkeypatch, is_joined):
    seen = []

    def noting(name, act):
        return lambda *given, **options: (seen.append(name), act(*given, **options))[1]

    with lm.together(200) if is_joined else nullcontext(lm) as model:
        monkeypatch.setattr("rauq.llama_cpp.process.send", noting("s", send))
        monkeypatch.setattr("rauq.llama_cpp.process.receive", noting("r", receive))
        monkeypatch.setattr(LogitsBuffer, "add", noting("k", LogitsBuffer.add))
        trace = model.generate(PROMPT, **OPTIONS)
        told = "".join(seen)
    assert len(trace.logprobs) == LENGTH
    assert re.match(rf"(sr)+(skr){{{LENGTH - 1}}}(sr)*k", told), told  # the last token is not run


@pytest.mark.parametrize("is_joined", [False, True])
def test_a_token_that_cannot_be_kept_ends_its_answer_alone(lm, alone, monkeypatch, is_joined):
    add, count = LogitsBuffer.add, itertools.count()

    def full(*given):
        if next(count) == 3:
            raise MemoryError
        return add(*given)

    monkeypatch.setattr(LogitsBuffer, "add", full)
    with lm.together(200) if is_joined else nullcontext(lm) as model:
        with pytest.raises(MemoryError):
            model.generate(alone[0].prompt_ids.tolist(), **OPTIONS)
        again = model.generate(alone[1].prompt_ids.tolist(), **OPTIONS)
    assert again.answer_ids.tolist() == alone[1].answer_ids.tolist()


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
    monkeypatch.setattr(room, "PROMPT", 32)
    monkeypatch.setattr(room, "_PATIENCE", 20)
    reached, started = threading.Event(), threading.Event()
    with lm.together(400) as joined, ThreadPoolExecutor(2) as pool:
        on_token = held(2, until=started, reached=reached)
        other = pool.submit(joined.generate, PROMPT, on_token=on_token, stop=(), max_new_tokens=60)
        assert reached.wait(30)
        long = pool.submit(joined.generate, [20 + place % 200 for place in range(100)], **OPTIONS)
        wait_until(lambda: len(lm.engine._room.waiting) == 1)
        started.set()
        other.result(60), long.result(60)
    assert [size for size in batches if size > len(PROMPT)] == [32 + 1, 32 + 1, 32 + 1, 3 + 1 + 1]


def test_a_prompt_begins_as_another_does_even_where_that_one_has_left(lm, batches):
    prompts = [[*PROMPT, *rest] for rest in ((20, 21), (20, 22), (20, 22, 23, 24))]
    alone = [lm.generate(prompt, **OPTIONS) for prompt in prompts]
    batches.clear()
    first, second = ((threading.Event(), threading.Event()) for _ in range(2))
    with lm.together(400) as joined, ThreadPoolExecutor(2) as pool:
        one = pool.submit(joined.generate, prompts[0], on_token=held(1, reached=first[0], until=first[1]), **OPTIONS)
        assert first[0].wait(30)
        other = pool.submit(
            joined.generate, prompts[1], on_token=held(1, reached=second[0], until=second[1]), **OPTIONS
        )
        assert second[0].wait(30)
        first[1].set()
        found = [one.result(30)]
        last = pool.submit(joined.generate, prompts[2], **OPTIONS)
        second[1].set()
        found += [other.result(30), last.result(30)]
    assert sum(batches) == 6 + 1 + 3 + 3 * (LENGTH - 1)  # the last two have five tokens of another one's prompt
    for given, expected in zip(found, alone, strict=True):
        assert given.answer_ids.tolist() == expected.answer_ids.tolist()
        np.testing.assert_allclose(given.logprobs, expected.logprobs, atol=5e-3)
        np.testing.assert_allclose(given.attention, expected.attention, atol=5e-3)


def test_a_beginning_whose_keys_a_window_has_dropped_is_run_again(tmp_path, monkeypatch):
    """A later prompt has the cells of the first keys of the one that began alike, which its window reaches no more."""
    monkeypatch.setattr(room, "_PATIENCE", 0.001)
    save_gguf(file := tmp_path / "gemma3.gguf", "gemma3", entries=MERGED)
    lm = load_model(file, engine="llama.cpp", kind="base")
    alone = lm.generate(PROMPT, **OPTIONS)
    before, like, after = [20] * 100, [*PROMPT], [21] * 200
    until = [threading.Event() for _ in range(2)]
    with lm.together(600) as joined, ThreadPoolExecutor(2) as pool:
        answers = []
        for prompt, at, its_end in ((before, 1, until[0]), (like, 50, until[1])):
            on_token = held(at, reached=(reached := threading.Event()), until=its_end)
            answers.append(pool.submit(joined.generate, prompt, on_token=on_token, stop=(), max_new_tokens=at + 2))
            assert reached.wait(30)
        until[0].set()
        answers[0].result(30)  # its cells come before those of the other, and are free now
        joined.generate(after, **OPTIONS)
        again = joined.generate(PROMPT, **OPTIONS)
        until[1].set()
        answers[1].result(30)
    assert again.answer_ids.tolist() == alone.answer_ids.tolist()
    np.testing.assert_allclose(again.logprobs, alone.logprobs, atol=5e-3)
    np.testing.assert_allclose(again.attention, alone.attention, atol=5e-3)


def test_answers_run_together_also_where_a_step_takes_longer_than_the_patience(lm, monkeypatch):
    process, sizes = lm.engine.process(), []
    ask = process.ask

    def slow(do, *arrays, **options):
        if do == "feed":
            sizes.append(len(arrays[0]))
            time.sleep(3 * room._PATIENCE)  # a model that is so slow
        return ask(do, *arrays, **options)

    monkeypatch.setattr(room, "_PATIENCE", 0.02)
    monkeypatch.setattr(process, "ask", slow)
    with lm.together(200) as joined, ThreadPoolExecutor(2) as pool:
        first = pool.submit(joined.generate, PROMPT, **OPTIONS)
        wait_until(lambda: len(sizes) == 3)  # in the middle of its step
        second = pool.submit(joined.generate, [20, *PROMPT], **OPTIONS)
        first.result(30), second.result(30)
    assert sizes[4 : LENGTH - 3] == [2] * (LENGTH - 7)


def test_a_prompt_that_has_begun_is_run_before_one_that_came_later(lm, monkeypatch):
    monkeypatch.setattr(room, "PROMPT", 32)
    process, fed = lm.engine.process(), []
    ask = process.ask

    def noted(do, *arrays, **options):
        if do == "feed":
            fed.append(np.bincount(arrays[2][~arrays[3]], minlength=2).tolist())  # sequences of what is no row
            if len(fed) == 1:
                wait_until(lambda: len(lm.engine._room.waiting) == 1)
        return ask(do, *arrays, **options)

    monkeypatch.setattr(process, "ask", noted)
    with lm.together(400) as joined, ThreadPoolExecutor(2) as pool:
        first = pool.submit(joined.generate, [20 + place for place in range(80)], **OPTIONS)
        wait_until(lambda: fed)
        second = pool.submit(joined.generate, [120 + place for place in range(80)], **OPTIONS)
        first.result(30), second.result(30)
    assert [one for one in fed if one != [0, 0]] == [[32, 0], [32, 0], [15, 17], [0, 32], [0, 30]]


def test_nothing_runs_once_the_body_was_left(lm):
    reached, until = threading.Event(), threading.Event()
    with ThreadPoolExecutor(1) as pool:
        with lm.together(200) as joined:
            with pytest.raises(InvalidInput, match="within `together`"), joined.together(200):
                pass
            on_token = held(2, until=until, reached=reached)
            late = pool.submit(joined.generate, PROMPT, on_token=on_token, **OPTIONS)
            assert reached.wait(30)
        until.set()
        with pytest.raises(InvalidInput, match="have ended"):
            late.result(30)
    assert len(lm.generate(PROMPT, **OPTIONS).answer_ids) == LENGTH


@pytest.fixture
def slow_first(lm, monkeypatch):
    """The first request to feed waits until so many others do; then a function is called in place of each."""
    process, feed = lm.engine.process(), []
    ask = process.ask

    def slow(do, *arrays, **options):
        if do != "feed":
            return ask(do, *arrays, **options)
        feed.append(len(arrays[0]))
        if len(feed) == 1:
            wait_until(lambda: len(lm.engine._room.waiting) == slow.others)
            return ask(do, *arrays, **options)
        return slow.then(ask, do, *arrays, **options)

    slow.then = lambda ask, *arrays, **options: ask(*arrays, **options)
    monkeypatch.setattr(process, "ask", slow)
    slow.feed = feed
    return slow


def test_prompts_that_come_together_are_one_batch(lm, slow_first, monkeypatch):
    monkeypatch.setattr(room, "_PATIENCE", 20)
    slow_first.others = 3
    prompts = [[first, 11, 12, 13] for first in range(20, 24)]
    with lm.together(200) as joined, ThreadPoolExecutor(4) as pool:
        first = pool.submit(joined.generate, prompts[0], **OPTIONS)
        wait_until(lambda: slow_first.feed)
        list(pool.map(lambda prompt: joined.generate(prompt, **OPTIONS), prompts[1:]))
        first.result(30)
    assert slow_first.feed[:3] == [4, 3 * 4 + 1, 4]


def test_a_prompt_that_is_cancelled_in_a_batch_leaves_that_beside_it(lm, alone, slow_first, monkeypatch):
    monkeypatch.setattr(room, "_PATIENCE", 20)
    cancelled = threading.Event()

    def then(ask, *arrays, cancel=None, **options):
        if len(slow_first.feed) == 2:
            cancelled.set()
        if cancel is not None and cancel.is_set():
            raise Stopped(room.CANCELLED)
        return ask(*arrays, cancel=cancel, **options)

    slow_first.others, slow_first.then = 2, then
    with lm.together(200) as joined, ThreadPoolExecutor(3) as pool:
        answers = []
        for one in alone:
            cancel = cancelled if len(answers) == 1 else None
            answers.append(pool.submit(joined.generate, one.prompt_ids.tolist(), cancel=cancel, **OPTIONS))
            wait_until(lambda: slow_first.feed)  # that of the first
        with pytest.raises(Stopped):
            answers[1].result(30)
        for given, expected in zip((answers[0], answers[2]), (alone[0], alone[2]), strict=True):
            assert given.result(30).answer_ids.tolist() == expected.answer_ids.tolist()
            np.testing.assert_allclose(given.result().logprobs, expected.logprobs, atol=5e-3)
    assert slow_first.feed[:3] == [5, 2 * 5 + 1, 5 + 1]


def test_an_answer_that_has_ended_does_not_wait_for_the_prompt_of_another(lm, slow_first):
    ended, last, reached = (threading.Event() for _ in range(3))
    slow_first.others = 0

    def then(ask, *arrays, **options):
        if len(arrays[1]) > LENGTH:
            reached.set()
            assert ended.wait(30)
        return ask(*arrays, **options)

    slow_first.then = then
    with lm.together(400) as joined, ThreadPoolExecutor(3) as pool:
        on_token = held(LENGTH - 1, reached=last, until=reached)
        one = pool.submit(joined.generate, PROMPT, on_token=on_token, **OPTIONS)
        assert last.wait(30)
        long = pool.submit(joined.generate, [20 + place for place in range(100)], **OPTIONS)
        assert len(one.result(30).answer_ids) == LENGTH
        after = pool.submit(joined.generate, PROMPT, **OPTIONS)
        ended.set()
        assert [len(answer.result(30).answer_ids) for answer in (long, after)] == [LENGTH] * 2
        assert not lm.engine._room.prompts


def test_where_the_thread_that_runs_a_batch_is_interrupted_the_others_are_told(lm, slow_first):
    def then(*_, **__):
        raise KeyboardInterrupt

    slow_first.others, slow_first.then = 1, then
    with lm.together(200) as joined, ThreadPoolExecutor(2) as pool:
        answers = [pool.submit(joined.generate, PROMPT, **OPTIONS)]
        wait_until(lambda: slow_first.feed)
        answers.append(pool.submit(joined.generate, PROMPT, **OPTIONS))
        faults = [answer.exception(30) for answer in answers]
    assert sorted(type(fault).__name__ for fault in faults) == ["EngineStopped", "KeyboardInterrupt"]


def test_a_prompt_that_is_cancelled_leaves_the_others(lm, monkeypatch):
    monkeypatch.setattr(room, "PROMPT", 32)
    with lm.together(400) as joined, ThreadPoolExecutor(2) as pool:
        other = pool.submit(joined.generate, PROMPT, **OPTIONS)
        cancelled = threading.Event()
        cancelled.set()
        with pytest.raises(Stopped):
            joined.generate([10 + place % 200 for place in range(200)], cancel=cancelled, **OPTIONS)
        assert len(other.result(30).answer_ids) == LENGTH
        assert len(joined.generate(PROMPT, **OPTIONS).answer_ids) == LENGTH


def test_a_prompt_that_is_cancelled_alone_is_not_run(lm, batches):
    cancelled = threading.Event()
    cancelled.set()
    with lm.together(400) as joined, pytest.raises(Stopped):
        joined.generate(PROMPT, cancel=cancelled, **OPTIONS)
    assert batches == []


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
    process, reached, until = lm.engine.process(), threading.Event(), threading.Event()
    ask = process.ask

    def faulty(do, *arrays, **options):
        if do == "feed" and len(arrays[0]) == 2 and reached.is_set():
            message = "no such thing"
            raise ValueError(message)
        return ask(do, *arrays, **options)

    monkeypatch.setattr(process, "ask", faulty)
    monkeypatch.setattr(room, "_PATIENCE", 20)
    with lm.together(200) as joined, ThreadPoolExecutor(2) as pool:
        on_token = held(1, until=until, reached=reached)
        answers = [pool.submit(joined.generate, PROMPT, on_token=on_token, **OPTIONS) for _ in range(2)]
        assert reached.wait(30)
        until.set()
        for answer in answers:
            with pytest.raises(EngineStopped, match="ValueError: no such thing"):
                answer.result(30)
        assert not lm.engine._room.prompts
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
            with pytest.raises(InvalidInput, match="needs 3 keys back; those that run need 2"):
                joined.generate(PROMPT, offsets=3, **OPTIONS)
            until.set()
            first.result(30)
        joined.generate(PROMPT, offsets=3, **OPTIONS)
