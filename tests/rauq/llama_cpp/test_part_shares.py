"""llama.cpp gives the shares of attention that transformers gives, however a sequence came about."""

import numpy as np
import pytest

from rauq.checkpoints.model_info import find_model_info
from rauq.model.llama_loading import load_llama
from rauq.model.loading import load_model
from tests.gguf_files import TINY

PROMPT = [5, 9, 30, 77, 100, *range(42, 62)]
PROMPTS = [PROMPT, [*PROMPT[:10], 200, 201, 8], [7, 8, 9, *PROMPT], PROMPT[:12]]
PARTS = {"prompt_parts": [("document", 2, 4), ("document", 4, 6), ("question", 8, 11)], "extras": ("part_shares",)}
DOCUMENTS = ["document", "document", "question"]  # the first is in two passages
FAST_GELU, EXACT = 5e-3, 1e-5


def by_llama(file, *, full_window=True):
    checkpoint, info = find_model_info(file, device="cpu", dtype="auto", revision=None, kind=None, engine="llama.cpp")
    return load_llama(checkpoint, info, half_cache=False, full_window=full_window)


@pytest.fixture(scope="module", params=TINY)
def pair(request, file_of):
    file = file_of(request.param)
    within = FAST_GELU if request.param.startswith("gemma") else EXACT
    return by_llama(file), load_model(file, engine="transformers"), within


def assert_same(found, expected, within):
    for one, other in zip(found, expected, strict=True):
        assert one.answer_ids.tolist() == other.answer_ids.tolist()
        assert one.prompt_parts == other.prompt_parts
        assert len(one.prompt_parts) > 1
        assert one.part_texts == other.part_texts
        np.testing.assert_allclose(one.extras["part_shares"], other.extras["part_shares"], atol=within)
        assert one.extras["part_shares"].dtype == np.float32


def test_shares_of_answers_and_batches(pair):
    llama, transformers, within = pair
    options = {**PARTS, "max_new_tokens": 9, "stop": ()}
    assert [part.name for part in llama.encode(PROMPT, prompt_parts=PARTS["prompt_parts"]).parts] == DOCUMENTS
    assert_same([llama.generate(PROMPT, **options)], [transformers.generate(PROMPT, **options)], within)
    assert_same(llama.generate_batch(PROMPTS, **options), transformers.generate_batch(PROMPTS, **options), within)
    pairs = [(prompt, [60 + len(prompt), 9, 9][: 1 + len(prompt) % 3]) for prompt in PROMPTS]
    assert_same(llama.read_batch(pairs, **PARTS), transformers.read_batch(pairs, **PARTS), within)


def test_shares_of_samples_are_those_of_the_same_answers_read(pair):
    llama, transformers, within = pair
    samples = llama.sample(PROMPT, k=3, seed=5, max_new_tokens=6, stop=(), **PARTS)
    assert len({tuple(trace.answer_ids) for trace in samples}) > 1
    read = [transformers.read(PROMPT, trace.answer_ids.tolist(), **PARTS) for trace in samples]
    assert_same(samples, read, within)


@pytest.mark.parametrize("full_window", [True, False])
def test_shares_after_a_window_has_passed(full_window, file_of):
    """A cache of a window holds few keys, in cells that are used again; here 700 tokens pass through one of 16."""
    file = file_of("gemma3", sliding_window=16, max_position_embeddings=1024)
    ids = np.random.default_rng(0).integers(4, 250, size=700).tolist()
    llama, transformers = by_llama(file, full_window=full_window), load_model(file, engine="transformers")
    text = llama.encode(ids).text
    parts = {**PARTS, "prompt_parts": [("far", 10, 300), ("near", len(text) - 9, len(text))]}
    found, expected = (lm.read(ids, [60, 61, 62, 63], **parts) for lm in (llama, transformers))
    assert_same([found], [expected], FAST_GELU)
    assert (found.extras["part_shares"][0, ..., 3] == 0).all()
    assert (found.extras["part_shares"][0, ..., 4] > 0.1).any()


def test_the_next_call_is_without_parts(file_of):
    llama = by_llama(file_of("llama"))
    llama.read(PROMPT, [5, 6], **PARTS)
    assert not llama.read(PROMPT, [5, 6]).extras
    alone = llama.read(PROMPT, [5, 6], extras=("part_shares",)).extras["part_shares"]
    assert alone.shape[-1] == 3
    np.testing.assert_allclose(alone.sum(-1), 1, atol=EXACT)
