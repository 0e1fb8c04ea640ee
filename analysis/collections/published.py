"""The paper's tables beside those of a collection: published, measured here, and the difference."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from analysis import paper
from analysis.answer_sets.sentences import joined
from analysis.collections.ablated import TABLES
from analysis.collections.collection import (
    NOT_COMPUTED,
    Collection,
    ModelClass,
    RankedCollection,
    Shared,
    shared,
)
from analysis.collections.layouts import Column, Layout, by_data_set, by_task
from analysis.datasets.public.twelve import PAPER_SETS
from analysis.exports.tables import Table
from analysis.methods.comparison import Metric, name_of
from analysis.stats import Estimate
from rauq.labels import number

DASHES = "Not stated: the paper gives no number. Not run: no run here has it. Not implemented: there is no such method."
HEADS = (
    "The three heads selected most often in each layer, with the percent of answers, Llama-3.1 8B. A dash: no further "
    "head was selected."
)
_LEAST = 2  # consecutive numbers that are no span yet

NOT_STATED, NOT_RUN, NOT_IMPLEMENTED, UNDEFINED = "not stated", "not run", "not implemented", "undefined"

_OF_CLASS: Mapping[tuple[ModelClass, Metric], str] = {
    ("base", "prr"): "overall_results",
    ("base", "roc_auc"): "overall_results_roc_auc",
    ("small_large", "prr"): "overall_results_small_large",
    ("instruct", "prr"): "instruction_results",
}
_MEAN = ("Mean", "")
_DETAILED = (
    *("llama_detailed", "qwen_detailed", "gemma_detailed", "falcon_detailed", "attention_score_selected_head"),
    *("llama_supervised_id", "llama_supervised_ood", "llama_lig"),
)

_Key = tuple[str, str]  # a model and a task or data set, or _MEAN


def published_beside(collection: Collection, ranked: RankedCollection) -> tuple[Layout, ...]:
    """The paper's tables of methods beside those of a collection, as far as the paper has the metric and the models."""
    by_class = [
        (label, _of_class(ranked, label, collection.of_class(one)))
        for (one, metric), label in _OF_CLASS.items()
        if metric == ranked.metric and collection.of_class(one)
    ]
    detailed = [
        (one.table, by_data_set(ranked, one.model, name=one.table))
        for one in paper.published_tables()
        if one.table in _DETAILED and one.metric == ranked.metric and one.model in collection.models
    ]
    return tuple(beside(ours, ranked.methods, label) for label, ours in (*by_class, *detailed))


def _of_class(ranked: RankedCollection, label: str, models: Sequence[str]) -> Layout:
    made = by_task(ranked, models, name=label, heading="")
    fewer = _fewer_sets_note(shared(ranked, models))
    return replace(made, notes=(*filter(None, [fewer]), *made.notes))


def ablations_beside(ours: Mapping[str, Layout]) -> tuple[Layout, ...]:
    """The paper's tables of ablations beside those of a collection by PRR, given by their ids."""
    return tuple(
        beside(ours[table.id], [variant.id for variant in table.variants], label)
        for table in TABLES
        for label in table.published
    )


def beside(ours: Layout, methods: Sequence[str], label: str) -> Layout:
    """A published table beside ours, whose rows are `methods`: the columns that both have, and the mean."""
    theirs = _published(label)
    names = _methods_of(label)
    rows = (*names.items(), *(("", method) for method in methods if method not in names.values()))
    own = {_key(column): dict(zip(methods, column.estimates, strict=True)) for column in ours.columns}
    both = [key for key in own if key in theirs]
    known = tuple(dict.fromkeys(key[0] for key in both if key != _MEAN))
    is_whole = set(theirs) <= set(own)
    columns = [
        column
        for key in both
        for column in _columns(key, theirs[key], own[key], rows, compared=is_whole or key != _MEAN)
    ]
    number = paper.TABLE_NUMBERS[label]
    return Layout(
        name=f"published_{label}",
        heading=f"Beside the paper's Table {number}",
        caption=_beside_caption(known, is_whole=is_whole),
        rows=tuple(name_of(method) if method else name for name, method in rows),
        columns=tuple(columns),
        notes=(DASHES, *ours.notes),
        first=ours.first,
        reasons=True,
    )


def _published(label: str) -> dict[_Key, pd.Series]:
    """The columns of a published table by model and title, each a number by the paper's name of the row."""
    frames = {
        one.model: paper.published(one.table, one.model).set_index("published")
        for one in paper.published_tables()
        if one.table == label
    }
    found = {
        (_MEAN if title == "Mean" else (model, title)): frame[title]
        for model, frame in frames.items()
        for title in frame
        if title != "method"
    }
    over_models = paper.published_mean(label)
    return found if over_models.empty else found | {_MEAN: over_models}


def _methods_of(label: str) -> dict[str, str]:
    """The id of each row's method by the paper's name of the row, "" where there is none here."""
    one = next(table for table in paper.published_tables() if table.table == label)
    frame = paper.published(label, one.model)
    return dict(zip(frame["published"], frame["method"], strict=True))


def _key(column: Column) -> _Key:
    return _MEAN if column.is_mean else (column.top, column.title)


def _columns(
    key: _Key, theirs: pd.Series, own: Mapping[str, Estimate], rows: Sequence[tuple[str, str]], *, compared: bool
) -> tuple[Column, ...]:
    """Published and here, and the difference where the two are `compared`."""
    top = " ".join(filter(None, key))
    published = tuple(_stated(theirs.get(name, np.nan)) for name, _ in rows)
    here = tuple(_measured(name, method, own) for name, method in rows)
    between = tuple(_difference(one, other) for one, other in zip(here, published, strict=True))
    return (
        Column(top=top, title="published", estimates=published, role="published"),
        Column(top=top, title="here", estimates=here, role="published"),
        *([Column(top=top, title="difference", estimates=between, role="difference")] if compared else []),
    )


def _stated(value: float) -> Estimate:
    return _without_interval(value, NOT_STATED if np.isnan(value) else "")


_ONE_LAYER = re.compile(r"RAUQ \(\d+\w+ layer\)")  # in the report of a run, where layers have the same meaning


def _measured(name: str, method: str, own: Mapping[str, Estimate]) -> Estimate:
    if not method:
        return _without_interval(np.nan, NOT_RUN if _ONE_LAYER.fullmatch(name) else NOT_IMPLEMENTED)
    found = own.get(method)
    if found is None or found.reason.startswith(NOT_COMPUTED):
        return _without_interval(np.nan, NOT_RUN)
    return _without_interval(np.nan, UNDEFINED) if found.reason else found


def _difference(here: Estimate, published: Estimate) -> Estimate:
    return _without_interval(here.value - published.value, "")


def _without_interval(value: float, reason: str) -> Estimate:
    return Estimate(value, np.nan, np.nan, 0, 0, reason)


def contradictions_caption() -> str:
    """Where the paper contradicts itself about RAUQ with Llama-3.1 8B."""
    words = [f"{name} {_different(paper.contradictions(name))}" for name in ("Mean", "CNN", "MedQUAD")]
    return f"The paper contradicts itself on RAUQ with Llama-3.1 8B (its tables in brackets): {'; '.join(words)}."


def _different(found: Sequence[tuple[float, tuple[int, ...]]]) -> str:
    return ", ".join(f"{_short(value)} ({', '.join(_spans(tables))})" for value, tables in found)


def _short(value: float) -> str:
    """As the paper writes it, without the leading zero."""
    return number(value).replace("0.", ".", 1)


def _spans(tables: Sequence[int]) -> list[str]:
    """Numbers in ascending order, consecutive ones as a span."""
    spans: list[list[int]] = []
    for one in tables:
        if spans and one == spans[-1][-1] + 1:
            spans[-1].append(one)
        else:
            spans.append([one])
    return [f"{span[0]}–{span[-1]}" if len(span) > _LEAST else ", ".join(map(str, span)) for span in spans]


def _fewer_sets_note(over: Shared) -> str:
    """The tasks whose mean here is over fewer data sets than the paper has; "" where there are none."""
    whole = Counter[str](one.task for one in PAPER_SETS.values())
    words = [
        f"{task} over {len(names)} of {whole[task]}" for task, names in over.sets.items() if len(names) < whole[task]
    ]
    return f"Here over fewer of the paper's data sets: {', '.join(words)}." if words else ""


def _beside_caption(models: Sequence[str], *, is_whole: bool) -> str:
    """What stands beside the paper's numbers, and how far the two can be compared."""
    return joined(
        f"Published, measured here and here minus published of {', '.join(models)}: ▲ higher here, ▼ lower, = equal to "
        "three places. Prompts and samples differ."
        if models
        else "",
        "" if is_whole else "The means are of different models or data sets: compare the order of methods, not values.",
    )


def heads_tables() -> tuple[Table, ...]:
    """The paper's Tables 12 and 13."""
    return tuple(
        Table(
            label,
            f"Published selected heads, {name} (Table {paper.TABLE_NUMBERS[label]})",
            HEADS,
            paper.published_heads(label),
        )
        for label, name in (("llama_wmt_heads", "WMT14"), ("llama_coqa_heads", "CoQA"))
    )
