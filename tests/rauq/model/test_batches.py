"""A batch gives what single calls give, in order, and an item that fails does not affect the others."""

import gc
import threading
import weakref
from collections import defaultdict

import numpy as np
import pytest
import torch

import rauq
from rauq.errors import Failure, InvalidInput, NonFiniteLogits, OutOfMemory
from rauq.model.batches import in_batches
from rauq.model.loading import wrap
from rauq.scoring.watch import Watch
from rauq.trace.trace import Trace
from tests.architectures import byte_tokenizer, named, tiny_language_model, tiny_model
from tests.tiny import CONTEXT, END, assert_close, chained, counted

PROMPTS = ["a", "Where is it?", "🙂 is a face, and this prompt is longer than a window", "bb", "c?"]
PAIRS = list(zip(PROMPTS, ["short", "x", "a longer answer than the others", "🙂", [70, END]], strict=True))


@pytest.fixture(scope="module", params=["llama", "mistral-window", "gpt-oss-sinks-window", "bloom"])
def lm(request):
    return tiny_language_model(named(request.param))


@pytest.fixture(scope="module", params=[True, False])
def last_row(request):
    return request.param


@pytest.fixture(scope="module")
def options(last_row):
    return {"max_new_tokens": 14, "stop": ["e", "\x00"], "last_row": last_row}


@pytest.fixture(scope="module")
def generated_alone(lm, options):
    return [lm.generate(prompt, **options) for prompt in PROMPTS]


@pytest.fixture(scope="module")
def read_alone(lm):
    return [lm.read(*pair) for pair in PAIRS]


@pytest.fixture
def llama():
    return tiny_language_model(named("llama"))


def assert_same_answer(batched, single):
    """Equal up to the point where the two best logits differ only by rounding."""
    for place, (one, other) in enumerate(zip(batched.answer_ids, single.answer_ids, strict=False)):
        if one != other:
            first, second = single.alternatives[place][:2]
            assert first.logprob - second.logprob < 1e-4
            return
    assert_close(batched, single)
    assert batched.stop_reason == single.stop_reason


@pytest.mark.parametrize("size", [1, 2, 5, 8])
def test_generated_together_is_generated_alone(lm, generated_alone, options, size):
    traces = list(lm.generate_batch(PROMPTS, batch_size=size, **options))
    assert [trace.prompt for trace in traces] == PROMPTS
    for trace, alone in zip(traces, generated_alone, strict=True):
        assert_same_answer(trace, alone)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_read_together_is_read_alone(lm, read_alone, size):
    traces = list(lm.read_batch(PAIRS, batch_size=size))
    for (prompt, _), trace, alone in zip(PAIRS, traces, read_alone, strict=True):
        assert_close(trace, alone)
        assert (trace.prompt, trace.stop_reason) == (prompt, alone.stop_reason)


def test_a_short_answer_beside_a_long_one(llama):
    lm = chained(llama, "abcdefgh", end=True)
    short, long = lm.generate_batch(["ABCDEFg", "?"], last_row=True)
    assert (short.answer, long.answer) == ("h", "abcdefgh")
    assert (short.stop_reason, long.stop_reason) == ("eos", "eos")
    for trace in (short, long):
        assert_close(trace, lm.read(trace.prompt, trace.answer_ids))


@pytest.mark.parametrize("architecture", ["llama", "gpt2"])
def test_a_long_prompt_does_not_shorten_the_answers_beside_it(architecture):
    lm = tiny_language_model(named(architecture))
    prompts = ["x" * (CONTEXT - 4), "short"]
    options = {"max_new_tokens": 20, "stop": (), "last_row": True}
    traces = list(lm.generate_batch(prompts, **options))
    assert [len(trace.answer_ids) for trace in traces] == [4, 20]
    for prompt, trace in zip(prompts, traces, strict=True):
        assert_same_answer(trace, lm.generate(prompt, **options))


@pytest.mark.parametrize("size", [1, 3, 8])
def test_bad_items_alone_fail(llama, size):
    bad = ["\ud800", "", None, "x" * 1000, [-1], [1.5]]
    prompts = [item for pair in zip(bad, ["good 1"] * len(bad), strict=True) for item in pair]
    outcomes = list(llama.generate_batch(prompts, batch_size=size, max_new_tokens=3))
    assert [isinstance(outcome, Failure) for outcome in outcomes] == [True, False] * len(bad)
    assert [outcome.index for outcome in outcomes[::2]] == list(range(0, 12, 2))
    assert all(isinstance(outcome.error, InvalidInput) for outcome in outcomes[::2])
    alone = llama.generate("good 1", max_new_tokens=3)
    for trace in outcomes[1::2]:
        assert_same_answer(trace, alone)
    pairs = [("good", "a"), ("good", ""), ("", "a"), ("good", None), ("x" * 250, "y" * 7), ("good", "a")]
    outcomes = list(llama.read_batch(pairs, batch_size=size))
    assert [isinstance(outcome, Failure) for outcome in outcomes] == [False, True, True, True, True, False]


def test_a_batch_with_a_failure_is_scored_without_it(llama):
    outcomes = list(llama.generate_batch(["good", "", "good"], max_new_tokens=3))
    assert isinstance(outcomes[1], rauq.Failure)
    with pytest.raises(InvalidInput, match="item 1 counted from 0"):
        rauq.batch(outcomes)
    traces = [item for item in outcomes if isinstance(item, rauq.Trace)]
    assert len(rauq.score_many(rauq.batch(traces)).uncertainty) == 2


def test_a_text_with_tokens_that_the_model_does_not_have_fails_alone():
    tokenizer = byte_tokenizer()
    tokenizer.add_tokens(["<|image|>", "XYZ", "QQ", "RR"])
    tokenizer.chat_template = "{{ messages[0].content }}<|image|>"
    lm = wrap(tiny_model(named("llama")), tokenizer, name="tiny", kind="base")
    first, bad, last = lm.generate_batch(["a", "an XYZ, QQ, RR <|image|>", "c"], max_new_tokens=2)
    assert isinstance(first, Trace)
    assert isinstance(last, Trace)
    assert isinstance(bad.error, InvalidInput)
    says = r"does not have: 'XYZ' \(id 261\), 'QQ' \(id 262\), 'RR' \(id 263\) and 1 more; .* from 0 to 259"
    for ask in (
        lambda: lm.read("an XYZ, QQ, RR <|image|>", "b"),
        lambda: lm.read("a", "an XYZ, QQ, RR <|image|>"),
        lambda: lm.generate("a", answer_prefix="an XYZ, QQ, RR <|image|>"),
    ):
        with pytest.raises(InvalidInput, match=says):
            ask()
    with pytest.raises(InvalidInput, match=r"'<\|image\|>' \(id 260\); .* a text and a chat template without these"):
        lm.generate([{"role": "user", "content": "a"}])


def test_a_batch_of_bad_items_alone_runs_nothing(llama):
    passes = counted(llama)
    outcomes = list(llama.generate_batch(["", None]))
    assert [type(outcome) for outcome in outcomes] == [Failure, Failure]
    assert passes == []


def test_nothing_gives_nothing(llama):
    assert list(llama.generate_batch([])) == list(llama.read_batch([])) == []


def test_numbers_that_are_not_finite_concern_their_item_alone(llama):
    (poisoned,) = llama.tokens.encode("~", special=False)
    with torch.no_grad():
        llama.model.model.embed_tokens.weight[poisoned] = torch.nan
    good = llama.generate("fine", max_new_tokens=5, stop=())
    outcomes = list(llama.generate_batch(["fine", "a ~ b", "fine"], max_new_tokens=5, stop=()))
    assert [type(outcome) for outcome in outcomes] == [Trace, Failure, Trace]
    assert outcomes[1].index == 1
    assert isinstance(outcomes[1].error, NonFiniteLogits)
    for trace in outcomes[::2]:
        assert_same_answer(trace, good)
    ended, prompts = [], ["fine", "a ~ b"]
    watches = [Watch(on_end=lambda outcome: ended.append(type(outcome)))] * 2
    list(llama.generate_batch(prompts, max_new_tokens=5, stop=(), watches=watches))
    assert ended == [Trace, NonFiniteLogits]
    read = list(llama.read_batch([("fine", "a"), ("~", "a"), ("fine", "b")]))
    assert [type(outcome) for outcome in read] == [Trace, Failure, Trace]


def test_a_batch_that_does_not_fit_is_run_one_by_one(llama, monkeypatch):
    forward, sizes = llama.model.forward, []

    def small(*args, **kwargs):
        sizes.append(len(kwargs["input_ids"]))
        if len(kwargs["input_ids"]) > 1 or kwargs["input_ids"].shape[1] > 30:
            message = "CUDA out of memory."
            raise torch.OutOfMemoryError(message)
        return forward(*args, **kwargs)

    prompts = ["one", "two", "x" * 40, "four"]
    alone = [llama.generate(prompt, max_new_tokens=3) for prompt in prompts]
    monkeypatch.setattr(llama.model, "forward", small)
    outcomes = list(llama.generate_batch(prompts, max_new_tokens=3))
    assert sizes[0] == 4
    assert set(sizes[1:]) == {1}
    assert outcomes[2].index == 2
    assert isinstance(outcomes[2].error, OutOfMemory)
    assert "a smaller batch" in str(outcomes[2].error)
    for place in (0, 1, 3):
        assert_same_answer(outcomes[place], alone[place])


class Tensor:
    """A stand-in for the memory of a failed run."""


def test_memory_of_a_failed_batch_is_freed_before_its_items_run():
    held = []

    def run(batch):
        mine = Tensor()
        held.append(weakref.ref(mine))
        if len(batch) > 1 or batch[0] == 2:
            message = "full"
            raise OutOfMemory(message)
        gc.collect()
        assert [reference() for reference in held[:-1]] == [None] * (len(held) - 1)
        return [batch[0]]

    outcomes = list(in_batches([1, 2, 3], encode=int, run=run, size=3))
    assert (outcomes[0], outcomes[2]) == (1, 3)
    gc.collect()
    assert all(reference() is None for reference in held)
    assert str(outcomes[1].error) == "full"


def test_items_are_taken_as_they_are_needed(llama):
    taken = []

    def prompts():
        for number in range(10):
            taken.append(number)
            yield f"prompt {number}"

    traces = llama.generate_batch(prompts(), batch_size=2, max_new_tokens=1)
    assert taken == []
    next(traces)
    assert taken == [0, 1]


def test_calls_without_meaning_are_refused_at_once(llama):
    with pytest.raises(InvalidInput, match="batch_size=0"):
        llama.generate_batch(["a"], batch_size=0)
    with pytest.raises(InvalidInput, match="batch_size=-1"):
        llama.read_batch([("a", "b")], batch_size=-1)
    with pytest.raises(InvalidInput, match="max_new_tokens=0"):
        llama.generate_batch(["a"], max_new_tokens=0)
    for size in (None, "2", 1.5):
        with pytest.raises(InvalidInput, match=f"batch_size={size!r}"):
            llama.generate_batch(["a"], batch_size=size)
    for run in (llama.generate_batch, llama.read_batch):
        for one in ("ab", b"ab", None, 5):
            with pytest.raises(InvalidInput, match="Put it in a list"):
                run(one)


@pytest.mark.parametrize("bad", ["ab", ("a",), ("a", "b", "c"), None, 5, b"ab"], ids=repr)
def test_what_is_no_pair_fails_alone(llama, bad):
    outcomes = list(llama.read_batch([("good", "a"), bad, ("good", "a")]))
    assert [type(outcome) for outcome in outcomes] == [Trace, Failure, Trace]
    with pytest.raises(InvalidInput, match="where a pair was expected"):
        raise outcomes[1].error


def test_cancel_ends_a_run_after_the_batch_it_falls_into(llama):
    cancel, taken = threading.Event(), []

    def prompts():
        for number in range(10):
            taken.append(number)
            yield f"prompt {number}"

    traces = llama.generate_batch(prompts(), batch_size=2, max_new_tokens=3, stop=(), cancel=cancel)
    assert next(traces).stop_reason == "length"
    assert next(traces).stop_reason == "length"
    assert next(traces).stop_reason == "length"
    cancel.set()
    assert [trace.prompt for trace in traces] == ["prompt 3"]
    assert taken == [0, 1, 2, 3]


@pytest.mark.parametrize("last_row", [True, False])
def test_each_answer_of_a_batch_is_watched_and_cancelled_by_itself(llama, last_row):
    prompts, options = ["one", "a longer prompt", "three"], {"max_new_tokens": 6, "stop": (), "last_row": last_row}
    tokens, so_far, ended, cancel = defaultdict(list), defaultdict(list), [], threading.Event()

    def watch(place):
        def on_token(index, token, _text):
            assert index == len(tokens[place])
            tokens[place].append(token)
            if place == 1 and index == 1:
                cancel.set()

        return Watch(
            on_token=on_token,
            on_progress=lambda take: so_far[place].append(take()),
            on_end=lambda trace: ended.append((place, trace)),
            cancel=cancel if place == 1 else None,
        )

    outcomes = list(llama.generate_batch(prompts, watches=[watch(place) for place in range(3)], **options))
    assert [place for place, _ in ended] == [1, 0, 2]
    assert [trace.stop_reason for trace in outcomes] == ["length", "cancelled", "length"]
    for place, trace in ended:
        assert tokens[place] == trace.answer_ids.tolist() == outcomes[place].answer_ids.tolist()
        assert_close(trace, outcomes[place])
        assert [len(early.answer_ids) for early in so_far[place]] == list(range(1, len(tokens[place])))
    for place in (0, 2):
        assert_same_answer(outcomes[place], llama.generate(prompts[place], **options))


def test_watches_are_as_many_as_prompts(llama):
    with pytest.raises(InvalidInput, match="Got 1 watches for 2 prompts"):
        list(llama.generate_batch(["one", "two"], watches=[Watch()]))
    with pytest.raises(InvalidInput, match="Put it in a list"):
        llama.generate_batch("one", watches=[Watch()] * 3)


def test_the_masked_padding_is_no_token_of_the_answer():
    """What fills the empty places has an embedding of its own, which must not reach the answer."""
    model = tiny_model(named("llama"))
    lm = wrap(model, byte_tokenizer(), name="tiny")
    alone = lm.generate("a", max_new_tokens=4, stop=())
    with torch.no_grad():
        model.model.embed_tokens.weight[0] = 1e4
    batched = next(lm.generate_batch(["a", "a much longer prompt"], max_new_tokens=4, stop=()))
    assert_same_answer(batched, alone)
    assert np.isfinite(batched.logprobs).all()
