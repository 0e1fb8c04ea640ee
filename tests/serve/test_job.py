"""Where an answer ends, and what is told of it while it grows."""

import itertools
import time
from dataclasses import replace

import pytest

from serve.job import BLOCK, Ended, Failed, Grown, Job, Wanted, first_stop, sure_length
from tests.architectures import named, tiny_language_model
from tests.tiny import END, PROMPT, chained

ANSWER = "abcdefgh"


@pytest.fixture(scope="module")
def lm():
    return chained(tiny_language_model(named("llama")), ANSWER, end=True)


WANTED = Wanted(
    prompt=PROMPT, chat=False, num_prompt=len(PROMPT), most_tokens=20, stops=(), sampling=None, until=float("inf")
)


def told(lm, *, leaves_at=None, **changes):
    """The events of one answer, and its job; `leaves_at`: the client goes with this event."""
    events = []

    def tell(event):
        events.append(event)
        if len(events) == leaves_at:
            job.gone.set()

    job = Job(wanted=replace(WANTED, **changes), tell=tell)
    list(lm.generate_batch([PROMPT], watches=[job.watch], max_new_tokens=job.wanted.most_tokens, stop=(), chat=False))
    return events, job


def test_the_first_stop_is_the_earliest_of_all():
    for text in map("".join, itertools.product("ab", repeat=5)):
        for stops in [("ab",), ("aa", "b"), ("bab", "ba"), ()]:
            places = [place for place in range(5) for stop in stops if text.startswith(stop, place)]
            assert first_stop(text, stops) == min(places, default=None)
            # as it is asked while a text grows
            grown = next((end for end in range(1, 6) if first_stop(text[:end], stops, since=end - 1) is not None), None)
            assert (grown is None) == (not places)


def test_what_is_sure_is_never_taken_back():
    for text in map("".join, itertools.product("ab", repeat=6)):
        for stops in [("ab",), ("aab", "b"), ("bab", "abb")]:
            for end in range(7):
                if first_stop(text[:end], stops) is None:
                    kept = sure_length(text[:end], stops)
                    cut = first_stop(text, stops)
                    assert cut is None or kept <= cut


@pytest.mark.parametrize(
    ("changes", "text", "ending", "in_trace"),
    [
        ({}, ANSWER, "eos", "eos"),
        ({"most_tokens": 3}, "abc", "length", "length"),
        ({"stops": ("ef",)}, "abcd", "stop", "stop"),
        ({"stops": ("xyz", "a")}, "", "stop", "stop"),
        ({"until": 0.0}, "a", "time", "length"),
        ({"stops": ("c",), "most_tokens": 3}, "ab", "stop", "stop"),
    ],
)
def test_an_answer_ends_where_the_client_asks(lm, changes, text, ending, in_trace):
    events, _ = told(lm, **changes)
    (ended,) = events
    assert (ended.text, ended.ending, ended.trace.stop_reason) == (text, ending, in_trace)


def test_a_stop_text_stays_in_the_trace(lm):
    (ended,), _ = told(lm, stops=("ef",))
    assert "".join(ended.trace.answer_tokens) == "abcdef"


def test_text_is_told_as_it_comes_but_for_what_a_stop_text_may_take(lm):
    events, _ = told(lm, grows=True, stops=("cdX", "h"))
    texts = [event.text for event in events if isinstance(event, Grown)]
    assert texts == ["a", "ab", "ab", "ab", "abcde", "abcdef", "abcdefg"]
    assert events[-1].text == "abcdefg"


def test_traces_are_told_in_blocks(lm):
    events, _ = told(lm, grows=True, with_traces=True)
    counts = [len(event.trace.answer_ids) for event in events if isinstance(event, Grown)]
    assert counts == [count for count in range(1, len(ANSWER) + 1) if count % BLOCK == 1]
    assert events[-1].trace.answer_ids[-1] == END


@pytest.mark.parametrize("leaves_at", [1, 2, 5])
def test_an_answer_ends_within_two_tokens_when_nobody_waits_for_it(lm, leaves_at):
    events, job = told(lm, grows=True, leaves_at=leaves_at)
    assert isinstance(events[-1], Ended)
    assert (events[-1].ending, job.count <= leaves_at + 2) == ("cancelled", True)


def test_tokens_that_are_told_again_do_not_count_twice():
    job = Job(wanted=WANTED, tell=lambda _event: None)
    for index, text in [(0, "a"), (1, "b"), (0, "a"), (1, "b"), (2, "c")]:
        job.watch.on_token(index, 0, text)
    assert (job.text, job.count) == ("abc", 3)


def test_only_the_first_end_is_told(lm):
    events, job = told(lm)
    job.fail(ValueError())
    assert len(events) == 1
    late = Job(wanted=replace(WANTED, until=time.monotonic() - 1), tell=events.append)
    late.fail(ValueError())
    late.fail(ValueError())
    assert [type(event) for event in events] == [Ended, Failed]
    assert late.is_late
