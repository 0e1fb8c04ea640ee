"""A prefix fills a padded cache with what the whole batch would have put there, and only where that is possible."""

import pytest
import torch
from transformers import DynamicCache

from rauq.capture.cache import NO_PREFIX, CachedModel, can_share, common_length, prefix_of
from tests.architectures import ARCHITECTURES, named, seeded_prompts, tiny_model

SHARING = [row for row in ARCHITECTURES if "hybrid" not in row.name]
PADDING = (0, 3, 25, 12)  # the third sequence begins after the columns that are shared


@pytest.mark.parametrize(
    ("sequences", "length"),
    [
        ([(1, 2, 3), (1, 2, 4), (1, 2, 3)], 2),
        ([(1, 2, 3), (1, 2)], 2),
        ([(1, 2), (1, 2)], 2),
        ([(1, 2, 3)], 3),
        ([(2, 1), (1, 2)], 0),
        ([(5, 9, 1), (5, 9, 7), (5, 10)], 1),
        ([(), (1,)], 0),
    ],
)
def test_the_length_of_what_is_common(sequences, length):
    assert common_length(sequences) == common_length(sequences[::-1]) == length


@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=str)
def test_models_that_keep_more_than_keys_and_values_do_not_share(architecture):
    assert can_share(tiny_model(architecture)) == (architecture in SHARING)


@pytest.mark.parametrize(
    "rope",
    [
        {"rope_type": "dynamic", "factor": 2.0},
        {
            **{"rope_type": "longrope", "short_factor": [1.0] * 4, "long_factor": [2.0] * 4},
            "original_max_position_embeddings": 64,
        },
    ],
    ids=lambda rope: rope["rope_type"],
)
def test_keys_that_depend_on_the_length_of_what_was_fed_are_not_shared(rope):
    rotary = {"rope_parameters": {"rope_theta": 10_000.0, **rope}}
    assert not can_share(tiny_model(named("llama"), **rotary))
    assert can_share(tiny_model(named("llama"), rope_parameters={"rope_theta": 500.0, "rope_type": "default"}))


@pytest.mark.parametrize("architecture", SHARING, ids=str)
@torch.inference_mode()
def test_a_filled_cache_is_that_of_the_padded_batch(architecture):
    """With the shared columns in it, and again with tokens of their own that each sequence is fed afterwards."""
    model, [ids] = tiny_model(architecture), seeded_prompts(20)
    once = CachedModel(model, [0], keep_all=True)
    once.forward(torch.tensor([ids]), tail=1)
    filled, plain = CachedModel(model, PADDING, prefix_of(ids, once.cache)), CachedModel(model, PADDING)
    plain.forward(torch.tensor([([0] * empty + ids)[:20] for empty in PADDING]), tail=1)
    assert_same_cache(filled.cache, plain.cache, seen=20)
    step = torch.tensor(seeded_prompts(*[15] * len(PADDING)))
    logits = [each.forward(step, tail=3).logits[:, -3:] for each in (filled, plain)]
    torch.testing.assert_close(*logits, atol=1e-4, rtol=0)
    assert_same_cache(filled.cache, plain.cache, seen=35)


def assert_same_cache(filled: DynamicCache, plain: DynamicCache, *, seen: int) -> None:
    """What no sequence masks is the same; a window may hold fewer than all columns."""
    for ours, theirs in zip(filled.layers, plain.layers, strict=True):
        if theirs.keys is None:
            assert ours.keys is None
            continue
        assert ours.get_seq_length() == theirs.get_seq_length() == seen
        assert ours.keys.shape == theirs.keys.shape
        first = seen - theirs.keys.shape[2]
        for row, empty in enumerate(PADDING):
            own = slice(max(0, empty - first), None)
            for name in ("keys", "values"):
                pair = [getattr(layer, name)[row, :, own] for layer in (ours, theirs)]
                torch.testing.assert_close(*pair, atol=1e-4, rtol=1e-5)


@torch.inference_mode()
def test_what_no_window_reaches_any_more_is_kept_only_if_asked():
    model, [ids] = tiny_model(named("gemma2-softcap-window")), seeded_prompts(30)
    held = []
    for options in ({}, {"keep_all": True}):
        cached = CachedModel(model, [0], **options)
        cached.forward(torch.tensor([ids]), tail=1)
        cached.forward(torch.tensor([ids[:1]]), tail=1)
        held.append([layer.keys.shape[2] for layer in cached.cache.layers])
    assert min(held[0]) < min(held[1])
    assert max(held[0]) == 31


@torch.inference_mode()
def test_a_prefix_that_was_cut_is_that_of_fewer_tokens():
    model, [ids] = tiny_model(named("gemma2-softcap-window")), seeded_prompts(30)
    whole, short = (CachedModel(model, [0], keep_all=True) for _ in range(2))
    whole.forward(torch.tensor([ids]), tail=1)
    short.forward(torch.tensor([ids[:19]]), tail=1)
    cut, expected = prefix_of(ids, whole.cache).cut(19), prefix_of(ids[:19], short.cache)
    assert cut.ids == expected.ids == tuple(ids[:19])
    for ours, theirs in zip(cut.layers, expected.layers, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)
    assert cut.cut(0) is NO_PREFIX
