"""LIG attributions are complete, and equal to a second implementation: no batches, the whole graph, plain loops."""

import math

import numpy as np
import pytest
import torch
from scipy.special import roots_legendre

from rauq.capture.attribution import answer_of, attribute_layer, completeness, read
from rauq.errors import UnsupportedModel
from tests.architectures import named, tiny_language_model, tiny_model

PROMPT, ANSWER = [70, 80, 90, 100, 71], [81, 91, 101, 72, 82]
# Where scaling counts: the projection's output, or that of the norm between it and the residual sum.
PLACES = {
    "llama": "model.layers.1.self_attn.o_proj",
    "qwen3": "model.layers.1.self_attn.o_proj",
    "gemma2-softcap-window": "model.layers.1.post_attention_layernorm",
    "gemma3-window": "model.layers.1.post_attention_layernorm",
    "olmo2": "model.layers.1.post_attention_layernorm",
    "granite": "model.layers.1.self_attn.o_proj",
    "gpt2": "transformer.h.1.attn.c_proj",
    "gpt-neox": "gpt_neox.layers.1.attention.dense",
    "bamba-hybrid": "model.layers.1.self_attn.o_proj",
    "jamba-hybrid": "model.layers.1.self_attn.o_proj",
    "gemma4-shared-keys": "model.layers.0.post_attention_layernorm",
}

LAYERS = {"gemma4-shared-keys": 0}  # that of others is 1
STEPS = {"gemma4-shared-keys": 256}  # of others 16: its first layer adds most of what a norm then scales
ONE_EXPERT = {"jamba-hybrid": {"num_experts": 1}}  # experts are switched along the path, which no integral follows


def model_of(name):
    return tiny_model(named(name), **ONE_EXPERT.get(name, {}))


def answer():
    return answer_of(np.array(PROMPT), np.array(ANSWER), torch.device("cpu"))


def attributed(model, layer=1, *, steps=16, side="output", positive=False, num_heads=4):
    own = answer()
    site = read(model, own, [layer], side=side).sites[layer]
    how = {"num_heads": num_heads, "steps": steps, "positive": positive}
    return attribute_layer(model, own, site, **how, on_pass=lambda: None)


def plain_attributions(model, place, *, steps, side="output"):
    """A (N - 1, T, d) by one whole forward and backward pass a point and a token."""
    module, fed = model.get_submodule(place), torch.tensor([PROMPT + ANSWER[:-1]])
    points, shares = roots_legendre(steps)
    total = np.zeros((len(ANSWER) - 1, fed.shape[1], 0))
    for token in range(1, len(ANSWER)):
        sums = 0.0
        for point, share in zip((points + 1) / 2, shares / 2, strict=True):
            kept = {}

            def scaled(states, point=point, kept=kept):
                kept["states"] = states.detach()
                kept["leaf"] = (states.detach() * float(point)).requires_grad_()
                return kept["leaf"]

            if side == "output":
                handle = module.register_forward_hook(lambda _m, _a, output, f=scaled: f(output))
            else:
                handle = module.register_forward_pre_hook(lambda _m, args, f=scaled: (f(args[0]),))
            logits = model(input_ids=fed, use_cache=False).logits[0]
            handle.remove()
            logits[len(PROMPT) + token - 1].double().log_softmax(-1)[ANSWER[token]].backward()
            sums = sums + share * kept["leaf"].grad[0].double().numpy() * kept["states"][0].double().numpy()
        if token == 1:
            total = np.zeros((len(ANSWER) - 1, *sums.shape))
        total[token - 1] = sums
    return total


def plain_weights(attributions, num_heads, *, positive=False):
    """Weights (H, N - 1) from A (N - 1, T, d), column by column."""
    width = attributions.shape[2]
    weights = np.zeros((num_heads, len(attributions)))
    for head in range(num_heads):
        columns = [c for c in range(width) if head * width <= c * num_heads < (head + 1) * width]
        for token, row in enumerate(attributions):
            sums = row[:, columns].sum(axis=1)
            sizes = np.maximum(sums, 0) if positive else np.abs(sums)
            position = len(PROMPT) + token  # of the token before
            weights[head, token] = sizes[position] / (sizes[: position + 1].sum() + 1e-12)
    return weights


@pytest.mark.parametrize("name", PLACES)
def test_attributions_are_complete(name):
    found = attributed(model_of(name), LAYERS.get(name, 1), steps=STEPS.get(name, 16))
    assert found.errors.shape == (len(ANSWER) - 1,)
    assert found.errors.max() < 1e-3
    assert found.weights.shape == (4, len(ANSWER) - 1)
    assert found.weights.min() >= 0
    assert found.weights.max() <= 1
    assert np.ptp(found.weights) > 0.01  # they tell something


@pytest.mark.parametrize("name", PLACES)
def test_weights_are_those_of_a_second_implementation(name):
    model = model_of(name)
    plain = plain_attributions(model, PLACES[name], steps=3)
    model.zero_grad()
    found = attributed(model, LAYERS.get(name, 1), steps=3)
    np.testing.assert_allclose(found.weights, plain_weights(plain, 4), atol=1e-5)


def test_the_input_side_has_the_real_heads():
    model = tiny_model(named("qwen3"), head_dim=16)  # 4 heads of 16 make 64 columns, and the output has 32
    plain = plain_attributions(model, PLACES["qwen3"], steps=2, side="input")
    assert plain.shape[2] == 64
    np.testing.assert_allclose(attributed(model, steps=2, side="input").weights, plain_weights(plain, 4), atol=1e-5)


def test_only_positive_attributions_count_if_asked():
    model = tiny_model(named("llama"))
    plain = plain_attributions(model, PLACES["llama"], steps=2)
    found = attributed(model, steps=2, positive=True)
    np.testing.assert_allclose(found.weights, plain_weights(plain, 4, positive=True), atol=1e-5)
    assert (found.weights == 0).any()


def test_segments_may_be_uneven():
    model = tiny_model(named("llama"))
    plain = plain_attributions(model, PLACES["llama"], steps=2)  # 32 columns in 5 segments: 6 or 7 each
    np.testing.assert_allclose(attributed(model, steps=2, num_heads=5).weights, plain_weights(plain, 5), atol=1e-5)


def test_batches_of_steps_change_nothing(monkeypatch):
    model = tiny_model(named("llama"))
    whole = attributed(model, steps=5)
    monkeypatch.setattr("rauq.capture.attribution._BYTES", 1)  # one step a batch
    np.testing.assert_allclose(attributed(model, steps=5).weights, whole.weights, atol=1e-6)


@pytest.mark.parametrize(("name", "layer"), [("llama", 2), ("gemma4-shared-keys", 1)])
def test_a_layer_whose_weights_would_all_be_1_is_refused(name, layer, monkeypatch):
    with pytest.raises(UnsupportedModel, match="all weights would be 1"):
        attributed(tiny_model(named(name)), layer)
    monkeypatch.setattr("rauq.capture.attribution._refuse_one_position", lambda *_: None)
    np.testing.assert_allclose(attributed(tiny_model(named(name)), layer).weights, 1.0, atol=1e-6)


def test_parameters_are_as_before_and_have_no_gradients():
    model = tiny_model(named("llama"))
    model.lm_head.requires_grad_(requires_grad=False)
    before = [parameter.requires_grad for parameter in model.parameters()]
    attributed(model, steps=1)
    assert [parameter.requires_grad for parameter in model.parameters()] == before
    assert all(parameter.grad is None for parameter in model.parameters())
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.model.layers.modules())


def test_scaling_the_input_before_a_norm_is_refused():
    with pytest.raises(UnsupportedModel, match="a norm follows the output projection"):
        attributed(tiny_model(named("gemma3-window")), side="input")


def test_an_unknown_block_is_refused():
    model = tiny_model(named("llama"))
    attention = model.model.layers[1].self_attn
    attention.mix, attention.forward = attention.o_proj, lambda **_: (torch.zeros(1, 9, 32), None)
    del attention.o_proj
    with pytest.raises(UnsupportedModel, match=r"Layer 1 of LlamaForCausalLM cannot be attributed: no attention with"):
        attributed(model)
    with pytest.raises(UnsupportedModel, match="Layer 0 of BambaForCausalLM cannot be attributed"):
        attributed(tiny_model(named("bamba-hybrid")), layer=0)


def test_a_model_without_gradients_is_refused():
    model = tiny_model(named("llama"))
    model.model.norm.register_forward_hook(lambda _module, _args, output: output.detach())
    with pytest.raises(UnsupportedModel, match="gives no gradients"):
        attributed(model)


def test_switching_experts_show_in_the_completeness_error():
    errors = [attributed(tiny_model(named("jamba-hybrid")), steps=steps).errors.max() for steps in (4, 64)]
    assert min(errors) > 0.05  # more steps do not help


def test_half_precision_says_its_error():
    lm = tiny_language_model(named("llama"))
    assert lm.dtype == "float32"
    exact = attributed(lm.model, steps=4)
    rounded = attributed(tiny_model(named("llama")).to(torch.bfloat16), steps=4)
    assert 0 < rounded.errors.max() < 0.5
    assert exact.errors.max() < rounded.errors.max()
    assert np.abs(exact.weights - rounded.weights).max() < 0.15


def test_completeness_of_no_token_is_undefined():
    assert all(map(math.isnan, completeness([])))
    assert completeness([np.array([0.1, 0.3]), np.array([0.2])]) == (0.2, 0.3)
