"""RAUQ under every setting of the golden file, with the numbers of the reference implementation.

The reference adds 1 to every score but those of `mean_product` and `mean_sum`; it is added here before comparing.
"""

import itertools
import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rauq import Settings
from rauq.scoring.algorithm import score_grid
from rauq.scoring.settings import MEAN_UPDATES
from rauq.trace.batch import Batch, batch_of_arrays

FOLDER = Path(__file__).with_name("golden")
META = json.loads((FOLDER / "golden.json").read_text(encoding="utf-8"))
CASES = META["rauq_cases"]
EXACT = {"rtol": 1e-9, "atol": 1e-15}  # atol: 1 - 1 is 0

ALPHAS = META["meta"]["axes"]["alpha"]
TOKEN_AGGREGATIONS = ("mean", "median", "sum_log", "mean_log")
LAYER_AGGREGATIONS = ("mean", "median", "max")
UPDATES = (
    *("rauq", "previous_probability", "no_recurrence", "no_attention", "product"),
    *("minus_mean", "ratio_to_mean", "minus_recent_mean", "mean_product", "mean_sum"),
)
SIGNALS = ("probability", "entropy")
HEADS = ("max", "mean", "top5")


class Compared(NamedTuple):
    """The cells of a case that the reference has a number for, ours of them, and the reference's."""

    cells: list[tuple[int, ...]]
    ours: np.ndarray
    reference: np.ndarray


def arrays():
    """Every array of the golden file, by name."""
    with np.load(FOLDER / "golden.npz") as found:
        return dict(found)


def compare(golden, case) -> Compared:
    """All settings of one case at once."""
    wanted, raised, single = golden["rauq"][case["i"]], golden["rauq_raised"][case["i"]], fixed_heads(golden, case)
    cells = [cell for cell in itertools.product(*map(range, wanted.shape)) if not raised[cell]]
    scores = score_grid(answer(golden, case), [cell_settings(cell, single) for cell in cells])[:, 0]
    got = scores + [constant(UPDATES[cell[3]]) for cell in cells]
    return Compared(cells, got, np.array([wanted[cell] for cell in cells]))


def answer(golden, case) -> Batch:
    """The one answer of a case."""
    return batch_of_arrays(**inputs(golden, case), alignment="predicting", layer_ids=None, num_layers=None)


def inputs(golden, case):
    name = f"c{case['i']:02d}"
    arrays = {"attention": golden[f"{name}_attn"], "logprobs": golden[f"{name}_logp"]}
    return arrays | {"entropies": golden[f"{name}_ent"], "vocab_size": case["V"]}


def fixed_heads(golden, case):
    """The reference's single head of a layer: the one that attends most over its training answers."""
    means = golden[f"c{case['i']:02d}_train_attn_cat"].mean(axis=-1)
    assert means.argmax(axis=-1).tolist() == case["heads_single"]
    return tuple(enumerate(case["heads_single"]))


def constant(update):
    return 0.0 if update in MEAN_UPDATES else 1.0


def cell_settings(cell, single):
    alpha, tokens, layers, update, signal, heads, fixed = cell
    mean_ignores_it = HEADS[heads] == "mean" and UPDATES[update] not in MEAN_UPDATES
    return Settings(
        alpha=ALPHAS[alpha],
        signal=SIGNALS[signal],
        heads=single if fixed and not mean_ignores_it else HEADS[heads],
        update=UPDATES[update],
        token_aggregation=TOKEN_AGGREGATIONS[tokens],
        layer_aggregation=LAYER_AGGREGATIONS[layers],
    )
