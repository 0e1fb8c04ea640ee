"""Ablations of RAUQ averaged over the runs of a collection (paper, Tables 5 to 10): one run in memory at a time."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from analysis.collections.collection import Cell, Collection, rank_collection
from analysis.collections.layouts import Layout, by_data_set, by_task
from analysis.methods.ablations import Ablation, ablations, variants_of
from analysis.methods.comparison import Metric
from analysis.runs.attention import batch
from analysis.runs.opened import Run, open_run
from analysis.stats import METRICS
from rauq.errors import InvalidInput, RunError
from rauq.methods.table import METHODS

Opened = Callable[[Path], Run]

TABLES: tuple[Ablation, ...] = tuple(
    replace(table, variants=tuple(variant for variant in table.variants if variant.id in METHODS))
    for table in ablations(())
)
"""The paper's tables of ablations; the report of one run has rows of single layers too, which differ between models."""


def ablated(
    collection: Collection,
    *,
    seed: int = 0,
    opened: Opened = open_run,
    on_run: Callable[[Cell], None] = lambda _cell: None,
) -> Mapping[str, Collection]:
    """By the id of each table the same runs, with its variants of RAUQ in place of their methods.

    Attention is read run by run and dropped again. Answers on which the heads of a single-head row were chosen have no
    quality in that table, so that no row is ranked on them.

    Raises:
        RunError: a run can no longer be read.
    """
    scored: dict[str, list[Cell]] = {table.id: [] for table in TABLES}
    for cell in collection.cells:
        on_run(cell)
        for table, own in zip(TABLES, _variants(cell, opened, seed), strict=True):
            scored[table.id].append(own)
    return {table: Collection(cells=tuple(cells)) for table, cells in scored.items()}


def _variants(cell: Cell, opened: Opened, seed: int) -> Iterable[Cell]:
    if not len(cell.quality):
        return [replace(cell, uncertainties={}) for _ in TABLES]
    run = opened(cell.folder)
    if len(run.answers) != len(cell.quality):
        message = f"The run {cell.folder} has changed since it was opened. Make the report again."
        raise RunError(message)
    return _scored(cell, run, seed)


def _scored(cell: Cell, run: Run, seed: int) -> list[Cell]:
    names, layers, scored = run.answers["group"].tolist(), run.answerer.layers, []
    try:
        answers = batch(run)
        for table in TABLES:
            variants = variants_of(table, answers, names, layers=layers, seed=seed)
            quality = np.where(variants.chosen, np.nan, cell.quality)
            scored.append(replace(cell, quality=quality, uncertainties=variants.uncertainties))
    except InvalidInput:  # no layer of the paper's window has attention: no variant is defined
        return [replace(cell, uncertainties={}) for _ in TABLES]
    return scored


def ablation_layouts(scored: Mapping[str, Collection], metric: Metric, *, intervals: bool = False) -> dict[str, Layout]:
    """The table of each ablation, by its id."""
    return {table.id: ablation_layout(table, scored[table.id], metric, intervals=intervals) for table in TABLES}


def ablation_layout(table: Ablation, collection: Collection, metric: Metric, *, intervals: bool = False) -> Layout:
    """The table of one ablation, whose variants are the methods of `collection`: of several models the means by task.

    Of one model it has a column for each data set, as in the paper.
    """
    rows = [variant.id for variant in table.variants]
    ranked = rank_collection(collection, metric, methods=rows, intervals=intervals)
    name, heading = f"ablation_{table.id}", f"Ablation, {METRICS[metric]}: {table.title.lower()}"
    if len(collection.models) == 1:
        return by_data_set(ranked, collection.models[0], name=name, heading=heading, first="variant")
    return by_task(ranked, collection.models, name=name, heading=heading, first="variant")
