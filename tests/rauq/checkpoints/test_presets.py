"""The paper's nine models: what they need, counted on their real shapes, and capture on small ones of their kind."""

import pytest
import torch
from transformers import CONFIG_MAPPING, AutoModelForCausalLM

from rauq.checkpoints.kinds import PRESETS, find_preset, kind_of
from tests.architectures import Architecture, byte_tokenizer, tiny_language_model
from tests.paper_models import SHAPES


@pytest.fixture(params=PRESETS, ids=lambda preset: preset.name)
def preset(request):
    return request.param


def test_the_parameters_are_those_of_the_real_shape(preset):
    model_type, shape, _ = SHAPES[preset.name]
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(CONFIG_MAPPING[model_type](**shape))
    assert preset.parameters == sum(weights.numel() for weights in model.parameters())


def test_the_architecture_is_captured_exactly(preset):
    model_type, _, settings = SHAPES[preset.name]
    lm = tiny_language_model(Architecture("preset", model_type, settings, std=0.1), num_hidden_layers=4)
    assert lm.layers == (0, 1, 2, 3)
    check = lm.check("A prompt that is longer than the window and then some.")
    assert check.exact
    assert check.layers == lm.layers


def test_the_kind_is_the_papers_whatever_name_or_template_say(preset):
    tokenizer = byte_tokenizer()
    tokenizer.chat_template = "{{ messages[0].content }}"  # Qwen-2.5 ships one with its base model
    expected = "instruct" if preset.name in {"Llama-3.1 8B-Instruct", "GPT-OSS 20B"} else "base"
    for name in (preset.hub_id, preset.hub_id.upper()):
        assert kind_of(name, tokenizer).kind == preset.kind == expected


def test_presets_are_nine_and_found_by_their_hub_id():
    assert len(PRESETS) == len({preset.hub_id for preset in PRESETS}) == len(SHAPES) == 9
    assert [find_preset(preset.hub_id) for preset in PRESETS] == list(PRESETS)
    assert find_preset("nobody/nothing") is None
