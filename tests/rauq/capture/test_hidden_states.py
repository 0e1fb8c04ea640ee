"""Hidden states of all layers, against those that transformers returns, for every architecture."""

import numpy as np
import pytest
import torch

from rauq.capture import tap
from rauq.errors import UnsupportedModel
from rauq.trace.extras import EXTRAS
from tests.architectures import ARCHITECTURES, named, seeded_prompts, tiny_language_model
from tests.exactness import bound
from tests.lens import assert_lens
from tests.tiny import PROMPT

OF_STATES = ("hidden_layers", "hidden_mean", "logit_lens")
PROMPTS = seeded_prompts(30, 17, 25)


@pytest.fixture(scope="module", params=ARCHITECTURES, ids=str)
def architecture(request):
    return request.param


@pytest.fixture(scope="module")
def lm(architecture):
    return tiny_language_model(architecture)


def states_of(lm, trace):
    """(l + 1, M + N, d), from one pass over prompt and answer."""
    ids = torch.tensor([[*trace.prompt_ids.tolist(), *trace.answer_ids.tolist()]])
    with torch.inference_mode():
        output = lm.model(input_ids=ids, output_hidden_states=True, use_cache=False)
    return np.stack([states[0].numpy() for states in output.hidden_states])


def assert_states(lm, traces, *, within):
    for trace in traces:
        num_prompt, num_answer = len(trace.prompt_ids), len(trace.answer_ids)
        states = states_of(lm, trace)
        size = np.abs(states).max()
        rows = states[:, num_prompt - 1 :][:, :num_answer]
        mean = states[lm.num_layers // 2, : num_prompt + num_answer - 1].mean(axis=0)
        assert trace.extras["hidden_layers"].shape == (lm.num_layers + 1, *rows.shape[1:])
        np.testing.assert_allclose(trace.extras["hidden_layers"], rows, atol=within * size)
        if not np.isnan(trace.extras["hidden_mean"]).all():
            np.testing.assert_allclose(trace.extras["hidden_mean"], mean, atol=within * size)
        assert_lens(lm, trace)


def test_they_are_those_of_transformers(lm, architecture):
    options = {"max_new_tokens": 6, "stop": (), "extras": OF_STATES}
    alone = lm.generate(PROMPTS[0], **options)
    padded = list(lm.generate_batch(PROMPTS, **options))
    read = lm.read(PROMPTS[1], PROMPTS[2][:7], extras=OF_STATES)
    pairs = [(prompt, PROMPTS[0][: 2 + 3 * place]) for place, prompt in enumerate(PROMPTS)]
    together = list(lm.read_batch(pairs, extras=OF_STATES))
    assert np.isnan(alone.extras["hidden_mean"]).all() == (architecture.name == "gemma4-shared-keys")
    assert_states(lm, [alone, *padded, read, *together], within=bound(architecture))


def test_states_are_watched_only_where_they_are_asked_for():
    lm = tiny_language_model(named("llama"))
    blocks = lm.model.model.layers
    lm.generate(PROMPT, max_new_tokens=2, extras=("hidden", "hidden_mean"))
    assert [len(block._forward_pre_hooks) for block in blocks] == [0, 1, 0]
    for _ in range(2):
        lm.generate(PROMPT, max_new_tokens=2, extras=("hidden_layers",))
    assert [len(block._forward_pre_hooks) for block in blocks] == [1, 1, 1]
    assert len(lm.model.model._forward_hooks) == 1


def _without_blocks(patch):
    patch.setattr("rauq.capture.tap._list_of_blocks", lambda _model: None)


def _without_decoder(patch):
    patch.setattr("rauq.capture.tap.modules_of_states", tap.blocks_of)


def _without_head(patch):
    patch.setattr("transformers.LlamaForCausalLM.get_output_embeddings", lambda _model: None)


@pytest.mark.parametrize(
    ("change", "lacking"),
    [
        (_without_blocks, {"hidden", *OF_STATES}),
        (_without_decoder, {"hidden_layers", "logit_lens"}),
        (_without_head, {"logit_lens"}),
    ],
)
def test_a_model_that_cannot_give_them_is_refused_with_the_reason(change, lacking, monkeypatch):
    lm = tiny_language_model(named("llama"))
    change(monkeypatch)
    assert set(EXTRAS) - set(lm.extras) == lacking
    for extra in lacking:
        with pytest.raises(
            UnsupportedModel, match=rf"The extra '{extra}' cannot be captured from tiny-llama: its .* Leave it out"
        ):
            lm.generate(PROMPT, extras=(extra,))


def test_states_of_different_widths_are_refused():
    lm = tiny_language_model(named("opt"), word_embed_proj_dim=16)
    assert "logit_lens" not in lm.extras
    with pytest.raises(UnsupportedModel, match="different widths"):
        lm.generate(PROMPT, max_new_tokens=2, extras=("hidden_layers",))
