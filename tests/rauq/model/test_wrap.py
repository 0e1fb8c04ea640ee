"""Models in memory: with adapters, in another dtype, and what is no causal language model."""

import numpy as np
import pytest
import torch
from peft import AdaptionPromptConfig, LoraConfig, PromptTuningConfig, get_peft_model
from transformers import LlamaModel, T5Config, T5ForConditionalGeneration

from rauq.errors import InvalidInput, UnsupportedModel
from rauq.model.loading import load_model, wrap
from tests.architectures import byte_tokenizer, named, save_tiny, tiny_model
from tests.tiny import PROMPT, raw_logprobs

# PEFT asks a model for what transformers calls old
pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")

SMALL = {"d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2}


def with_lora():
    """A tiny model with an adapter whose weights are random, not 0 as at the start of a training."""
    torch.manual_seed(0)
    config = LoraConfig(r=2, lora_dropout=0.5, init_lora_weights=False, target_modules=["q_proj", "v_proj"])
    return get_peft_model(tiny_model(named("llama")), config)


def test_the_adapter_of_a_peft_model_counts():
    given = with_lora().train()
    lm, bare = wrap(given, byte_tokenizer()), wrap(tiny_model(named("llama")), byte_tokenizer())
    assert lm.check(PROMPT).exact
    trace = lm.generate(PROMPT, max_new_tokens=6, stop=())
    ids = torch.tensor([[*trace.prompt_ids, *trace.answer_ids]])
    with torch.inference_mode():  # by PEFT's own forward pass
        whole = given(input_ids=ids).logits[0].double().log_softmax(dim=-1)
    rows = range(len(trace.prompt_ids) - 1, ids.shape[1] - 1)
    np.testing.assert_allclose(trace.logprobs, whole[rows, trace.answer_ids.tolist()], atol=1e-5)
    assert np.abs(bare.read(PROMPT, trace.answer).logprobs - lm.read(PROMPT, trace.answer).logprobs).max() > 1e-3


def test_a_model_that_was_being_trained_has_no_dropout():
    model = tiny_model(named("llama"), attention_dropout=0.5).train()
    lm = wrap(model, byte_tokenizer())
    trace = lm.read(PROMPT, "abc")
    np.testing.assert_array_equal(trace.logprobs, lm.read(PROMPT, "abc").logprobs)
    np.testing.assert_allclose(trace.logprobs, raw_logprobs(lm, trace)[np.arange(3), trace.answer_ids], atol=1e-5)


def test_adapters_that_are_a_prompt_are_refused():
    at_the_beginning = PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=2)
    in_layers = AdaptionPromptConfig(task_type="CAUSAL_LM", adapter_len=2, adapter_layers=1)
    for config in (at_the_beginning, in_layers):
        with pytest.raises(UnsupportedModel, match=r"virtual tokens before the prompt, which .* such as LoRA"):
            wrap(get_peft_model(tiny_model(named("llama")), config), byte_tokenizer())


def test_a_wrapped_model_has_a_name_without_being_given_one(tmp_path):
    assert wrap(tiny_model(named("llama")), byte_tokenizer()).name == "LlamaForCausalLM"
    save_tiny(tmp_path)
    assert wrap(load_model(tmp_path).model, byte_tokenizer()).name == str(tmp_path)
    assert wrap(tiny_model(named("llama")), byte_tokenizer(), name="mine").name == "mine"


def test_a_dtype_is_named_or_given_as_torch_has_it(tmp_path):
    save_tiny(tmp_path)
    by_name, given = load_model(tmp_path, dtype="bfloat16"), load_model(tmp_path, dtype=torch.bfloat16)
    assert by_name.dtype == given.dtype == "bfloat16"
    np.testing.assert_array_equal(by_name.read(PROMPT, "ab").logprobs, given.read(PROMPT, "ab").logprobs)
    with pytest.raises(InvalidInput, match="Unknown dtype 'int8'; choose one of auto, float32"):
        load_model(tmp_path, dtype=torch.int8)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: "atlas", "Got str; give a causal language model of transformers"),
        (lambda: torch.nn.Linear(2, 2), "Got Linear; give a causal language model"),
        (lambda: LlamaModel(tiny_model(named("llama")).config), "LlamaModel is not a causal language model"),
        (lambda: T5ForConditionalGeneration(T5Config(vocab_size=260, **SMALL)), "is not a causal language model"),
    ],
    ids=["a name", "a module", "no head", "an encoder-decoder"],
)
def test_what_is_no_causal_language_model_is_refused(make, says):
    with pytest.raises(UnsupportedModel, match=says):
        wrap(make(), byte_tokenizer(), name="tiny")


def test_what_is_no_tokenizer_and_no_kind_is_refused():
    with pytest.raises(InvalidInput, match="Got NoneType as tokenizer; give the model's own"):
        wrap(tiny_model(named("llama")), None)
    with pytest.raises(InvalidInput, match="Unknown kind 'chat'"):
        wrap(tiny_model(named("llama")), byte_tokenizer(), kind="chat")
