"""Prompts that share a beginning give what they give one by one, and the beginning is fed once."""

import threading
from contextlib import contextmanager

import numpy as np
import pytest
import torch

from rauq.capture import cache
from rauq.capture.extras import OF_PROMPT
from rauq.errors import Failure, NonFiniteLogits
from rauq.trace.trace import Trace
from tests.architectures import ARCHITECTURES, VOCABULARY, named, seeded_prompts, tiny_language_model
from tests.exactness import EXACT, bound, difference, difference_to, eager_bands

BEGINNING, *RESTS = seeded_prompts(32, 9, 1, 14, 33)
PROMPTS = [*(BEGINNING + rest for rest in RESTS), BEGINNING, BEGINNING]  # of 41, 33, 46, 65, 32 and 32 tokens
OPTIONS = {"max_new_tokens": 9, "stop": (), "last_row": True}


@pytest.fixture(scope="module", params=ARCHITECTURES, ids=str)
def architecture(request):
    return request.param


@pytest.fixture(scope="module")
def lm(architecture):
    return tiny_language_model(architecture)


@pytest.fixture(scope="module")
def alone(lm):
    return [lm.generate(prompt, **OPTIONS) for prompt in PROMPTS]


@pytest.fixture(scope="module")
def read_alone(lm, alone):
    """The beginnings of these answers, read one by one."""
    lengths = (3, 9, 1, 7, 5, 2)
    return [lm.read(trace.prompt_ids, trace.answer_ids[:most]) for trace, most in zip(alone, lengths, strict=True)]


@pytest.fixture(scope="module")
def eager(lm, alone):
    """Eager attention to the tokens of these answers."""
    return eager_bands(lm, alone)


@pytest.fixture(scope="module")
def eager_read(lm, read_alone):
    return eager_bands(lm, read_alone)


@pytest.fixture(scope="module")
def llama():
    return tiny_language_model(named("llama"))


@contextmanager
def passes(lm):
    """The shapes (batch, tokens) of the passes inside."""
    shapes = []
    hook = lm.model.register_forward_pre_hook(
        lambda _module, _args, given: shapes.append(tuple(given["input_ids"].shape)), with_kwargs=True
    )
    try:
        yield shapes
    finally:
        hook.remove()


def prefills(lm, prompts, **options):
    """The passes over the prompts."""
    with passes(lm) as shapes:
        assert len(list(lm.generate_batch(prompts, max_new_tokens=1, stop=(), **options))) == len(prompts)
    return shapes


NATS = 3e-5


def assert_same(traces: list[Trace], expected: list[Trace], *, within: float = EXACT) -> None:
    assert len(traces) == len(expected)
    for trace, one in zip(traces, expected, strict=True):
        assert trace.answer_ids.tolist() == one.answer_ids.tolist()
        assert (trace.prompt, trace.stop_reason) == (one.prompt, one.stop_reason)
        np.testing.assert_allclose(trace.attention, one.attention, atol=within)
        # `within` is a bound for weights, at most 1: nats are larger, and CPUs round the logits differently.
        np.testing.assert_allclose(trace.logprobs, one.logprobs, atol=within, rtol=NATS)
        np.testing.assert_allclose(trace.entropies, one.entropies, atol=within, rtol=NATS)


# All architectures.


def test_generated_after_a_shared_beginning_is_generated_alone(lm, alone, eager, architecture):
    for size, number in ((1, 3), (6, 6)):
        traces = list(lm.generate_batch(PROMPTS[:number], batch_size=size, **OPTIONS))
        assert_same(traces, alone[:number], within=bound(architecture))
        assert difference_to(eager[:number], traces) <= bound(architecture)


@pytest.mark.parametrize("size", [3, 6])
def test_read_after_a_shared_beginning_is_read_alone(lm, read_alone, eager_read, architecture, size):
    pairs = [(trace.prompt_ids, trace.answer_ids) for trace in read_alone]
    traces = list(lm.read_batch(pairs, batch_size=size))
    assert_same(traces, read_alone, within=bound(architecture))
    assert difference_to(eager_read, traces) <= bound(architecture)


def test_sampled_after_a_shared_beginning_is_sampled_alone(lm, architecture):
    keeping = lm.with_prefix_cache()
    for prompt in PROMPTS[:2]:
        options = {"k": 2, "max_new_tokens": 4, "stop": (), "last_row": True}
        assert_same(keeping.sample(prompt, **options), lm.sample(prompt, **options), within=bound(architecture))


def test_samples_of_a_batch_are_those_of_each_prompt_alone(lm, architecture):
    prompts, options = [*PROMPTS[:2], PROMPTS[3][:20]], {"k": 2, "max_new_tokens": 4, "stop": ()}
    batches = list(lm.sample_batch(prompts, seeds=[5, 6, 7], batch_size=2, **options))
    for prompt, seed, samples in zip(prompts, [5, 6, 7], batches, strict=True):
        assert_same(samples, lm.sample(prompt, seed=seed, **options), within=bound(architecture))


def test_the_beginning_is_fed_once_where_only_keys_and_values_are_kept(lm, architecture):
    fed = prefills(lm, PROMPTS)
    shares = "hybrid" not in architecture.name
    assert (fed[0] == (1, 32)) == shares
    assert sum(batch * tokens for batch, tokens in fed) == (32 + 6 * 33 if shares else 6 * 65)


def test_every_extra_is_that_of_a_single_call(lm, architecture):
    # Ranks of the lens differ by whole numbers where scores are nearly equal; it is made of the hidden layers alone.
    extras = [name for name in lm.extras if name != "logit_lens"]
    options = {"extras": extras, "idf": np.linspace(0.5, 2, VOCABULARY), "max_new_tokens": 5, "stop": ()}
    sharing = {**options, "extras": [name for name in extras if name not in OF_PROMPT]}
    prompts = [*PROMPTS[:2], BEGINNING]
    single = [lm.generate(prompt, **options).extras for prompt in prompts]
    for given in (options, sharing):
        for trace, expected in zip(lm.generate_batch(prompts, **given), single, strict=True):
            assert set(trace.extras) == set(given["extras"]) <= set(expected)
            for name, array in trace.extras.items():
                np.testing.assert_allclose(array, expected[name], atol=10 * bound(architecture), err_msg=name)


# How much is fed.


def test_what_is_not_shared_is_fed_as_ever(llama):
    assert prefills(llama, RESTS) == [(4, 33)]
    assert prefills(llama, [PROMPTS[0]]) == [(1, 41)]
    few = [BEGINNING[:31] + rest for rest in RESTS[:2]]
    assert prefills(llama, few) == [(2, 40)]
    for extra in OF_PROMPT:
        assert prefills(llama, PROMPTS[:2], extras=[extra])[0] == (2, 41)


def test_a_prompt_that_is_the_beginning_keeps_a_token_to_feed(llama):
    assert prefills(llama, [BEGINNING, BEGINNING]) == [(2, 32)]
    assert prefills(llama, [BEGINNING] * 3) == [(1, 31), (3, 1)]
    assert prefills(llama, [BEGINNING, PROMPTS[0]]) == [(1, 32), (2, 9)]


def test_the_next_batches_go_on_from_what_is_kept(llama):
    first, other = [(1, 32), (2, 9)], RESTS[3]
    assert prefills(llama, PROMPTS[:4], batch_size=2) == [*first, (2, 33)]
    assert prefills(llama, PROMPTS[:4], batch_size=1) == [(1, 41), (1, 32), (1, 1), (1, 14), (1, 33)]
    longer = [BEGINNING + other + rest for rest in RESTS[:2]]
    assert prefills(llama, [*PROMPTS[:2], *longer], batch_size=2) == [*first, (1, 33), (2, 9)]
    little_longer = [BEGINNING + other[:31] + rest for rest in RESTS[:2]]  # not worth a pass
    assert prefills(llama, [*PROMPTS[:2], *little_longer], batch_size=2) == [*first, (2, 40)]
    for few in ([], BEGINNING[:3]):
        elsewhere = [few + other + rest for rest in RESTS[:2]]
        assert prefills(llama, [*PROMPTS[:2], *elsewhere], batch_size=2) == [*first, (1, len(few) + 33), (2, 9)]


def test_more_sequences_are_worth_a_pass_over_fewer_tokens(llama):
    def fed(number):
        return prefills(llama, [BEGINNING[:8] + [4 + place] + RESTS[0] for place in range(number)])

    assert fed(4) == [(4, 18)]
    assert fed(5) == [(1, 8), (5, 10)]


def test_calls_share_only_if_they_were_asked_to(llama):
    def fed(lm):
        with passes(llama) as shapes:
            lm.generate(PROMPTS[0], max_new_tokens=1, stop=())
            list(lm.generate_batch(PROMPTS[1:3], max_new_tokens=1, stop=()))
            lm.sample(PROMPTS[3], k=2, max_new_tokens=1, stop=())
            lm.read(PROMPTS[1], RESTS[0])
        return shapes

    assert fed(llama) == [(1, 41), (1, 32), (2, 14), (1, 65), (1, 42)]
    assert fed(llama.with_prefix_cache()) == [(1, 41), (1, 32), (2, 14), (1, 33), (1, 10)]
    keeping = llama.with_prefix_cache()
    for prompt in PROMPTS[:2]:
        keeping.generate(prompt, max_new_tokens=1, stop=())
    with passes(llama) as shapes:
        keeping.with_kind("instruct").generate(PROMPTS[2], max_new_tokens=1, stop=())
    assert shapes == [(1, 14)]


def test_a_check_feeds_its_prompt_whole(llama):
    keeping, prompt = llama.with_prefix_cache(), "A prompt that is long enough to be shared."
    keeping.generate(prompt, max_new_tokens=1)
    with passes(llama) as shapes:
        assert keeping.check(prompt).exact
    assert shapes.count((1, len(prompt))) == 2


# What happens on the way.


@pytest.mark.parametrize("window", [2, 31, 32, 33, 50])
@pytest.mark.parametrize("name", ["mistral-window", "gemma2-softcap-window", "gpt-oss-sinks-window"])
def test_windows_shorter_and_longer_than_the_beginning(name, window):
    lm = tiny_language_model(named(name), sliding_window=window)
    traces = list(lm.generate_batch(PROMPTS[:4], **OPTIONS))
    assert difference(lm, traces) <= EXACT


def test_reading_in_several_passes_changes_nothing(llama, monkeypatch):
    pairs = [(prompt, RESTS[3]) for prompt in PROMPTS]
    whole = list(llama.read_batch(pairs))
    monkeypatch.setattr("rauq.model.generation._READ_LOGITS_BYTES", 6 * 5 * 4 * VOCABULARY)
    with passes(llama) as shapes:
        assert_same(list(llama.read_batch(pairs)), whole)
    assert shapes[0] == (1, 32)
    assert len(shapes) > 2


def test_a_batch_that_does_not_fit_is_run_one_by_one(llama, monkeypatch):
    alone, forward, sizes = [llama.generate(prompt, **OPTIONS) for prompt in PROMPTS], llama.model.forward, []

    def small(*args, **kwargs):
        sizes.append(len(kwargs["input_ids"]))
        if sizes[-1] > 1:
            message = "CUDA out of memory."
            raise torch.OutOfMemoryError(message)
        return forward(*args, **kwargs)

    monkeypatch.setattr(llama.model, "forward", small)
    assert_same(list(llama.generate_batch(PROMPTS, **OPTIONS)), alone)
    assert sizes[:3] == [1, 6, 1]


def test_once_cancelled_answers_are_cut_and_later_batches_do_not_run(llama):
    cancel = threading.Event()
    traces = llama.generate_batch(PROMPTS, batch_size=2, cancel=cancel, **OPTIONS)
    assert next(traces).stop_reason == "length"
    cancel.set()
    assert [trace.stop_reason for trace in traces] == ["length"]
    cut = list(llama.generate_batch(PROMPTS, cancel=cancel, **OPTIONS))
    assert [(len(trace.answer_ids), trace.stop_reason) for trace in cut] == [(1, "cancelled")] * 6


def test_a_prompt_that_fails_does_not_affect_those_that_share_its_beginning():
    lm = tiny_language_model(named("llama"))
    poison = next(token for token in range(4, VOCABULARY) if not any(token in prompt for prompt in PROMPTS))
    alone = [lm.generate(prompt, max_new_tokens=3, stop=()) for prompt in PROMPTS[:3]]
    with torch.no_grad():
        lm.model.get_input_embeddings().weight[poison] = torch.nan
    bad = [[*BEGINNING, poison, *rest] for rest in RESTS[:2]]  # in what these two share, after what all share
    for prompts in (
        [PROMPTS[0], bad[0], PROMPTS[1], PROMPTS[2]],
        [*PROMPTS[:2], *bad, PROMPTS[2]],
        [*bad, *PROMPTS[:3]],
    ):
        for size in (1, 2, 5):
            outcomes = list(lm.generate_batch(prompts, batch_size=size, max_new_tokens=3, stop=()))
            failed = [outcome for outcome in outcomes if isinstance(outcome, Failure)]
            assert [prompts[failure.index] for failure in failed] == [prompt for prompt in prompts if prompt in bad]
            assert all(isinstance(failure.error, NonFiniteLogits) for failure in failed)
            assert_same([outcome for outcome in outcomes if isinstance(outcome, Trace)], alone)


def _not_moved(patch):
    patch.setattr(cache, "_padded", lambda tensor, padding: tensor.expand(len(padding), -1, -1, -1))


def _too_long(patch):
    patch.setattr(cache, "common_length", lambda sequences: min(map(len, sequences)))


def _window_only(patch):
    patch.setattr("transformers.DynamicCache.activate_past_recording", lambda _cache: None)


@pytest.mark.parametrize("break_it", [_not_moved, _too_long, _window_only])
def test_a_wrong_prefix_is_detected(break_it, monkeypatch):
    lm = tiny_language_model(named("mistral-window"))
    prompts = [*PROMPTS[:2], [*BEGINNING[:31], *RESTS[3]]]
    assert difference(lm, list(lm.generate_batch(prompts, **OPTIONS))) <= EXACT
    break_it(monkeypatch)
    with pytest.raises((AssertionError, RuntimeError)):
        assert difference(lm, list(lm.generate_batch(prompts, **OPTIONS))) <= EXACT
