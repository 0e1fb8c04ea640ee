"""Statistics of logits are those of the distribution, with masked tokens and for any number of steps."""

import numpy as np
import pytest
import torch

from rauq.capture import logits as module
from rauq.capture.logits import LogitsBuffer, token_statistics

ROWS, VOCABULARY = 40, 500
IDS = torch.arange(ROWS)


def random_logits() -> torch.Tensor:
    return 4 * torch.randn(ROWS, VOCABULARY, generator=torch.Generator().manual_seed(0))


def test_tokens_that_are_ruled_out_add_nothing_to_the_entropy():
    allowed, all_tokens = random_logits()[:, :60], torch.full((ROWS, VOCABULARY), -torch.inf)
    all_tokens[:, :60] = allowed
    found = token_statistics(all_tokens, IDS).entropies
    expected = torch.distributions.Categorical(logits=allowed.double()).entropy()
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_entropy_is_zero_at_probability_one_and_nan_for_undefined_logits():
    sure, broken = torch.full((2, VOCABULARY), -torch.inf), torch.zeros(2, VOCABULARY)
    sure[:, 7] = 3.0
    broken[0, 3], broken[1, 3] = torch.nan, torch.inf
    entropies = token_statistics(torch.cat([sure, broken]), IDS[:4]).entropies
    assert entropies[:2].tolist() == [0.0, 0.0]
    assert entropies[2:].isnan().all()


def test_the_mean_log_probability_is_wanted_or_absent_and_of_tokens_that_are_not_ruled_out():
    rows = random_logits()
    assert token_statistics(rows, IDS).extras() == {}
    expected = rows[:, :60].double().log_softmax(dim=-1).mean(dim=-1)
    rows[:, 60:] = -torch.inf
    found = token_statistics(rows, IDS, mean=True).extras()
    assert set(found) == {"mean_logprob"}
    np.testing.assert_allclose(found["mean_logprob"], expected, rtol=1e-5)


@pytest.mark.parametrize("rows", [1, 7])
def test_blocks_change_nothing(rows, monkeypatch):
    whole = token_statistics(random_logits(), IDS, mean=True)
    monkeypatch.setattr(module, "_BLOCK_BYTES", {"cpu": rows * 4 * VOCABULARY})
    monkeypatch.setattr(module, "_WAITING_ROWS", rows)
    buffer = LogitsBuffer(mean=True)
    for row, token in zip(random_logits().split(1), IDS.split(1), strict=True):
        buffer.add(row, token)
    for parts in (token_statistics(random_logits(), IDS, mean=True), [column[0] for column in buffer.statistics()]):
        for found, expected in zip(parts, whole, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-6)
