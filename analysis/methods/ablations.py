"""The paper's ablations on a run: what RAUQ loses when one of its parts is another, table by table."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from analysis.methods.comparison import RAUQ, Comparison, compare
from analysis.methods.groups import Group
from analysis.methods.held_out import held_out, score_single_head
from analysis.methods.ranking import Metric
from analysis.quality.judgement import Thresholds
from rauq.batch import Answers
from rauq.grid import score_grid
from rauq.methods.table import METHODS
from rauq.settings import Settings, window

LAYERS, SINGLE_HEAD = "layers", "single_head"

_TABLES: tuple[tuple[str, str, tuple[str, ...], tuple[str, ...]], ...] = (
    (
        "token_aggregation",
        "Token aggregation",
        ("token_mean", "token_median", "token_sum_log", RAUQ),
        ("llama_token_agg",),
    ),
    ("layer_aggregation", "Layer aggregation", ("layer_mean", "layer_median", RAUQ), ("llama_layer_agg",)),
    (
        "update",
        "Recurrent formula",
        ("no_attention", "no_recurrence", "previous_probability", "product", "mean_product", "mean_sum", RAUQ),
        ("llama_functions",),
    ),
    (
        "change_point",
        "Attention as a change point",
        ("minus_recent_mean", "minus_mean", "ratio_to_mean", RAUQ),
        ("llama_delta_functions",),
    ),
    (
        "signal",
        "Signal of a token",
        ("rauq_probability", "rauq_entropy"),
        ("llama_prob_entropy", "llama_instruct_prob_entropy"),
    ),
    ("heads", "Heads of a layer", ("heads_mean", "heads_top5", RAUQ), ()),
    (LAYERS, "Layers", ("middle_five", "all_layers", RAUQ), ("llama_layer_selection",)),
    (SINGLE_HEAD, "One head a layer, chosen on answers held out", (RAUQ, SINGLE_HEAD), ("llama_single_head",)),
)


@dataclass(frozen=True, kw_only=True)
class Variant:
    """RAUQ with something changed: a row of a table."""

    id: str
    settings: Settings


@dataclass(frozen=True, kw_only=True)
class Ablation:
    """A table of the paper, its rows in the paper's order; `published` are the paper's labels of it, if it has any."""

    id: str
    title: str
    variants: tuple[Variant, ...]
    published: tuple[str, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Ablated:
    """A table computed: its rows compared by their ids, and the ids of those that look at layers which are not kept.

    `chosen_on` answers chose the heads of a single-head row and are in no number of the table; 0 in other tables.
    """

    ablation: Ablation
    comparison: Comparison
    missing: tuple[str, ...]
    chosen_on: int = 0


def ablations(layers: Sequence[int]) -> tuple[Ablation, ...]:
    """The tables of a model with attention in these layers: each of them alone is a row of the table of layers."""
    alone = tuple(Variant(id=f"layer_{layer}", settings=Settings(layers=(layer,))) for layer in layers)
    return tuple(
        Ablation(
            id=name,
            title=title,
            variants=(*(alone if name == LAYERS else ()), *map(_variant, methods)),
            published=published,
        )
        for name, title, methods, published in _TABLES
    )


def ablate(
    ablation: Ablation,
    answers: Answers,
    quality: np.ndarray,
    names: Sequence[str],
    groups: Sequence[Group],
    *,
    layers: Sequence[int],
    metric: Metric,
    thresholds: Thresholds,
    resamples: int = 1000,
    seed: int = 0,
) -> Ablated:
    """Compute one table for A answers with their quality (A,) and the names of their groups (A,).

    `layers` are all that the model has attention in: a run may keep fewer, and then rows are missing.
    """
    chosen = held_out(names, seed=seed) if ablation.id == SINGLE_HEAD else np.zeros(len(names), dtype=bool)
    there = [variant for variant in ablation.variants if _is_kept(variant, answers, layers)]
    columns = {"quality": quality} | _uncertainties(there, answers, names, chosen)
    return Ablated(
        ablation=ablation,
        comparison=compare(
            pd.DataFrame(columns),
            [variant.id for variant in there],
            [Group(group.name, group.rows[~chosen[group.rows]]) for group in groups],
            metric=metric,
            thresholds=thresholds,
            resamples=resamples,
            seed=seed,
        ),
        missing=tuple(variant.id for variant in ablation.variants if variant not in there),
        chosen_on=int(chosen.sum()),
    )


def _variant(method: str) -> Variant:
    return Variant(id=method, settings=METHODS[method].settings or Settings())


def _is_kept(variant: Variant, answers: Answers, layers: Sequence[int]) -> bool:
    """Whether the batch has every layer that the variant looks at in the model."""
    wanted = window(variant.settings, captured=layers, num_layers=answers.num_layers)
    return set(wanted) <= set(answers.layers)


def _uncertainties(
    variants: Sequence[Variant], answers: Answers, names: Sequence[str], chosen: np.ndarray
) -> dict[str, np.ndarray]:
    """The uncertainty (A,) of each variant by its id."""
    settings = [replace(variant.settings, alignment=answers.alignment) for variant in variants]
    rows = score_grid(answers, settings)
    return {
        variant.id: score_single_head(answers, one, names, chosen) if variant.id == SINGLE_HEAD else row
        for variant, one, row in zip(variants, settings, rows, strict=True)
    }
