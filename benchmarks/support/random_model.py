"""Models of Llama's kind with random weights, which never end by themselves, and prompts for them.

The one of most measurements has 8 layers of 8 heads on 4 key heads, hidden size 512 and 32,000 tokens: 59 million
parameters.
"""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoModelForCausalLM, LlamaConfig, PreTrainedModel, PreTrainedTokenizerFast

from rauq import LanguageModel, score
from rauq.model.loading import wrap

NEW_TOKENS = 64


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What makes a model of Llama's kind as large as it is."""

    hidden: int = 512
    inner: int = 1408
    layers: int = 8
    heads: int = 8
    key_heads: int = 4
    vocabulary: int = 32_000


SMALL = Shape()


def build(shape: Shape = SMALL, *, device: str = "cpu", dtype: torch.dtype = torch.float32) -> PreTrainedModel:
    """Seeded random weights, made on the device."""
    config = LlamaConfig(
        hidden_size=shape.hidden,
        intermediate_size=shape.inner,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.key_heads,
        vocab_size=shape.vocabulary,
        max_position_embeddings=16_384,
        eos_token_id=None,
    )
    torch.manual_seed(0)
    with torch.device(device):
        model: PreTrainedModel = AutoModelForCausalLM.from_config(config, attn_implementation="sdpa", dtype=dtype)
    model.train(mode=False)
    return model


def tokenizer_of(model: PreTrainedModel, *, pad_token: str | None = None) -> PreTrainedTokenizerFast:
    """As many words as the model has token ids, w0 first; text is split at spaces."""
    words = Tokenizer(models.WordLevel({f"w{token}": token for token in range(model.config.vocab_size)}, "w0"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=words, pad_token=pad_token)


def wrapped(model: PreTrainedModel) -> LanguageModel:
    """The model with its tokenizer."""
    return wrap(model, tokenizer_of(model), name="random-llama")


def prompt_of(length: int, *, vocabulary: int = SMALL.vocabulary) -> list[int]:
    """A seeded random prompt."""
    ids: list[int] = np.random.default_rng(length).integers(vocabulary, size=length).tolist()
    return ids


def text_of(ids: list[int]) -> str:
    """The text of such a prompt."""
    return " ".join(f"w{token}" for token in ids)


def plain(lm: LanguageModel, prompt: list[int], *, new_tokens: int = NEW_TOKENS) -> None:
    """Generate as `transformers` does it alone."""
    ids = torch.tensor([prompt], device=lm.device)
    cast("Any", lm.model).generate(
        ids,
        attention_mask=torch.ones_like(ids),
        max_new_tokens=new_tokens,
        do_sample=False,
        pad_token_id=0,
        return_dict_in_generate=True,
    )


def ours(lm: LanguageModel, prompt: list[int], *, new_tokens: int = NEW_TOKENS) -> None:
    """Generate with capture, and score the answer."""
    score(lm.generate(prompt, max_new_tokens=new_tokens, stop=()))
