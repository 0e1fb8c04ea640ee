"""Both engines answer from the same file: the weights of every architecture agree, however a sequence came about."""

import numpy as np
import pytest

import rauq
from rauq.checkpoints.gguf import config
from rauq.checkpoints.model_info import find_model_info
from rauq.errors import Failure
from rauq.model.engines.llama_engine import LlamaEngine
from rauq.model.llama_loading import load_llama
from rauq.model.loading import load_model
from tests.gguf_files import MERGED, SCALED, TINY, YARN

PROMPT = [5, 9, 30, 77, 100, *range(42, 62)]
OTHERS = [PROMPT, [7, 8, 9], [*PROMPT[:10], 200, 201], PROMPT[:12]]
FAST_GELU = 5e-3  # llama.cpp looks GELU up in a table of float16; all else agrees to EXACT
EXACT = 1e-5


def tolerance(architecture):
    return FAST_GELU if architecture.startswith("gemma") else EXACT


def by_llama(file, *, half_cache, full_window=True):
    """A file in llama.cpp, with its cache in float32 unless `half_cache`."""
    checkpoint, info = find_model_info(file, device="cpu", dtype="auto", revision=None, kind=None, engine="llama.cpp")
    return load_llama(checkpoint, info, half_cache=half_cache, full_window=full_window)


@pytest.fixture(scope="module", params=TINY)
def pair(request, file_of):
    file = file_of(request.param)
    return request.param, by_llama(file, half_cache=False), load_model(file, engine="transformers")


def assert_same(found, expected, within):
    assert found.answer_ids.tolist() == expected.answer_ids.tolist()
    assert (found.layers, found.num_layers) == (expected.layers, expected.num_layers)
    np.testing.assert_allclose(found.logprobs, expected.logprobs, atol=within)
    np.testing.assert_allclose(found.entropies, expected.entropies, atol=within)
    np.testing.assert_allclose(found.attention, expected.attention, atol=within)  # nan at the same places
    assert rauq.score(found).heads.tolist() == rauq.score(expected).heads.tolist()


def test_an_answer_is_that_of_transformers(pair):
    architecture, llama, transformers = pair
    options = {"max_new_tokens": 24, "stop": (), "last_row": True}
    found = llama.generate(PROMPT, **options)
    assert_same(found, transformers.generate(PROMPT, **options), tolerance(architecture))
    assert (found.engine, found.quantisation) == (llama.engine.about, "F32")
    assert found.engine.startswith("llama.cpp (xllamacpp 2026")
    assert llama.check().exact


def test_an_answer_that_is_read_has_the_weights_of_one_that_was_generated(pair):
    architecture, llama, transformers = pair
    answer = [60, 61, 62, 200, 5, 6, 7]
    assert_same(llama.read(PROMPT, answer), transformers.read(PROMPT, answer), tolerance(architecture))


def test_batches_share_what_they_begin_with_and_keep_their_order(pair):
    architecture, llama, transformers = pair
    options = {"max_new_tokens": 9, "stop": (), "batch_size": 4, "last_row": True}
    answers = list(llama.generate_batch(OTHERS, **options))
    assert not [answer for answer in answers if isinstance(answer, Failure)]
    for found, expected in zip(answers, transformers.generate_batch(OTHERS, **options), strict=True):
        assert_same(found, expected, tolerance(architecture))
    pairs = [(prompt, [60 + len(prompt), 9, 9][: 1 + len(prompt) % 3]) for prompt in OTHERS]
    for found, expected in zip(llama.read_batch(pairs), transformers.read_batch(pairs), strict=True):
        assert_same(found, expected, tolerance(architecture))


def test_samples_continue_one_prompt(pair):
    architecture, llama, transformers = pair
    options = {"k": 3, "seed": 5, "max_new_tokens": 8, "stop": (), "last_row": True}
    for found in llama.sample(PROMPT, **options):
        again = transformers.read(PROMPT, found.answer_ids.tolist())
        np.testing.assert_allclose(found.attention, again.attention, atol=tolerance(architecture))
        np.testing.assert_allclose(found.logprobs, again.logprobs, atol=tolerance(architecture))
    assert llama.sample(PROMPT, **options)[2].answer_ids.tolist() == found.answer_ids.tolist()


def test_an_answer_continues_a_prefix_as_a_branch_does(pair):
    architecture, llama, transformers = pair
    options = {"max_new_tokens": 6, "stop": (), "answer_prefix": [200, 201, 202]}
    assert_same(llama.generate(PROMPT, **options), transformers.generate(PROMPT, **options), tolerance(architecture))


def test_llama_rounds_where_the_scaling_of_gpt_oss_begins_and_ends(file_of, monkeypatch):
    """Its positions are therefore a little different; with the same rounding in transformers, all is the same."""
    entries = {**MERGED, **{f"gpt-oss.rope.scaling.{key}": value for key, value in SCALED.items()}}
    file = file_of("gpt-oss", entries=entries, rope_parameters=YARN, head_dim=64)
    ids = np.random.default_rng(0).integers(4, 250, 200).tolist()
    found = by_llama(file, half_cache=False).read(ids, [60, 61, 62])
    as_published = load_model(file, engine="transformers").read(ids, [60, 61, 62])
    assert 1e-4 < np.nanmax(np.abs(found.attention - as_published.attention)) < 0.02
    scaling = config._scaling
    monkeypatch.setattr(config, "_scaling", lambda *given: {**scaling(*given), "truncate": True})
    assert_same(found, load_model(file, engine="transformers").read(ids, [60, 61, 62]), EXACT)


def test_keys_in_half_precision_change_little(file_of):
    llama = by_llama(file_of("llama"), half_cache=True)
    trace = llama.generate(PROMPT, max_new_tokens=24, stop=())
    expected = load_model(file_of("llama"), engine="transformers").read(PROMPT, trace.answer_ids.tolist())
    np.testing.assert_allclose(trace.attention[:, :, :24], expected.attention[:, :, :24], atol=2e-3)
    assert llama.check().exact


@pytest.mark.parametrize("full_window", [True, False])
@pytest.mark.parametrize("architecture", ["gemma2", "gemma3"])
def test_columns_are_those_of_the_positions_after_a_window_has_passed(architecture, full_window, file_of):
    """A cache of a window holds few keys, in cells that are used again; here 700 tokens pass through one of 16."""
    file = file_of(architecture, sliding_window=16, max_position_embeddings=1024)
    llama = by_llama(file, half_cache=False, full_window=full_window)
    ids = np.random.default_rng(0).integers(4, 250, size=700).tolist()
    transformers = load_model(file, engine="transformers")
    found, expected = (lm.read(ids, [60, 61, 62], offsets=40) for lm in (llama, transformers))
    assert_same(found, expected, FAST_GELU)
    assert (found.attention[0, :, :, 16:] == 0).all()
    assert llama.check(ids).exact


def test_a_check_notices_a_column_of_another_position(file_of, monkeypatch):
    """The child is a process of its own: what is broken here is the same code, run in this one."""
    from rauq.llama_cpp import recording
    from rauq.llama_cpp.check import checked
    from rauq.llama_cpp.context import Context, open_model
    from rauq.llama_cpp.library import find_library, load_library

    library = load_library(find_library())
    context = Context(library, open_model(library, file_of("llama")), 1, lambda: False)
    ids = np.array(PROMPT, np.int32)
    assert checked(context, ids).header["problem"] == ""
    right = recording.columns
    monkeypatch.setattr(recording, "columns", lambda *given: np.maximum(right(*given) - 1, 0))
    assert "holds another key" in checked(context, ids).header["problem"]
    context.close()


def test_an_engine_is_started_again_where_it_has_ended(file_of):
    llama = by_llama(file_of("llama"), half_cache=True)
    first = llama.generate(PROMPT, max_new_tokens=3, stop=())
    llama.engine._process.running.kill()
    llama.engine._process.running.wait()
    assert llama.generate(PROMPT, max_new_tokens=3, stop=()).answer_ids.tolist() == first.answer_ids.tolist()
    assert isinstance(llama.engine, LlamaEngine)
