"""The embedded model loads as any other, from its own folder and without network."""

import hashlib

import numpy as np
import pytest

from rauq.model.loading import ATLAS, load_model


@pytest.fixture(scope="module")
def atlas():
    return load_model("atlas")


def test_the_embedded_model_loads_by_name_and_names_its_weights(atlas):
    digest = hashlib.sha256((ATLAS / "model.safetensors").read_bytes()).hexdigest()
    assert (atlas.name, atlas.revision, atlas.kind) == ("atlas", digest, "base")
    assert atlas.dtype == "float32"  # whatever dtype the file has
    assert atlas.num_layers >= 10
    assert atlas.num_heads == 8
    assert atlas.layers == tuple(range(atlas.num_layers))


def test_it_is_the_default_and_float32_whatever_is_asked(atlas):
    lm = load_model(dtype="bfloat16")
    assert (lm.name, lm.dtype, lm.revision) == ("atlas", "float32", atlas.revision)


def test_its_attention_is_captured_exactly(atlas):
    assert atlas.check().exact
    assert atlas.check("The capital of Norway is").exact


def test_it_answers_and_ends_by_itself(atlas):
    trace = atlas.generate("Question: What is the capital of France?\nAnswer:", last_row=True)
    assert trace.stop_reason in {"eos", "stop"}
    assert 1 < len(trace.answer_ids) < 64
    assert np.isfinite(trace.previous_token_attention("own")).all()
    read = atlas.read(trace.prompt_ids, trace.answer_ids)
    np.testing.assert_allclose(read.attention, trace.attention, atol=1e-5)
