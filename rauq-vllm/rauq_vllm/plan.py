"""Which layers are captured, and which rows a step of vLLM has to keep: those of the answers that were asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np


def middle(num_layers: int) -> range:
    """The layers that RAUQ looks at by default: floor(L/3) to ceil(2L/3), inclusive (paper, section 5.1)."""
    return range(num_layers // 3, min(num_layers, -(-2 * num_layers // 3) + 1))


def layers_of(given: object, num_layers: int) -> tuple[int, ...]:
    """The layers that the configuration asks for: "middle", "all", or a list.

    Raises:
        ValueError: anything else.
    """
    if given in ("middle", "all"):
        return tuple(middle(num_layers) if given == "middle" else range(num_layers))
    numbers = range(num_layers)
    if isinstance(given, list) and given and all(type(one) is int and one in numbers for one in given):
        return tuple(sorted(set(given)))
    message = f'layers is {given!r}; give "middle", "all", or a list of numbers from 0 to {num_layers - 1}.'
    raise ValueError(message)


@dataclass(frozen=True)
class Asked:
    """A request that asked for its rows: their files, and the position of the first one, which is the prompt's last."""

    weights: Path
    entropies: Path
    first: int


@dataclass(frozen=True, eq=False)
class Part:
    """What a step keeps of a request: positions (n,), and where each is in the cache of every group of layers (n,)."""

    asked: Asked
    positions: np.ndarray
    slots: tuple[np.ndarray, ...]


def part_of(
    asked: Asked, *, computed: int, scheduled: int, blocks: Sequence[Sequence[int]], sizes: Sequence[int]
) -> Part | None:
    """The part of a request that has `computed` tokens and computes `scheduled` more; None if no row is among them.

    `blocks` are its blocks in the cache of each group of layers, `sizes` how many tokens they hold. A prompt in chunks
    has its last row in the last chunk; an answer that was preempted is computed again, many rows at a time.
    """
    positions = np.arange(max(computed, asked.first), computed + scheduled)
    if not len(positions):
        return None
    slots = tuple(
        np.asarray(table, dtype=np.int64)[positions // size] * size + positions % size
        for table, size in zip(blocks, sizes, strict=True)
    )
    return Part(asked, positions, slots)
