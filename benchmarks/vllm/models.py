"""Whether attention out of vLLM is that of this project's own capture for other attention than smollm2's.

gemma3-270m reads prompts longer than its window. Small random models have a window with a soft cap, a window with
normalised queries, or biases. smollm2 runs compiled, as vLLM runs a model where it is not told otherwise. gpt_oss is
not among them, since vLLM writes its messages in tokens of the real vocabulary; its sinks are tested without a server.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
from transformers import CONFIG_MAPPING, AutoModelForCausalLM

from analysis.datasets.names import PLAIN, load
from analysis.evidence.record import Cell, Record
from benchmarks.support.recording import measured, tell
from benchmarks.vllm.agreement import COMPARED, bounds_of, compared, model_folder, of_all
from benchmarks.vllm.server import MODEL, answered, serving
from rauq import LanguageModel, from_vllm, load_model
from rauq.model.loading import wrap

ANSWERS, TOKENS, CLIENTS, READ = 16, 24, 8, 80  # READ: questions that stand in the prompt before the last one
REAL = "gemma3-270m"
PLAIN_TEXT = "{{ bos_token }}{{ messages[0].content }}"  # the template of a base model, which has none of its own
COLUMNS = ("model", "attention", "prompt tokens", "answers", "tokens", *COMPARED)
_SIZES: Mapping[str, Any] = MappingProxyType(
    {
        "hidden_size": 256,
        "intermediate_size": 512,
        "num_hidden_layers": 6,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 64,
        "max_position_embeddings": 4096,
        "tie_word_embeddings": False,
    }
)
_GEMMA: Mapping[str, Any] = MappingProxyType(
    {
        "sliding_window": 64,
        "layer_types": ["sliding_attention", "full_attention"] * 3,
        "query_pre_attn_scalar": 64,
        "tie_word_embeddings": True,
    }
)


class Random(NamedTuple):
    """A small random model: its type in transformers, what is special about its attention, and the settings of that."""

    model_type: str
    attention: str
    settings: Mapping[str, Any]


RANDOM = (
    Random("gemma2", "window of 64, soft cap", {**_GEMMA, "attn_logit_softcapping": 2.0}),
    Random("gemma3_text", "window of 64, normalised queries", _GEMMA),
    Random("qwen2", "biases", {}),
)


def measure() -> Record:
    """Every model in turn."""
    smollm2 = load_model(MODEL, engine="transformers", device="cpu")
    asked = [one.prompt for one in load(PLAIN, kind=smollm2.kind).examples]
    prompts = ["\n".join(asked[place : place + READ + 1]) for place in range(0, ANSWERS * 5, 5)]
    gemma = load_model(REAL, engine="transformers", device="cpu")
    gemma.tokens.tokenizer.chat_template = PLAIN_TEXT
    return record_of(
        [
            _row(smollm2, "compiled", prompts, "--no-enforce-eager"),
            _row(gemma, "window of 512", prompts),
            *(_row(random_model(one, smollm2), one.attention, prompts) for one in RANDOM),
        ]
    )


def random_model(one: Random, of: LanguageModel) -> LanguageModel:
    """Seeded weights that make attention far from uniform, with the tokenizer of another model."""
    tokenizer = of.tokens.tokenizer
    ids = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id, "pad_token_id": 0}
    config = CONFIG_MAPPING[one.model_type](**{**_SIZES, **ids, "vocab_size": len(tokenizer), **one.settings})
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if weights.ndim > 1 or name.endswith(".bias"):
                weights.normal_(std=0.1)
    return wrap(model, tokenizer, name=f"random {one.model_type}", kind="instruct")


def _row(lm: LanguageModel, attention: str, prompts: Sequence[str], *options: str) -> tuple[Cell, ...]:
    tell(f"{lm.name}: {attention}")
    with model_folder(lm) as folder, serving(folder, *options) as client:
        said = answered(client, prompts, clients=CLIENTS, tokens=TOKENS, whole=True)
    traces = [from_vllm(one) for one in said]
    lengths = [len(one.prompt_ids) for one in traces]
    tokens = sum(len(one.answer_ids) for one in traces)
    read = f"{min(lengths)} to {max(lengths)}"
    return (lm.name, attention, read, len(traces), tokens, *compared(lm, traces))


def record_of(rows: Sequence[tuple[Cell, ...]]) -> Record:
    """The table, and its bounds."""
    found = of_all(rows)
    return measured(
        "vllm_models",
        title="Attention out of vLLM: other models",
        about=f"Each model in float32 answers {ANSWERS} questions in vLLM with the plugin rauq-vllm, {TOKENS} tokens "
        f"each, {CLIENTS} at a time, after {READ} other questions; transformers reads the same tokens. Random models "
        "have 6 layers of 4 heads. Differences are the largest of all tokens, layers and heads.",
        columns=COLUMNS,
        rows=rows,
        bounds=bounds_of(found),
        notes=("Version of vLLM: 0.32.0, on a CPU.",),
        finding=f"With windows, soft caps and biases, and compiled, attention out of vLLM differs from this "
        f"project's own capture by at most {found.attention:.1g}; {found.same:,} of {found.heads:,} selected heads are "
        "equal.",
        packages=("torch", "transformers", "numpy", "openai"),
    )
