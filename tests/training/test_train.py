"""A tiny training run: the loss falls, a resumed run equals one without a stop, and the exported files load."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from training import train
from training.train import Settings, Shape

TINY = Settings(
    batch=4,
    warm_up=5,
    compiled=False,
    shape=Shape(vocabulary=40, hidden=32, feed_forward=48, layers=2, heads=4, key_value_heads=2),
)


@pytest.fixture(scope="module")
def rows():
    """Rows of documents that count upwards, so that the next token can be learnt."""
    rng = np.random.default_rng(0)
    start = rng.integers(3, 10, size=(160, 2, 1))
    documents = np.concatenate([np.full((160, 2, 1), train.BOS_ID), start + np.arange(15)], axis=2)
    return documents.reshape(160, 32).astype(np.uint16)


def weights(model):
    return {name: value.clone() for name, value in model.state_dict().items()}


def test_the_loss_falls(rows, tmp_path):
    losses = []
    train.train(
        rows, TINY, checkpoint=tmp_path / "c.safetensors", report=lambda _step, _steps, loss: losses.append(loss)
    )
    assert len(losses) == 40
    assert losses[0] == pytest.approx(np.log(40), abs=0.3)
    assert np.mean(losses[-5:]) < 0.6 * losses[0]


def test_a_run_that_was_stopped_ends_as_one_that_was_not(rows, tmp_path):
    whole = weights(train.train(rows, TINY, checkpoint=tmp_path / "whole.safetensors"))
    stopped = weights(train.train(rows, TINY, checkpoint=tmp_path / "parts.safetensors", stop_after=17))
    resumed = weights(train.train(rows, TINY, checkpoint=tmp_path / "parts.safetensors"))
    assert any(not torch.equal(whole[name], stopped[name]) for name in whole)
    for name, value in whole.items():
        torch.testing.assert_close(resumed[name], value, rtol=0, atol=0)


@pytest.mark.parametrize("other", [{"rows": slice(0, -4)}, {"settings": replace(TINY, seed=1)}])
def test_a_checkpoint_of_other_rows_or_settings_is_not_resumed(rows, tmp_path, other):
    path, steps = tmp_path / "c.safetensors", []
    train.train(rows, TINY, checkpoint=path, stop_after=5)
    rows, settings = rows[other.get("rows", slice(None))], other.get("settings", TINY)
    train.train(rows, settings, checkpoint=path, report=lambda step, *_: steps.append(step), stop_after=2)
    assert steps == [0, 1]


def test_documents_of_a_row_do_not_see_each_other(rows):
    model = train.build(TINY.shape, seed=0)
    changed = rows[:4].astype(np.int64)
    changed[:, 1:16] = rows[4:8, 1:16]
    single = torch.from_numpy(rows[:4].astype(np.int64))
    mask = train._visible(torch.from_numpy(changed))
    with torch.no_grad():
        before, after = (
            model(input_ids=tokens, attention_mask=mask, use_cache=False).logits[:, 16:]
            for tokens in (single, torch.from_numpy(changed))
        )
    torch.testing.assert_close(before, after)


def test_rates_rise_and_then_fall_to_zero():
    rates = [train._rate(step, 100, 10) for step in range(100)]
    assert np.argmax(rates) == 9
    assert rates[-1] < 1e-3
    assert np.all(np.diff(rates[10:]) < 0)


def test_what_is_exported_loads_and_holds_only_ids_for_generation(rows, tmp_path):
    model = train.train(rows[:8], TINY, checkpoint=tmp_path / "c.safetensors")
    expected = {name: value.to(torch.bfloat16) for name, value in weights(model).items()}
    train.export(model, tmp_path / "model")
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path / "model", dtype=torch.bfloat16)
    for name, value in weights(loaded).items():
        torch.testing.assert_close(value, expected[name], rtol=0, atol=0)
    ids = json.loads((tmp_path / "model" / "generation_config.json").read_text(encoding="utf-8"))
    assert ids == {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
