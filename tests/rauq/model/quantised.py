"""Quantised models: the capture stays exact, and nothing but the sequence itself decides its numbers."""

import importlib.util
import warnings

import numpy as np
import pytest
import torch
from torch import nn
from torch.ao.quantization import quantize_dynamic

from rauq.capture.quantised import quantises_activations
from rauq.checkpoints import quantization
from rauq.checkpoints.quantization import SCHEMES
from rauq.errors import InvalidInput, MissingPackage, UnsupportedModel
from rauq.labels import about_weights
from rauq.model.loading import load_model, wrap
from tests.architectures import byte_tokenizer, named, save_tiny, seeded_prompts, tiny_model
from tests.tiny import PROMPT, assert_close

NAMES = {
    "int8": "torchao Int8WeightOnly",
    "int4": "bitsandbytes 4-bit",
    "dynamic-int8": "torchao Int8DynamicActivationInt8Weight",
    "llm-int8": "bitsandbytes 8-bit",
}
OF_WEIGHTS = ["int8", "int4"]
OF_ACTIVATIONS = ["dynamic-int8", "llm-int8"]
PROMPTS = seeded_prompts(5, 40, 9)

# torch says of its own functions, which these packages call, that they are old
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:MatMul8bitLt:UserWarning"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tiny(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def loaded(folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {scheme: load_model(folder, quantization=scheme) for scheme in SCHEMES}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_quantised_model_is_captured_exactly_and_says_how_it_is_quantised(loaded, folder, scheme):
    lm, plain = loaded[scheme], load_model(folder)
    assert lm.check(PROMPT).exact
    trace = lm.generate(PROMPT, max_new_tokens=4, stop=())
    assert trace.quantisation == lm.quantisation == NAMES[scheme]
    assert NAMES[scheme] in repr(lm)
    assert about_weights(trace.quantisation, trace.dtype, trace.adapter) == (
        f"The weights are quantised ({NAMES[scheme]}); the computation is in float32."
    )
    assert np.abs(lm.read(PROMPT, "abc").logprobs - plain.read(PROMPT, "abc").logprobs).max() > 1e-5


@pytest.mark.parametrize("scheme", OF_WEIGHTS)
def test_weights_alone_leave_batches_and_reading_as_they_are(loaded, scheme):
    lm = loaded[scheme]
    assert not lm.runs_alone
    single = [lm.generate(prompt, max_new_tokens=6, stop=()) for prompt in PROMPTS]
    for one, other in zip(single, lm.generate_batch(PROMPTS, max_new_tokens=6, stop=()), strict=True):
        assert_close(one, other, rows=6)
        assert_close(one, lm.read(one.prompt_ids.tolist(), one.answer_ids.tolist()), rows=6)


def test_int4_is_computed_in_its_dtype_on_every_cpu(loaded, monkeypatch):
    layers = [module for module in loaded["int4"].model.modules() if type(module).__name__ == "Linear4bit"]
    assert {layer.support_avx512bf16_for_cpu for layer in layers} == {False}
    monkeypatch.setattr(layers[0].weight.quant_state, "packing_format_for_cpu", True, raising=False)
    assert quantises_activations(loaded["int4"].model)  # packed before: it rounds them


def dynamic():
    """Dynamic int8 of torch: the scale of its activations is common to all tokens of a pass."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch names a successor in another package
        model = quantize_dynamic(tiny_model(named("llama")), {nn.Linear}, dtype=torch.qint8)
    return wrap(model, byte_tokenizer(), name="dynamic")


@pytest.mark.parametrize("scheme", [*OF_ACTIVATIONS, "torch"])
def test_with_quantised_activations_each_sequence_runs_alone(loaded, scheme):
    lm = dynamic() if scheme == "torch" else loaded[scheme]
    assert lm.runs_alone
    shared = [[*PROMPTS[1], *prompt] for prompt in PROMPTS]  # what they share would be fed once
    single = [lm.generate(prompt, max_new_tokens=4, stop=()) for prompt in shared]
    for one, other in zip(single, lm.generate_batch(shared, max_new_tokens=4, stop=()), strict=True):
        np.testing.assert_array_equal(one.logprobs, other.logprobs)
    pairs = [(one.prompt_ids.tolist(), one.answer_ids.tolist()) for one in single]
    for pair, read in zip(pairs, lm.read_batch(pairs), strict=True):
        np.testing.assert_array_equal(lm.read(*pair).logprobs, read.logprobs)


def test_reading_differs_from_generating_where_tokens_share_a_scale():
    lm = dynamic()
    trace = lm.generate(PROMPTS[1], max_new_tokens=6, stop=())
    read = lm.read(PROMPTS[1], trace.answer_ids.tolist())
    assert np.abs(trace.logprobs - read.logprobs).max() > 1e-4


def test_samples_of_a_model_that_runs_alone_do_not_depend_on_how_many_are_drawn():
    lm = dynamic()
    five = lm.sample(PROMPT, k=5, seed=3, max_new_tokens=6, stop=())
    two = lm.sample(PROMPT, k=2, seed=3, max_new_tokens=6, stop=())
    (batched,) = lm.sample_batch([PROMPT], seeds=[3], k=5, max_new_tokens=6, stop=())
    for one, other in [*zip(two, five, strict=False), *zip(batched, five, strict=True)]:
        np.testing.assert_array_equal(one.answer_ids, other.answer_ids)
        np.testing.assert_array_equal(one.logprobs, other.logprobs)
    assert len({tuple(one.answer_ids.tolist()) for one in five}) > 1
    assert [one.sampling.seed for one in five] == [3, None, None, None, None]
    np.testing.assert_array_equal(
        lm.generate(PROMPT, do_sample=True, seed=3, max_new_tokens=6, stop=()).logprobs, five[0].logprobs
    )


def test_an_unknown_scheme_is_refused_before_anything_is_read():
    with pytest.raises(InvalidInput, match=r"Unknown quantization 'int3'; choose one of int8, int4, dynamic-int8"):
        load_model("no such model", quantization="int3")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_without_its_package_a_scheme_says_what_to_install(scheme, monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(quantization, "find_spec", lambda name: None if name == SCHEMES[scheme].package else real(name))
    with pytest.raises(MissingPackage, match=rf"{SCHEMES[scheme].package}: pip install -r requirements-quantization"):
        load_model("no such model", quantization=scheme)


def test_a_quantised_checkpoint_is_not_quantised_again(loaded, tmp_path):
    loaded["int4"].model.save_pretrained(tmp_path)
    byte_tokenizer().save_pretrained(tmp_path)
    assert load_model(tmp_path).quantisation == "bitsandbytes 4-bit"
    with pytest.raises(UnsupportedModel, match="quantised already"):
        load_model(tmp_path, quantization="int4")


@pytest.mark.parametrize(("method", "alone"), [("gptq", False), ("mxfp4", False), ("fp8", True), ("new", True)])
def test_a_method_that_is_not_known_to_round_weights_alone_runs_alone(method, alone):
    model = tiny_model(named("llama"))
    model.config.quantization_config = {"quant_method": method}
    lm = wrap(model, byte_tokenizer(), name="tiny")
    assert (lm.runs_alone, lm.quantisation) == (alone, method)
