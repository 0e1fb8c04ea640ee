"""RAUQ with fixed heads, or with one component changed (paper, ablation tables)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from analysis.methods.comparison import RAUQ, Comparison, Group, Metric, compare
from analysis.quality.judgement import Thresholds
from rauq.methods.table import METHODS
from rauq.scoring.algorithm import score_grid
from rauq.scoring.settings import Settings, window
from rauq.trace.batch import Answers

MOST = 100  # answers of a group that heads are chosen on (paper)
_SHARE = 3  # and never more than a third of it


def held_out(names: Sequence[str], *, seed: int = 0) -> np.ndarray:
    """Draw the part of each group that heads are chosen on: (A,), True there, given the group of each answer."""
    rng, given = np.random.default_rng(seed), np.asarray(names)
    chosen = np.zeros(len(given), dtype=bool)
    for name in np.unique(given):
        rows = np.flatnonzero(given == name)
        chosen[rng.permutation(rows)[: min(MOST, len(rows) // _SHARE)]] = True
    return chosen


def fixed_heads(answers: Answers, settings: Settings) -> tuple[tuple[int, int], ...]:
    """The (layer, head) of largest mean weight over the tokens of all these answers; none if no answer has two tokens.

    An answer weighs as much as it has tokens, as in the reference.
    """
    layers = window(settings, captured=answers.layers, num_layers=answers.num_layers)
    weights = answers.lengths - 1
    if not weights.any():
        return ()
    means = np.average(answers.head_means(layers)[weights > 0], axis=0, weights=weights[weights > 0])
    return tuple(zip(layers, (int(head) for head in means.argmax(axis=-1)), strict=True))


def score_single_head(answers: Answers, settings: Settings, names: Sequence[str], chosen: np.ndarray) -> np.ndarray:
    """Uncertainty (A,) of the answers that are not `chosen` (A,), with the heads of the chosen ones of their group.

    nan for the chosen answers themselves, and in groups where no head could be chosen.

    Raises:
        InvalidInput: settings that do not fit the batch.
    """
    uncertainty, given = np.full(len(chosen), np.nan), np.asarray(names)
    for name in np.unique(given):
        heads = fixed_heads(answers.take(np.flatnonzero((given == name) & chosen)), settings)
        rest = np.flatnonzero((given == name) & ~chosen)
        if heads and len(rest):
            uncertainty[rest] = score_grid(answers.take(rest), [replace(settings, heads=heads)])[0]
    return uncertainty


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
    (SINGLE_HEAD, "One head per layer, selected on held-out answers", (RAUQ, SINGLE_HEAD), ("llama_single_head",)),
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
    """A table computed: its rows compared by their ids, and the ids of those that use layers which are not stored.

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
    seed: int = 0,
) -> Ablated:
    """Compute one table for A answers with their quality (A,) and the names of their groups (A,).

    `layers` are all that the model has attention in: a run may keep fewer, and then rows are missing.
    """
    variants = variants_of(ablation, answers, names, layers=layers, seed=seed)
    there, chosen = list(variants.uncertainties), variants.chosen
    columns = {"quality": quality} | variants.uncertainties
    return Ablated(
        ablation=ablation,
        comparison=compare(
            pd.DataFrame(columns),
            there,
            [group.among(~chosen) for group in groups],
            metric=metric,
            thresholds=thresholds,
        ),
        missing=tuple(variant.id for variant in ablation.variants if variant.id not in there),
        chosen_on=int(chosen.sum()),
    )


class Variants(NamedTuple):
    """The uncertainty (A,) of each variant by its id; `chosen` (A,): the answers that heads were chosen on."""

    uncertainties: dict[str, np.ndarray]
    chosen: np.ndarray


def variants_of(
    ablation: Ablation, answers: Answers, names: Sequence[str], *, layers: Sequence[int], seed: int = 0
) -> Variants:
    """Score A answers by the variants of a table whose layers are kept; `names` and `layers` as in `ablate`."""
    chosen = held_out(names, seed=seed) if ablation.id == SINGLE_HEAD else np.zeros(len(names), dtype=bool)
    there = [variant for variant in ablation.variants if _is_kept(variant, answers, layers)]
    return Variants(_uncertainties(there, answers, names, chosen), chosen)


def _variant(method: str) -> Variant:
    return Variant(id=method, settings=METHODS[method].settings or Settings())


def _is_kept(variant: Variant, answers: Answers, layers: Sequence[int]) -> bool:
    """Whether the batch has every layer that the variant uses in the model."""
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
