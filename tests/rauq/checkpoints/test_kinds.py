"""Base or instruct: 30 well-known models, each as it would be guessed with a chat template and without."""

from types import SimpleNamespace

import pytest

from rauq.checkpoints.kinds import find_preset, kind_of

# Hub id, kind with a chat template, kind without one. Names alone were read off the hub; no file of these is here.
WELL_KNOWN = [
    ("Qwen/Qwen3-8B", "instruct", "base"),
    ("Qwen/Qwen3-8B-Base", "base", "base"),
    ("Qwen/Qwen3-4B-Thinking-2507", "instruct", "base"),
    ("Qwen/QwQ-32B", "instruct", "base"),
    ("Qwen/Qwen2-7B", "base", "base"),
    ("Qwen/Qwen2-7B-Instruct", "instruct", "base"),
    ("Qwen/Qwen2-VL-7B-Instruct", "instruct", "base"),
    ("Qwen/Qwen2.5-7B", "base", "base"),  # the paper's list
    ("Qwen/Qwen2.5-0.5B", "base", "base"),
    ("Qwen/Qwen2.5-Coder-0.5B", "base", "base"),
    ("Qwen/Qwen2.5-Coder-0.5B-Instruct", "instruct", "base"),
    ("Qwen/Qwen2.5-Math-1.5B", "base", "base"),
    ("Qwen/Qwen2.5-14B-Instruct-1M", "instruct", "base"),
    ("microsoft/phi-4", "instruct", "base"),
    ("HuggingFaceTB/SmolLM3-3B", "instruct", "base"),
    ("HuggingFaceTB/SmolLM3-3B-Base", "base", "base"),
    ("HuggingFaceTB/SmolLM2-135M-Instruct", "instruct", "base"),
    ("HuggingFaceTB/SmolLM2-360M", "base", "base"),  # the paper's list
    ("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", "instruct", "base"),
    ("deepseek-ai/DeepSeek-R1-Distill-Llama-8B", "instruct", "base"),
    ("HuggingFaceH4/zephyr-7b-beta", "instruct", "base"),
    ("CohereLabs/aya-expanse-8b", "instruct", "base"),
    ("openai/gpt-oss-120b", "instruct", "base"),
    ("openai/gpt-oss-20b", "instruct", "instruct"),  # the paper's list
    ("google/gemma-3-1b-pt", "base", "base"),
    ("google/gemma-3-1b-it", "instruct", "base"),
    ("meta-llama/Llama-3.2-3B-Instruct", "instruct", "base"),
    ("meta-llama/Llama-3.2-3B", "instruct", "base"),  # it ships no template: the second column is the real one
    ("mistralai/Mistral-7B-v0.1", "instruct", "base"),  # the same
    ("ibm-granite/granite-3.3-8b-base", "base", "base"),
    ("tiiuae/Falcon3-7B-Base", "base", "base"),
]


def guess(names, *, template):
    return kind_of(names, SimpleNamespace(chat_template="{{ messages }}" if template else None))


@pytest.mark.parametrize(("name", "with_template", "without"), WELL_KNOWN, ids=[row[0] for row in WELL_KNOWN])
def test_well_known_models(name, with_template, without):
    assert len(WELL_KNOWN) >= 30
    assert guess(name, template=True).kind == with_template
    assert guess(name, template=False).kind == without
    if find_preset(name) is None:  # a folder or a file is no entry of the paper's list
        for place in (f"models/{name.rpartition('/')[2]}", f"base/{name.rpartition('/')[2]}.Q4_1.gguf"):
            assert guess(place, template=True).kind == with_template
            assert guess(place, template=False).kind == without


@pytest.mark.parametrize(
    ("names", "template", "kind", "why"),
    [
        ("my-chatty-base", True, "base", "its name says base"),
        ("My_Pretrained_model", True, "base", "its name says pretrained"),
        ("basement-adept", True, "instruct", "it has a chat template"),
        ("tiny-Instruct", False, "base", "it has no chat template"),
        ("meta-llama/llama-3.1-8b", True, "base", "the paper's list of models"),
        ("dolphin-qwen2-7b", True, "instruct", "it has a chat template"),
        ("Qwen2.5-1.5B", True, "base", "a Qwen2 or Qwen2.5 model whose name does not say Instruct"),
        (
            ("sha256-0f3c", "Qwen2.5 Coder 0.5B"),
            True,
            "base",
            "a Qwen2 or Qwen2.5 model whose name does not say Instruct",
        ),
        (("sha256-0f3c", "Qwen2.5 Coder 0.5B", "Instruct"), True, "instruct", "it has a chat template"),
        (("model.gguf", "Gemma 3 270m Pt"), True, "base", "its name says pt"),
    ],
)
def test_the_reason_for_the_kind_is_given(names, template, kind, why):
    assert guess(names, template=template) == (kind, why)
