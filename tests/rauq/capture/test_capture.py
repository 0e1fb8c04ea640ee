"""The captured band is the model's own attention: for all architectures, and only if no part is missing."""

from dataclasses import fields

import numpy as np
import pytest
import torch

from rauq.capture import session
from rauq.capture.recompute import attention_matrices
from rauq.capture.session import StepwiseSession, TappedSession
from rauq.errors import UnsupportedModel
from rauq.model.language_model import LanguageModel
from rauq.model.loading import wrap
from rauq.trace.trace import Trace
from tests.architectures import (
    ARCHITECTURES,
    VOCABULARY,
    Architecture,
    byte_tokenizer,
    named,
    seeded_prompts,
    tiny_language_model,
    tiny_model,
)
from tests.capture_mutants import MUTANTS
from tests.exactness import (
    LENGTHS,
    NUM_NEW,
    Differences,
    answered,
    answered_alone,
    bound,
    difference,
    differences,
    entropies,
)

EXACT = 1e-5
ENTROPY = 5  # an error of weights times their logarithms, in nats


@pytest.fixture(scope="module", params=ARCHITECTURES, ids=str)
def architecture(request) -> Architecture:
    return request.param


@pytest.fixture(scope="module")
def lm(architecture) -> LanguageModel:
    return tiny_language_model(architecture)


@pytest.fixture(scope="module")
def single(lm) -> list[Trace]:
    return answered_alone(lm)


@pytest.fixture(scope="module")
def padded(lm) -> list[Trace]:
    return answered(lm, seeded_prompts(*LENGTHS))


@pytest.fixture(scope="module")
def found(lm, single, padded) -> Differences:
    return differences(lm, single, padded)


def test_reports_the_layers_that_have_attention(lm, architecture):
    assert lm.layers == architecture.layers
    assert lm.engine.session_type is (StepwiseSession if architecture.stepwise else TappedSession)
    assert lm.num_layers == lm.model.config.num_hidden_layers


@pytest.mark.parametrize("way", [field.name for field in fields(Differences)])
def test_the_band_is_eager_attention(found, way, architecture):
    assert getattr(found, way) <= bound(architecture)


def test_a_batch_gives_what_single_calls_give(single, padded, architecture):
    for alone, batched in zip(single, padded, strict=True):
        np.testing.assert_array_equal(alone.answer_ids, batched.answer_ids)
        np.testing.assert_allclose(alone.attention, batched.attention, atol=bound(architecture))
        np.testing.assert_allclose(alone.logprobs, batched.logprobs, atol=bound(architecture))
        np.testing.assert_allclose(alone.entropies, batched.entropies, atol=bound(architecture))


def test_entropies_of_the_rows_are_those_of_eager_attention(lm, architecture):
    options = {"extras": ("attention_entropy",)}
    traces = answered(lm, seeded_prompts(*LENGTHS), **options)
    read = list(lm.read_batch([(trace.prompt_ids, trace.answer_ids) for trace in traces], **options))
    alone = lm.read(traces[0].prompt_ids, traces[0].answer_ids, **options)
    for generated, *others in ((traces[0], read[0], alone), *zip(traces[1:], read[1:], strict=True)):
        whole = np.stack(attention_matrices(lm.model, [*generated.prompt_ids, *generated.answer_ids], lm.layers))
        expected = entropies(whole[:, :, len(generated.prompt_ids) - 1 : -1])
        keys = len(generated.prompt_ids) + np.arange(len(generated.answer_ids))
        for trace in (generated, *others):
            found = trace.extras["attention_entropy"]
            np.testing.assert_allclose(found, expected, atol=ENTROPY * bound(architecture))
            assert (found > -1e-6).all()
            assert (found < np.log(keys)[:, None] + 1e-6).all()


def test_the_answer_so_far_has_the_weights_of_the_whole_answer(lm, single, architecture):
    parts, alone, options = [], single[0], {"max_new_tokens": NUM_NEW, "stop": (), "last_row": True}
    # Every prompt is longer than the windows; this one's answer passes the ends of two chunks, the others' of one.
    whole = lm.generate(alone.prompt_ids, **options, on_progress=lambda so_far: parts.append(so_far()))
    assert len(parts) == len(alone.answer_ids) - 1
    for part in (*parts, whole):
        rows = len(part.answer_ids) + 1
        np.testing.assert_array_equal(part.answer_ids, alone.answer_ids[: rows - 1])
        np.testing.assert_allclose(part.attention, alone.attention[:, :, :rows], atol=bound(architecture))
        np.testing.assert_allclose(part.logprobs, alone.logprobs[: rows - 1], atol=bound(architecture))


def test_tokens_are_those_of_plain_generation(lm, single):
    for ids, trace in zip(seeded_prompts(*LENGTHS), single, strict=True):
        options = {"do_sample": False, "max_new_tokens": NUM_NEW, "pad_token_id": 0}
        plain = lm.model.generate(torch.tensor([ids]), attention_mask=torch.ones(1, len(ids)), **options)
        assert trace.answer_ids.tolist() == plain[0, len(ids) :].tolist()


def test_samples_of_a_shared_prompt_have_the_band_of_reading_them(lm, architecture):
    [prompt] = seeded_prompts(30)
    samples = lm.sample(prompt, k=3, max_new_tokens=6, stop=(), last_row=True)
    assert len({tuple(trace.answer_ids) for trace in samples}) > 1
    for trace in samples:
        read = lm.read(prompt, trace.answer_ids)
        np.testing.assert_allclose(trace.attention, read.attention, atol=bound(architecture))
        np.testing.assert_allclose(trace.logprobs, read.logprobs, atol=1e-4)


@pytest.mark.parametrize("window", [2, 5, 29, 30, 31, 40, 49, 50])
@pytest.mark.parametrize("name", ["mistral-window", "gemma2-softcap-window", "gpt-oss-sinks-window"])
def test_windows_never_reached_crossed_and_shorter_than_the_prompt(name, window):
    lm = tiny_language_model(named(name), sliding_window=window)
    assert difference(lm, answered(lm, seeded_prompts(30))) <= EXACT
    assert difference(lm, answered(lm, seeded_prompts(30, 17))) <= EXACT


@pytest.mark.parametrize("name", ["llama", "mistral-window", "gemma2-softcap-window", "llama4-chunked"])
@pytest.mark.parametrize("waiting", [0, 4000])
def test_flushing_in_blocks_changes_nothing(name, waiting, monkeypatch):
    lm = tiny_language_model(named(name))
    whole = answered(lm, seeded_prompts(*LENGTHS))
    monkeypatch.setattr(session, "_FLUSH_BYTES", waiting)
    flushed = answered(lm, seeded_prompts(*LENGTHS))
    for trace, expected in zip(flushed, whole, strict=True):
        np.testing.assert_allclose(trace.attention, expected.attention, atol=1e-6)
    assert difference(lm, flushed) <= EXACT


def test_reading_in_several_passes_changes_nothing(monkeypatch):
    lm = tiny_language_model(named("mistral-window"))
    [trace] = answered(lm, seeded_prompts(30))
    whole = lm.read(trace.prompt_ids, trace.answer_ids)
    monkeypatch.setattr("rauq.model.generation._READ_LOGITS_BYTES", 7 * 4 * VOCABULARY)
    parts = lm.read(trace.prompt_ids, trace.answer_ids)
    np.testing.assert_allclose(parts.attention, whole.attention, atol=1e-6)
    np.testing.assert_allclose(parts.logprobs, whole.logprobs, atol=1e-5)


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_capture_that_misses_a_part_is_detected(mutant, monkeypatch):
    name, lengths, break_it = MUTANTS[mutant]
    lm = tiny_language_model(named(name))
    break_it(monkeypatch)
    with pytest.raises(AssertionError):
        assert difference(lm, answered(lm, seeded_prompts(*lengths))) <= EXACT


def test_a_learned_position_bias_is_refused(monkeypatch):
    lm = tiny_language_model(named("llama"))
    real = session.band
    biased = {"position_bias": torch.zeros(1)}

    def with_bias(pending, cache, **others):
        return real(pending._replace(options=biased), cache, **others)

    monkeypatch.setattr(session, "band", with_bias)
    with pytest.raises(UnsupportedModel, match="position bias"):
        lm.generate([5, 6], max_new_tokens=2)


@pytest.mark.parametrize("model_type", ["mamba", "minimax", "diffllama"])
def test_a_model_that_cannot_be_run_or_captured_is_refused(model_type):
    settings = {"block_size": 4} if model_type == "minimax" else {}
    with pytest.raises(UnsupportedModel):
        tiny_language_model(Architecture(model_type, model_type, settings))


def test_a_model_without_a_cache_is_refused_in_low_precision_too():
    rows = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 256}
    model = tiny_model(Architecture("openai-gpt", "openai-gpt", rows)).to(torch.bfloat16)
    with pytest.raises(UnsupportedModel):
        wrap(model, byte_tokenizer(), name="no cache")
