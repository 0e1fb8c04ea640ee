"""A collection: runs side by side, each the cell of a model and a data set, with its own measure of quality.

Each method ranks the answers of every run; the means are those that the paper's tables show.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Literal, get_args

import numpy as np

from analysis.answer_sets.sentences import joined
from analysis.datasets.facts.tables import FAMILIES
from analysis.datasets.names import EMBEDDED_SETS, FACT_SETS
from analysis.datasets.public.paper_set import Task as PaperTask
from analysis.datasets.public.twelve import PAPER_SETS
from analysis.methods.comparison import (
    ALL,
    Group,
    Judged,
    Metric,
    Ranking,
    judged,
    mean_of,
    ranking,
)
from analysis.quality.judgement import Thresholds
from analysis.quality.measures import measure
from analysis.quality.unclear import about_unclear
from analysis.runs.manifest import Answerer
from analysis.runs.opened import Run
from analysis.stats import Estimate
from rauq.checkpoints.kinds import find_preset
from rauq.errors import InvalidInput
from rauq.methods.table import METHODS

Task = Literal[PaperTask, "Facts", "Embedded", "Own files"]
TASKS: tuple[Task, ...] = get_args(Task)
"""The paper's three, then those of data sets that it does not have: these are averaged on their own, never as QA."""

ModelClass = Literal["base", "small_large", "instruct"]
"""The paper has a table for each: base models (1), those of at most 1B or at least 70B (15), instruct models (16)."""

_SMALL, _LARGE = 1.5e9, 60e9  # parameters: the paper's "1B" has 1.24e9
_FACTS = (*FACT_SETS, *(f"{name}: {family}" for name in FACT_SETS for family in FAMILIES))
_TASK_OF: dict[str, Task] = {
    **{one.title: one.task for one in PAPER_SETS.values()},
    **dict.fromkeys(EMBEDDED_SETS, "Embedded"),
    **dict.fromkeys(_FACTS, "Facts"),
}
_COLUMN_OF = MappingProxyType({"CNN/DailyMail": "CNN", "WMT14 Fr-En": "WMT14", "WMT19 De-En": "WMT19"})
_PAPER_ORDER = (
    *("XSum", "SamSum", "CNN", "WMT14", "WMT19", "MedQUAD", "TruthfulQA", "CoQA", "SciQ", "TriviaQA", "MMLU", "GSM8k"),
)


_PAPER_MODELS = (
    *("Llama-3.1 8B", "Qwen-2.5 7B", "Gemma-2 9B", "Falcon-3 10B"),
    *("SmolLM-2 360M", "Llama-3.2 1B", "Llama-3.1 70B"),
    *("GPT-OSS 20B", "Llama-3.1 8B-Instruct"),
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Cell:
    """A run in a collection: what ranks its A answers. Texts and attention stay on disk, in `folder`.

    `model` and `data` are the names of its row and column. `quality` (A,): nan where undefined; `clusters` (A,):
    answers to one question have one label; `uncertainties` (A,) by the id of the method. `asked`: examples of the run,
    `failed` of which had an error; `corrected`: verdicts that the user changed; `unclear`: answers without a verdict
    that nobody has read.
    """

    folder: Path
    run: str
    model: str
    answerer: Answerer
    data: str
    data_sha256: str
    measure: str
    thresholds: Thresholds
    quality: np.ndarray
    clusters: np.ndarray
    uncertainties: Mapping[str, np.ndarray]
    asked: int
    failed: int
    corrected: int
    unclear: int = 0

    @property
    def task(self) -> Task:
        """The task that the data set is averaged under; facts, embedded sets and own files have one each."""
        return _TASK_OF.get(self.data, "Own files")

    @property
    def column(self) -> str:
        """The data set as the paper heads its columns."""
        return _COLUMN_OF.get(self.data, self.data)

    @property
    def model_class(self) -> ModelClass:
        """The table of the paper that the model would be in; a model of unknown size is among the base models."""
        if self.answerer.kind == "instruct":
            return "instruct"
        size = _parameters(self.answerer.name)
        return "base" if size is None or _SMALL < size < _LARGE else "small_large"

    @property
    def missing(self) -> int:
        """Examples that are not answered yet, or whose answers are damaged."""
        return self.asked - self.failed - len(self.quality)


@dataclass(frozen=True, eq=False, kw_only=True)
class Collection:
    """Cells, of which no two are of the same model and data set, in the order in which they were given."""

    cells: tuple[Cell, ...]

    @property
    def models(self) -> tuple[str, ...]:
        """The models, the paper's in the order of its tables, then the others in that of their first run."""
        return _ordered((cell.model for cell in self.cells), _PAPER_MODELS)

    @property
    def columns(self) -> tuple[str, ...]:
        """The data sets, the paper's in the order of its tables, then the others."""
        return _ordered_columns(self.cells)

    @property
    def methods(self) -> tuple[str, ...]:
        """The ids of all methods that any run has, in the order of `rauq.METHODS`."""
        there = {method for cell in self.cells for method in cell.uncertainties}
        return tuple(method for method in METHODS if method in there)

    def of_class(self, model_class: ModelClass) -> tuple[str, ...]:
        """The models of one of the paper's tables."""
        return _ordered((cell.model for cell in self.cells if cell.model_class == model_class), _PAPER_MODELS)


def _ordered_columns(cells: Sequence[Cell]) -> tuple[str, ...]:
    """The data sets of these cells, the paper's in the order of its tables, then the others as they come."""
    return _ordered((cell.column for cell in cells), _PAPER_ORDER)


def _ordered(names: Iterable[str], first: Sequence[str]) -> tuple[str, ...]:
    there = dict.fromkeys(names)
    return (*(name for name in first if name in there), *(name for name in there if name not in first))


def cell_of(run: Run) -> Cell:
    """What a collection keeps of a run."""
    request = run.manifest.request
    judged = measure(request.quality)
    return Cell(
        folder=run.folder,
        run=run.manifest.name,
        model=_model_name(run.answerer),
        answerer=run.answerer,
        data=request.data,
        data_sha256=request.data_sha256,
        measure=judged.name,
        thresholds=judged.thresholds,
        quality=run.answers["quality"].to_numpy(dtype=float),
        clusters=run.clusters,
        uncertainties=MappingProxyType({method: run.uncertainty(method) for method in run.methods}),
        asked=request.count,
        failed=len(run.failures),
        corrected=int(run.answers["corrected"].sum()),
        unclear=int(run.answers["unclear"].sum()),
    )


def collect(cells: Iterable[Cell]) -> Collection:
    """Put runs side by side; models of one name that differ, for example in their revision, are told apart.

    Raises:
        InvalidInput: no run, or two runs of the same model on the same data set.
    """
    found = _told_apart(tuple(cells))
    if not found:
        message = "A collection needs at least one run."
        raise InvalidInput(message)
    counts = Counter((cell.model, cell.column) for cell in found)
    (model, column), count = counts.most_common(1)[0]
    if count > 1:
        names = ", ".join(str(cell.folder) for cell in found if (cell.model, cell.column) == (model, column))
        message = f"{count} runs are of {model} on {column}: {names}. A table has one place for them; choose one."
        raise InvalidInput(message)
    return Collection(cells=found)


def _told_apart(cells: tuple[Cell, ...]) -> tuple[Cell, ...]:
    """The cells, with kind and revision in the name of models that share one."""
    identities: dict[str, set[tuple[str, str]]] = {}
    for cell in cells:
        identities.setdefault(cell.model, set()).add((cell.answerer.kind, _revision(cell.answerer)))
    return tuple(
        replace(cell, model=f"{cell.model} ({cell.answerer.kind}, {_revision(cell.answerer)[:7]})")
        if len(identities[cell.model]) > 1
        else cell
        for cell in cells
    )


def _revision(answerer: Answerer) -> str:
    return answerer.weights_sha256 or answerer.revision


def _model_name(answerer: Answerer) -> str:
    """The paper's name of its models, the adapter of their weights, else the last part of the name."""
    preset = find_preset(answerer.name)
    name = answerer.adapter or (preset.name if preset else PurePath(answerer.name).name)
    return f"{name} ({answerer.quantisation})" if answerer.quantisation else name


_SIZE = re.compile(r"(?<![a-z0-9.])(\d{1,4}(?:\.\d{1,2})?)([mb])(?![a-z0-9])", re.IGNORECASE)
_UNIT = MappingProxyType({"m": 1e6, "b": 1e9})


def _parameters(name: str) -> float | None:
    """The parameters of a model of the paper, else as its name states them, such as 135M; None where it does not."""
    if preset := find_preset(name):
        return preset.parameters
    stated = _SIZE.search(PurePath(name).name)
    return float(stated[1]) * _UNIT[stated[2].lower()] if stated else None


NOT_COMPUTED = "not computed"
_MOST_NAMED = 4  # runs


@dataclass(frozen=True, eq=False)
class RankedCell:
    """A run, and the metric of each method over all its answers; `unranked` says why no ranking is defined, or ""."""

    cell: Cell
    rankings: Mapping[str, Ranking]
    unranked: str


@dataclass(frozen=True, eq=False, kw_only=True)
class RankedCollection:
    """M methods, by id, in every run of a collection. `intervals`: whether tables show them."""

    metric: Metric
    methods: tuple[str, ...]
    cells: tuple[RankedCell, ...]
    intervals: bool

    def of_model(self, model: str) -> tuple[RankedCell, ...]:
        """The runs of a model, the paper's data sets in its order first."""
        own = {one.cell.column: one for one in self.cells if one.cell.model == model}
        return tuple(own[name] for name in _ordered_columns([one.cell for one in own.values()]))


def rank_collection(
    collection: Collection, metric: Metric, *, methods: Sequence[str] = (), intervals: bool = False
) -> RankedCollection:
    """Rank the answers of every run by each method, by default those that any run has.

    All answers of a run are ranked together, whatever their groups. For ROC-AUC the threshold is that of the run's own
    measure.
    """
    methods = tuple(methods) or collection.methods
    return RankedCollection(
        metric=metric,
        methods=methods,
        cells=tuple(_ranked(cell, metric, methods) for cell in collection.cells),
        intervals=intervals,
    )


def _ranked(cell: Cell, metric: Metric, methods: Sequence[str]) -> RankedCell:
    whole = Group(ALL, np.arange(len(cell.quality)), cell.clusters)
    among = judged(whole, cell.quality, metric=metric, thresholds=cell.thresholds)
    found = {
        method: ranking(cell.uncertainties[method][among.rows], among)
        if method in cell.uncertainties
        else undefined(f"{NOT_COMPUTED} in {cell.run}", among.size)
        for method in methods
    }
    return RankedCell(cell, found, _why_unranked(among))


def _why_unranked(among: Judged) -> str:
    return "" if among.can_be_ranked else ranking(-among.truth, among).estimate.reason


def undefined(reason: str, size: int = 0) -> Ranking:
    """A ranking that is undefined for this reason, of `size` answers."""
    return Ranking(Estimate(np.nan, np.nan, np.nan, 0, size, reason), np.zeros(0), None)


def mean(rankings: Sequence[Ranking]) -> Ranking:
    """The mean of one method's rankings, undefined where one of them is."""
    size = sum(one.estimate.n + one.estimate.excluded for one in rankings)
    reasons = list(dict.fromkeys(one.estimate.reason for one in rankings if one.estimate.reason))
    if reasons:
        more = f", and {len(reasons) - 1} more" if len(reasons) > 1 else ""
        return undefined(f"{reasons[0]}{more}", size)
    return mean_of(rankings, size=size) if rankings else undefined("no data set can be averaged")


@dataclass(frozen=True)
class Shared:
    """What the means of several models are over: the data sets of each task that all of them share.

    `sets`: by task, those in which ranking is defined for all models that have the task; `left_out`: every other data
    set, with the reason; `tasks`: those that every model has, over which the mean of all is.
    """

    sets: Mapping[Task, tuple[str, ...]]
    left_out: tuple[tuple[str, str], ...]
    tasks: tuple[Task, ...]


def shared(ranked_collection: RankedCollection, models: Sequence[str]) -> Shared:
    """The data sets over which these models can be compared."""
    own = {model: {one.cell.column: one for one in ranked_collection.of_model(model)} for model in models}
    sets: dict[Task, tuple[str, ...]] = {}
    left_out: list[tuple[str, str]] = []
    tasks = []
    for task in TASKS:
        cells = [one.cell for several in own.values() for one in several.values() if one.cell.task == task]
        having = [model for model in models if any(cell.model == model for cell in cells)]
        why = {name: _why_left_out(name, having, own) for name in _ordered_columns(cells)}
        sets[task] = tuple(name for name, reason in why.items() if not reason)
        left_out += [(name, reason) for name, reason in why.items() if reason]
        tasks += [task] if sets[task] and len(having) == len(models) else []
    return Shared({task: names for task, names in sets.items() if names}, tuple(left_out), tuple(tasks))


def _why_left_out(name: str, models: Iterable[str], own: Mapping[str, Mapping[str, RankedCell]]) -> str:
    absent = [model for model in models if name not in own[model]]
    if absent:
        return f"no run of {', '.join(absent)}"
    reasons = [f"{model}: {own[model][name].unranked}" for model in models if own[model][name].unranked]
    return "; ".join(reasons)


def task_means(ranked_collection: RankedCollection, model: str, names: Sequence[str]) -> dict[str, Ranking]:
    """The mean of each method over these data sets of a model."""
    own = {one.cell.column: one for one in ranked_collection.of_model(model)}
    if not set(names) <= set(own):
        return {method: undefined(f"no run of {model}") for method in ranked_collection.methods}
    return {method: mean([own[name].rankings[method] for name in names]) for method in ranked_collection.methods}


def overview(collection: Collection) -> str:
    """What is there: models, data sets and runs, and what is missing of the answers."""
    models, columns, cells = len(collection.models), len(collection.columns), len(collection.cells)
    answers = sum(len(cell.quality) for cell in collection.cells)
    empty = models * columns - cells
    return joined(
        f"{_count(cells, 'run')} of {_count(models, 'model')} on {_count(columns, 'data set')}, {answers:,} answers.",
        f"{_count(empty, 'pair')} of model and data set {'have' if empty > 1 else 'has'} no run." if empty else "",
        about_unclear(sum(cell.unclear for cell in collection.cells)),
        _unfinished_note(collection.cells),
        _examples_note(collection.cells),
    )


def _unfinished_note(cells: Sequence[Cell]) -> str:
    """Which runs lack answers; "" where none does."""
    words = [f"{cell.run} ({_lacking(cell)} of {cell.asked:,})" for cell in cells if cell.missing or cell.failed]
    more = f" and {_count(len(words) - _MOST_NAMED, 'more run')}" if len(words) > _MOST_NAMED else ""
    return f"Not complete, used as far as answered: {', '.join(words[:_MOST_NAMED])}{more}." if words else ""


def _examples_note(cells: Sequence[Cell]) -> str:
    """The data sets of which models of one kind were asked other examples or prompts; "" where there are none."""
    asked: dict[tuple[str, str], set[str]] = {}
    for cell in cells:
        asked.setdefault((cell.column, cell.answerer.kind), set()).add(cell.data_sha256)
    names = dict.fromkeys(name for (name, _), prints in asked.items() if len(prints) > 1)
    return f"Not the same examples or prompts for every model: {', '.join(names)}." if names else ""


def _lacking(cell: Cell) -> str:
    parts = [f"{cell.missing:,} missing"] if cell.missing else []
    return " and ".join([*parts, *([f"{cell.failed:,} failed"] if cell.failed else [])])


def _count(value: int, name: str) -> str:
    return f"{value:,} {name}{'' if value == 1 else 's'}"
