"""Check captured weights against the kernel's: a layer's output is recomputed from them and compared with its own."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from rauq_vllm.attention import Softmax, in_order, layout_of, output, total
from rauq_vllm.kernel import Totals

_MOST_OF_TOTALS = 1e-3  # difference of two logarithms, and so the relative error of a weight
_REPEATS = 8  # rows of a call: a kernel computes several in another way than one
_LEAST = 1e-4  # relative to the largest value: rounding of sums in float32


@dataclass(frozen=True, eq=False)
class LayerStep:
    """What a layer computed in a step.

    `query` (m, H, D), `key` and `value` (m, G, D), the blocks (blocks, G, B, D) of the caches `keys` and `values`,
    `output` (m, H * D), and vLLM's own record of the batch. `totals`: of the kernel, where it gives them.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    keys: Tensor
    values: Tensor
    output: Tensor
    batch: Any
    totals: Totals | None = None


@dataclass(frozen=True, eq=False)
class Row:
    """One row of a step: its place in the batch, how many keys it sees, and the blocks (U,) in which they are."""

    place: int
    length: int
    blocks: Tensor


def layouts_of(computed: LayerStep, row: Row) -> tuple[str, str]:
    """The layouts of keys and of values, found from the newest key and value of a row.

    Raises:
        ValueError: a layout that is not known.
    """
    block, place = divmod(row.length - 1, computed.keys.shape[2])
    number = row.blocks[block]
    return (
        layout_of(computed.keys[number], computed.key[row.place], place),
        layout_of(computed.values[number], computed.value[row.place], place),
    )


def check(computed: LayerStep, row: Row, layouts: tuple[str, str], softmax: Softmax) -> None:
    """Recompute the output of one row from its weights, and compare it with the kernel's.

    Raises:
        ValueError: they differ by more than rounding in the kernel's dtype.
    """
    query, given = computed.query[row.place], computed.output[row.place].view(-1, computed.query.shape[-1])
    values = in_order(computed.values[row.blocks], layouts[1])[:, : row.length]
    expected = output(query, computed.keys[row.blocks], values, layout=layouts[0], softmax=softmax)
    difference = float((expected - given.float()).abs().max() / values.float().abs().max())
    most = max(_LEAST, 2 * torch.finfo(given.dtype).eps)
    if not difference <= most:
        message = (
            f"after {row.length} tokens, the output of a layer differs by {difference:.2g} of the largest value from "
            f"that of the captured weights; rounding explains {most:.2g}. The layer's rows are not kept."
        )
        raise ValueError(message)


def has_totals(computed: LayerStep, row: Row, layout: str, softmax: Softmax) -> bool:
    """Whether the kernel's totals are those of the recomputed softmax, and each row of its cache has one key."""
    if computed.totals is None or layout != "rows":
        return False
    query, keys = computed.query[row.place], computed.keys[row.blocks]
    lengths = [row.length, max(1, row.length - 1), max(1, row.length // 2)] * _REPEATS
    expected = {length: total(query, keys, length, layout=layout, softmax=softmax) for length in set(lengths)}
    given = (
        query.expand(len(lengths), -1, -1),
        torch.tensor(lengths, device=query.device),
        row.blocks.expand(len(lengths), -1),
    )
    try:
        found = computed.totals(*given)
    except Exception:  # noqa: BLE001 - whatever a kernel refuses, the weights are recomputed without it
        return False
    differences = found.float() - torch.stack([expected[length] for length in lengths])
    return bool(differences.abs().max() <= _MOST_OF_TOTALS)
