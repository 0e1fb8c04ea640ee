"""Sampling of the next token; each row of a batch has its own stream of random numbers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import LogitsProcessorList, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from rauq.sampling import Sampling


def chooser(sampling: Sampling | None, batch: int, device: torch.device) -> Callable[[Tensor], Tensor]:
    """Logits (B, V) to the next tokens (B,); row k draws from a stream seeded from (seed, k), whatever B is."""
    if sampling is None:
        return lambda logits: logits.argmax(dim=-1)
    generators = [_generator(sampling.seed, row, device) for row in range(batch)]
    temperature = max(float(sampling.temperature), torch.finfo(torch.float32).tiny)
    warp = LogitsProcessorList([TemperatureLogitsWarper(temperature)])
    if sampling.top_k:
        warp.append(TopKLogitsWarper(int(sampling.top_k)))
    if sampling.top_p < 1:
        warp.append(TopPLogitsWarper(float(sampling.top_p)))

    no_ids: Any = None  # these three look at the scores alone

    def draw(logits: Tensor) -> Tensor:
        # An undefined row draws token 0 here, and is reported with its place when the statistics are in.
        scores = logits.float() - logits.max(dim=-1, keepdim=True).values  # a low temperature must not overflow
        probabilities = warp(no_ids, scores).softmax(dim=-1)
        undefined = probabilities.isnan().any(dim=-1, keepdim=True)
        probabilities = probabilities.masked_fill(undefined, 1.0)
        rows = zip(probabilities, generators, strict=True)
        return torch.cat([torch.multinomial(row, 1, generator=generator) for row, generator in rows])

    return draw


def _generator(seed: int | None, row: int, device: torch.device) -> torch.Generator:
    generator = torch.Generator(device)
    if seed is None:
        generator.seed()
    elif row == 0:
        generator.manual_seed(int(seed))  # a single answer is the first of many
    else:
        generator.manual_seed(int(np.random.SeedSequence((int(seed), row)).generate_state(1, np.uint64)[0]))
    return generator
