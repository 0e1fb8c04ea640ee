"""Drawn answers repeat with their seed, follow the warped distribution, and report the raw one."""

import threading

import numpy as np
import pytest
import torch

from rauq.arguments import Sampling
from rauq.errors import Failure, InvalidInput, NonFiniteLogits
from tests.tiny import PROMPT, assert_close, chained, counted, raw_logprobs


def test_sampling_repeats_with_its_seed_alone(lm):
    def drawn(seed, **options):
        options = {"do_sample": True, "max_new_tokens": 12, "stop": (), "top_k": 0, "temperature": 2.0} | options
        return lm.generate(PROMPT, seed=seed, **options).answer_ids.tolist()

    assert drawn(0) == drawn(0)
    assert len({tuple(drawn(seed)) for seed in range(5)}) == 5
    assert drawn(None) != drawn(None)
    greedy = lm.generate(PROMPT, max_new_tokens=12, stop=()).answer_ids.tolist()
    for options in ({"top_k": 1}, {"top_p": 1e-6}, {"temperature": 1e-6}, {"temperature": 1e-300}):
        assert drawn(0, **options) == greedy, options
    assert drawn(0) != greedy


@pytest.mark.parametrize("temperature", [1e-6, 1e-38, 1e-300])
def test_a_temperature_near_zero_does_not_overflow(fresh_lm, temperature):
    lm = chained(fresh_lm, "abc")  # logits of about a thousand
    trace = lm.generate(PROMPT, max_new_tokens=3, do_sample=True, temperature=temperature, seed=0)
    assert trace.answer == "abc"


def test_draws_follow_the_warped_distribution(lm):
    logits = torch.tensor(raw_logprobs(lm, lm.read(PROMPT, "a"))[0])
    for options in ({"top_k": 3}, {"top_k": 0, "top_p": 0.5}):
        probabilities = (logits / 0.7).softmax(dim=-1)
        order = probabilities.argsort(descending=True)
        kept = options["top_k"] or int((probabilities[order].cumsum(0) < 0.5).sum()) + 1
        allowed = order[:kept]
        expected = (probabilities[allowed] / probabilities[allowed].sum()).numpy()
        samples = lm.sample(PROMPT, k=2000, max_new_tokens=1, temperature=0.7, seed=1, **options)
        drawn = np.array([sample.answer_ids[0] for sample in samples])
        assert set(drawn) <= set(allowed.tolist())
        shares = np.array([(drawn == token).mean() for token in allowed.tolist()])
        np.testing.assert_allclose(shares, expected, atol=4 * 0.5 / np.sqrt(2000))


@pytest.mark.parametrize(
    "options",
    [
        {"temperature": 0},
        {"temperature": -1.0},
        {"temperature": float("nan")},
        {"temperature": float("inf")},
        {"top_p": 0},
        {"top_p": 1.1},
        {"top_k": -1},
        {"top_k": 2.5},
        {"seed": -1},
        {"seed": 2**64},
        {"seed": 0.5},
    ],
    ids=str,
)
def test_sampling_options_without_meaning_are_refused(lm, options):
    with pytest.raises(InvalidInput, match="Allowed are a temperature above 0"):
        lm.generate(PROMPT, do_sample=True, **options)
    with pytest.raises(InvalidInput, match="Allowed are a temperature above 0"):
        lm.sample(PROMPT, **options)


def test_samples_share_one_pass_over_the_prompt_and_equal_reading(fresh_lm):
    passes = counted(fresh_lm)
    samples = fresh_lm.sample(PROMPT, k=4, seed=3, max_new_tokens=8, stop="e", last_row=True, temperature=2.0)
    assert passes[0] == (1, len(PROMPT))
    assert set(passes[1:]) == {(4, 1)}
    assert len({tuple(sample.answer_ids) for sample in samples}) == 4
    for sample in samples:
        assert_close(sample, fresh_lm.read(PROMPT, sample.answer_ids))
    again = fresh_lm.sample(PROMPT, k=4, seed=3, max_new_tokens=8, stop="e", temperature=2.0)
    assert [sample.answer for sample in again] == [sample.answer for sample in samples]
    with pytest.raises(InvalidInput, match="k=0"):
        fresh_lm.sample(PROMPT, k=0)


def test_more_samples_leave_the_first_ones_as_they_are(lm):
    def drawn(k, seed=7, **options):
        options = {"max_new_tokens": 10, "stop": (), "temperature": 2.0, "top_k": 0} | options
        return [sample.answer_ids.tolist() for sample in lm.sample(PROMPT, k=k, seed=seed, **options)]

    five = drawn(5)
    assert drawn(3) == five[:3]
    assert drawn(1) == five[:1]
    assert drawn(5, max_new_tokens=4) == [ids[:4] for ids in five]
    alone = lm.generate(PROMPT, do_sample=True, seed=7, max_new_tokens=10, stop=(), temperature=2.0, top_k=0)
    assert alone.answer_ids.tolist() == five[0]
    others = [tuple(ids) for seed in (6, 8) for ids in drawn(5, seed=seed)]
    assert len({*map(tuple, five), *others}) == 15


def test_an_answer_that_ended_takes_no_numbers_from_the_others(lm):
    options = {"max_new_tokens": 12, "temperature": 2.0, "seed": 3, "k": 6}
    whole = lm.sample(PROMPT, stop=(), **options)
    letter = next(text for text in whole[0].answer_tokens if text.isascii() and text)
    cut = lm.sample(PROMPT, stop=letter, **options)
    assert len({len(sample.answer_ids) for sample in cut}) > 1
    for short, long in zip(cut, whole, strict=True):
        assert short.answer_ids.tolist() == long.answer_ids.tolist()[: len(short.answer_ids)]


def test_a_batch_of_samples_has_a_list_or_a_failure_for_each_prompt(lm):
    options = {"k": 3, "max_new_tokens": 5, "stop": ()}
    prompts = [PROMPT, "", PROMPT[:3]]
    first, failure, last = lm.sample_batch(prompts, seeds=[1, 2, 3], **options)
    assert isinstance(failure, Failure)
    assert (failure.index, type(failure.error)) == (1, InvalidInput)
    for samples, prompt, seed in ((first, PROMPT, 1), (last, PROMPT[:3], 3)):
        alone = lm.sample(prompt, seed=seed, **options)
        assert [sample.answer_ids.tolist() for sample in samples] == [one.answer_ids.tolist() for one in alone]
        assert [sample.sampling.seed for sample in samples] == [seed, None, None]
    cancel = threading.Event()
    cancel.set()
    stopped = list(lm.sample_batch([PROMPT] * 3, seeds=[1, 2, 3], batch_size=1, cancel=cancel, **options))
    assert [[len(sample.answer_ids) for sample in samples] for samples in stopped] == [[1, 1, 1]]
    for wrong in ({"seeds": [1, 2]}, {"seeds": [1, 2, 3], "k": 0}, {"seeds": [1, 2, 3], "batch_size": 0}):
        with pytest.raises(InvalidInput):
            lm.sample_batch(prompts, **options | wrong)


def test_undefined_logits_fail_only_the_samples_of_their_prompt(fresh_lm):
    head = fresh_lm.model.get_output_embeddings().weight
    with torch.no_grad():
        head[:] = torch.nan
    [failure] = fresh_lm.sample_batch([PROMPT], seeds=[0], k=2, max_new_tokens=2)
    assert isinstance(failure.error, NonFiniteLogits)


def test_each_answer_of_a_batch_is_drawn_as_if_it_were_alone(lm):
    prompts, drawn = [PROMPT, "b", PROMPT], [Sampling(seed=3, temperature=2.0), None, Sampling(seed=4, top_k=0)]
    batch = list(lm.generate_batch(prompts, sampling=drawn, max_new_tokens=12, stop=()))
    for prompt, own, trace in zip(prompts, drawn, batch, strict=True):
        how = {} if own is None else {"do_sample": True, **vars(own)}
        alone = lm.generate(prompt, max_new_tokens=12, stop=(), **how)
        assert (trace.answer_ids.tolist(), trace.sampling) == (alone.answer_ids.tolist(), own)


def test_a_batch_needs_a_way_to_draw_for_each_prompt(lm):
    with pytest.raises(InvalidInput, match="Got 1 ways to draw for 2 prompts"):
        lm.generate_batch([PROMPT, PROMPT], sampling=[Sampling(seed=1)])
