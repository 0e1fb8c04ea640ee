"""The tables of a collection, laid out as in the paper: a row for each method, columns under the names of models.

With their captions and notes: what means are over, what is left out and why. For files also as LaTeX, the runs, and
every number.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from types import MappingProxyType
from typing import Literal, NamedTuple, get_args

import numpy as np
import pandas as pd

from analysis.answer_sets.sentences import joined
from analysis.collections.collection import (
    Cell,
    Collection,
    ModelClass,
    RankedCell,
    RankedCollection,
    Shared,
    mean,
    shared,
    task_means,
)
from analysis.exports.tables import Table, latex_text
from analysis.methods.comparison import RAUQ, Ranking, marks, name_of
from analysis.runs.library import slug
from analysis.runs.own import uses_judge
from analysis.stats import METRICS, Estimate
from rauq.labels import number

COLLECTION = (
    "All answers of a run are ranked together. Facts, embedded sets and own files are tasks of their own, never part "
    "of QA. A model counts as small or large by the paper, else by its name, such as 135M."
)
MARKED = "Best in bold, second underlined."
_STYLES = ("", "textbf: --rwrap;", "underline: --rwrap;")  # by the mark of a cell

Role = Literal["value", "difference", "published"]
ALL_MODELS = 4  # as many stand in one table of the paper
CLASS_NAMES = MappingProxyType[ModelClass, str](
    {"base": "base models", "small_large": "small and large models", "instruct": "instruct models"}
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Column:
    """A column: its title under that of `top`, and an estimate for each row. The best of a "value" are marked.

    `is_mean`: the last one, over all others.
    """

    top: str
    title: str
    estimates: tuple[Estimate, ...]
    role: Role = "value"
    is_mean: bool = False

    @property
    def name(self) -> str:
        """Both titles in one, as in CSV."""
        return f"{self.top}: {self.title}" if self.title else self.top

    @property
    def marks(self) -> list[int]:
        """For each row 1 if it is the best of the column, 2 if it is the second, else 0."""
        ranked = self.role == "value" and len(self.estimates) > 1
        return marks(self.estimates).tolist() if ranked else [0] * len(self.estimates)


class Shown(NamedTuple):
    """A cell as it is read: `mark` 1 for the best of its column, 2 for the second, else 0; `starts` a model's part."""

    words: str
    mark: int
    defined: bool
    starts: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class Layout:
    """A table and its words; `name` is that of its files.

    `notes` say what its means are over and why cells are undefined. `reasons`: an undefined cell shows its reason in
    place of a dash. `intervals`: a cell shows its interval, if it has one.
    """

    name: str
    heading: str
    caption: str
    rows: tuple[str, ...]
    columns: tuple[Column, ...]
    notes: tuple[str, ...] = ()
    first: str = "method"
    reasons: bool = False
    intervals: bool = False

    @property
    def tops(self) -> tuple[tuple[str, int], ...]:
        """The upper titles, each with the number of its columns."""
        return tuple((top, len(list(group))) for top, group in groupby(column.top for column in self.columns))

    @property
    def starts(self) -> tuple[bool, ...]:
        """Whether a column is the first under its upper title."""
        return tuple(place == 0 for _, width in self.tops for place in range(width))

    @property
    def cells(self) -> tuple[tuple[Shown, ...], ...]:
        """Every cell, row by row."""
        columns = [
            [
                Shown(self._words(one, column.role), mark, not np.isnan(one.value), starts)
                for one, mark in zip(column.estimates, column.marks, strict=True)
            ]
            for column, starts in zip(self.columns, self.starts, strict=True)
        ]
        return tuple(zip(*columns, strict=True))

    @property
    def is_marked(self) -> bool:
        """Whether the best of a column are marked."""
        return any(column.role == "value" for column in self.columns)

    @property
    def frame(self) -> pd.DataFrame:
        """The numbers in full, with the ends of intervals where there are any, and why a row lacks numbers."""
        columns: dict[str, object] = {self.first: list(self.rows)}
        for column in self.columns:
            columns[column.name] = [estimate.value for estimate in column.estimates]
            if any(not np.isnan(estimate.low) for estimate in column.estimates):
                columns[f"{column.name}, low"] = [estimate.low for estimate in column.estimates]
                columns[f"{column.name}, high"] = [estimate.high for estimate in column.estimates]
        return pd.DataFrame(columns | {what: self._missing(what) for what in ("undefined", "no interval")})

    def _missing(self, what: str) -> list[str]:
        """Why numbers of each row are missing, with the names of their columns."""
        rows = zip(*(column.estimates for column in self.columns), strict=True)
        named = [column.name for column in self.columns]
        return [
            "; ".join(f"{name}: {one.missing[what]}" for name, one in zip(named, row, strict=True) if one.missing[what])
            for row in rows
        ]

    def _words(self, estimate: Estimate, role: Role) -> str:
        if np.isnan(estimate.value):
            return estimate.reason if self.reasons and estimate.reason else "–"
        if role == "difference":
            return _signed(estimate.value)
        value = number(estimate.value, places=3)
        return (
            value
            if np.isnan(estimate.low) or not self.intervals
            else f"{value} [{number(estimate.low, places=2)}, {number(estimate.high, places=2)}]"
        )


_ROUNDING = 0.0005  # the paper's numbers have three places


def _signed(difference: float) -> str:
    """A difference with its sign and a mark; within the rounding of the paper it is none."""
    if abs(difference) <= _ROUNDING:
        return "0.000 ="
    return f"{'+' if difference > 0 else ''}{number(difference, places=3)} {'▲' if difference > 0 else '▼'}"


def layouts(collection: Collection, ranked: RankedCollection) -> tuple[Layout, ...]:
    """All tables of a metric: task means for each of the paper's classes of models, then one table for each model."""
    return (
        *(
            by_task(ranked, models, name=name, heading=f"Mean {METRICS[ranked.metric]} by task, {words}")
            for name, words, models in model_groups(collection)
        ),
        *(
            by_data_set(ranked, model, name=f"data_sets_{place}_{slug(model)}")
            for place, model in enumerate(collection.models, start=1)
        ),
    )


def model_groups(collection: Collection) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    """The models that share a table, with its name and its heading: each class, and a few models all together."""
    classes = [(one, collection.of_class(one)) for one in get_args(ModelClass) if collection.of_class(one)]
    together = len(classes) > 1 and len(collection.models) <= ALL_MODELS
    return (
        *([("tasks_all", "all models", collection.models)] if together else []),
        *((f"tasks_{one}", CLASS_NAMES[one], models) for one, models in classes if len(models) > 1 or not together),
    )


def by_task(
    ranked: RankedCollection, models: Sequence[str], *, name: str, heading: str, first: str = "method"
) -> Layout:
    """The paper's Tables 1 and 15 to 17: the mean over the data sets of each task for each model, and their mean."""
    over = shared(ranked, models)
    means = {
        (model, task): task_means(ranked, model, names)
        for model in models
        for task, names in over.sets.items()
        if any(one.cell.task == task for one in ranked.of_model(model))
    }
    columns = [
        Column(top=model, title=task, estimates=tuple(one.estimate for one in found.values()))
        for (model, task), found in means.items()
    ]
    return Layout(
        name=f"{name}_{ranked.metric}",
        heading=heading,
        caption=_layout_caption(ranked),
        rows=tuple(map(name_of, ranked.methods)),
        columns=(*columns, _mean_over_models(ranked, models, over)),
        notes=(*_mean_notes(over, models), *_undefined_notes(ranked.methods, list(means.values()))),
        first=first,
        intervals=ranked.intervals,
    )


def _mean_over_models(ranked: RankedCollection, models: Sequence[str], over: Shared) -> Column:
    means = [task_means(ranked, model, over.sets[task]) for model in models for task in over.tasks]
    each = [mean([one[method] for one in means]).estimate for method in ranked.methods]
    shown = each if len(models) == 1 else map(_without_interval, each)
    return Column(top="Mean", title="", estimates=tuple(shown), is_mean=True)


def _without_interval(estimate: Estimate) -> Estimate:
    """A mean over models: these answered the same questions, so their errors are not independent."""
    return replace(
        estimate, low=np.nan, high=np.nan, no_interval="" if estimate.reason else "models answered the same questions"
    )


def by_data_set(ranked: RankedCollection, model: str, *, name: str, heading: str = "", first: str = "method") -> Layout:
    """The paper's Tables 21 to 24: a column for each data set of a model, and their mean."""
    cells = ranked.of_model(model)
    columns = [
        Column(
            top=model,
            title=one.cell.column,
            estimates=tuple(one.rankings[method].estimate for method in ranked.methods),
        )
        for one in cells
    ]
    over = shared(ranked, [model])
    used = [one for one in cells if not one.unranked]
    means = tuple(mean([one.rankings[method] for one in used]).estimate for method in ranked.methods)
    return Layout(
        name=f"{name}_{ranked.metric}",
        heading=heading or f"{METRICS[ranked.metric]} on each data set, {model}",
        caption=_layout_caption(ranked),
        rows=tuple(map(name_of, ranked.methods)),
        columns=(*columns, Column(top="Mean", title="", estimates=means, is_mean=True)),
        notes=(
            *_mean_notes(over, [model]),
            *_undefined_notes(ranked.methods, [one.rankings for one in used]),
        ),
        first=first,
        intervals=ranked.intervals,
    )


def means_of_groups(collection: Collection, ranked: RankedCollection) -> dict[str, tuple[Estimate, ...]]:
    """The mean of all models by the words for them, or, where no table has all of these, that of each class."""
    groups = model_groups(collection)
    whole = [group for group in groups if group[2] == collection.models] or groups
    return {words: _mean_over_models(ranked, models, shared(ranked, models)).estimates for _, words, models in whole}


def headline(methods: Sequence[str], means: Mapping[str, Sequence[Estimate]], metric: str) -> str:
    """The best method by the mean over models and tasks, and RAUQ; `means`: the estimates (M,) of each table.

    Methods that read the facts of the judge do not compete, unless there are no others.
    """
    places = [place for place, method in enumerate(methods) if not uses_judge(method)] or range(len(methods))
    competing = [methods[place] for place in places]
    words = [
        f"{_best(competing, [estimates[place] for place in places])}{f' ({table})' if len(means) > 1 else ''}"
        for table, estimates in means.items()
    ]
    return f"Highest mean {METRICS[metric]}: {'; '.join(words)}"


def _best(methods: Sequence[str], estimates: Sequence[Estimate]) -> str:
    placed = marks(estimates)
    best = [name_of(method) for method, mark in zip(methods, placed, strict=True) if mark == 1]
    if not best:
        return "undefined"
    values = {method: one.value for method, one in zip(methods, estimates, strict=True) if not one.reason}
    leader = f"{' and '.join(best)} {number(max(values.values()))}"
    if RAUQ not in values or name_of(RAUQ) in best:
        return leader
    return f"{leader}, RAUQ {number(values[RAUQ])}"


def _layout_caption(ranked: RankedCollection) -> str:
    """How to read a table."""
    return joined(
        f"{METRICS[ranked.metric]} of each method, higher ranks better.",
        "A task is the mean over its data sets.",
        "Brackets: 95 % interval." if ranked.intervals else "",
        "Compare methods within a column: models and data differ between columns.",
    )


def _mean_notes(over: Shared, models: Sequence[str]) -> tuple[str, ...]:
    """The data sets that means are over, and those that are left out."""
    sets = "; ".join(f"{task} ({', '.join(names)})" for task, names in over.sets.items())
    left = "; ".join(f"{name} ({reason})" for name, reason in over.left_out)
    partial = [task for task in over.sets if task not in over.tasks]
    shared_by = "that all these models share" if len(models) > 1 else "of this model"
    return (
        f"Means over the data sets {shared_by}: {sets}." if sets else f"There is no data set {shared_by}.",
        *([f"Left out of every mean: {left}."] if left else []),
        *([f"Left out of the last mean, since not every model has it: {', '.join(partial)}."] if partial else []),
    )


def _undefined_notes(methods: Sequence[str], columns: Sequence[Mapping[str, Ranking]]) -> tuple[str, ...]:
    """In how many columns each method is undefined, and why in the first of them."""
    notes = []
    for method in methods:
        reasons = [found[method].estimate.reason for found in columns if found[method].estimate.reason]
        if reasons:
            notes.append(f"{name_of(method)}: undefined in {len(reasons)} of {len(columns)} columns ({reasons[0]}).")
    return tuple(notes)


def runs_table(collection: Collection) -> Table:
    """A row for each run: whose answers they are, how they are judged, and how many there are."""
    caption = "Each run with its own measure of quality; its mean is over the answers that could be judged."
    return Table("runs", "Runs", caption, pd.DataFrame(list(map(_run, collection.cells))))


def _run(cell: Cell) -> dict[str, object]:
    judged = np.isfinite(cell.quality)
    return {
        "run": cell.run,
        "model": cell.model,
        "kind": cell.answerer.kind,
        "data set": cell.column,
        "task": cell.task,
        "quality": cell.measure,
        "mean quality": float(cell.quality[judged].mean()) if judged.any() else np.nan,
        "answers": len(cell.quality),
        "judged": int(judged.sum()),
        "asked": cell.asked,
        "failed": cell.failed,
        "unclear": cell.unclear,
        "corrected": cell.corrected,
        "methods": len(cell.uncertainties),
    }


def cells_table(found: Iterable[RankedCollection]) -> pd.DataFrame:
    """A row for each metric of each method in each run, with its interval if there is one, and why it is undefined."""
    return pd.DataFrame(
        [row for ranked in found for one in ranked.cells for row in _cell(one, ranked.metric, ranked.methods)]
    )


def _cell(ranked_cell: RankedCell, metric: str, methods: Iterable[str]) -> Iterable[dict[str, object]]:
    for method in methods:
        estimate = ranked_cell.rankings[method].estimate
        yield {
            "model": ranked_cell.cell.model,
            "data set": ranked_cell.cell.column,
            "task": ranked_cell.cell.task,
            "metric": metric,
            "method": name_of(method),
            "value": estimate.value,
            "low": estimate.low,
            "high": estimate.high,
            "answers": estimate.n,
            "excluded": estimate.excluded,
            **estimate.missing,
            "run": ranked_cell.cell.run,
        }


def latex_layout(layout: Layout) -> str:
    """A table environment with two rows of headings, the best of a column in bold and the second underlined."""
    columns = pd.MultiIndex.from_tuples(
        [("", layout.first), *((column.top, column.title) for column in layout.columns)]
    )
    rows = list(zip(layout.rows, layout.cells, strict=True))
    frame = pd.DataFrame([(name, *(cell.words for cell in cells)) for name, cells in rows], columns=columns)
    styles = pd.DataFrame([("", *(_STYLES[cell.mark] for cell in cells)) for _, cells in rows], columns=columns)
    shown = frame.style.hide(axis="index").format(latex_text).format_index(latex_text, axis="columns")
    return shown.apply(lambda _: styles, axis=None).to_latex(
        column_format="l" + "r" * len(layout.columns),
        position_float="centering",
        hrules=True,
        multicol_align="c",
        caption=latex_text(joined(f"{layout.heading}.", layout.caption, MARKED if layout.is_marked else "")),
        label=f"tab:{layout.name}",
    )
