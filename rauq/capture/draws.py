"""From raw logits to the next tokens: the most probable ones, or drawn ones, each answer from a stream of its own."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rauq.arguments import Sampling
from rauq.transformers_api import LogitsProcessorList, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper


def chooser(
    sampling: Sequence[Sampling], each: int, device: torch.device, *, first: int = 0
) -> Callable[[Tensor], Tensor]:
    """Logits (B, V) to the next tokens (B,), greedily without `sampling`.

    Each of `sampling`, alike but for the seed, is that of `each` rows, counted from `first`: row k draws from a stream
    seeded from (seed, k), whatever B is.
    """
    if not sampling:
        return most_probable
    generators = [_generator(one.seed, row, device) for one in sampling for row in range(first, first + each)]
    how = sampling[0]
    temperature = max(float(how.temperature), torch.finfo(torch.float32).tiny)
    warp = LogitsProcessorList([TemperatureLogitsWarper(temperature)])
    if how.top_k:
        warp.append(TopKLogitsWarper(int(how.top_k)))
    if how.top_p < 1:
        warp.append(TopPLogitsWarper(float(how.top_p)))

    no_ids: Any = None  # these three look at the scores alone

    def draw(logits: Tensor) -> Tensor:
        # An undefined row draws token 0 here, and is reported with its position once the statistics are known.
        scores = logits.float() - logits.max(dim=-1, keepdim=True).values  # a low temperature must not overflow
        probabilities = warp(no_ids, scores).softmax(dim=-1)
        undefined = probabilities.isnan().any(dim=-1, keepdim=True)
        probabilities = probabilities.masked_fill(undefined, 1.0)
        rows = zip(probabilities, generators, strict=True)
        return torch.cat([torch.multinomial(row, 1, generator=generator) for row, generator in rows])

    return draw


def most_probable(logits: Tensor) -> Tensor:
    """Logits (B, V) to the most probable tokens (B,): the first of several, or the first undefined one."""
    if logits.device.type == "cpu" and logits.dtype == torch.float32:  # numpy takes a tenth of the time of torch
        return torch.from_numpy(logits.detach().numpy().argmax(axis=-1))
    return logits.argmax(dim=-1)


def each_by_its_own(sampling: Sequence[Sampling | None], device: torch.device) -> Callable[[Tensor], Tensor]:
    """Logits (B, V) to the next tokens (B,), each row as if its answer was generated alone; None: greedily."""
    if not any(sampling):
        return chooser([], 1, device)
    own = [chooser([] if one is None else [one], 1, device) for one in sampling]

    def choose(logits: Tensor) -> Tensor:
        return torch.cat([choose_one(row) for choose_one, row in zip(own, logits.split(1), strict=True)])

    return choose


def _generator(seed: int | None, row: int, device: torch.device) -> torch.Generator:
    generator = torch.Generator(device)
    if seed is None:
        generator.seed()
    elif row == 0:
        generator.manual_seed(int(seed))  # a single answer is the first of many
    else:
        generator.manual_seed(int(np.random.SeedSequence((int(seed), row)).generate_state(1, np.uint64)[0]))
    return generator
