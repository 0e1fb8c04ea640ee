"""How well each method ranks the answers of every run of a collection, and the means that the paper's tables show."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.collections.collection import TASKS, Cell, Collection, Task, ordered_columns
from analysis.methods.comparison import ALL, Group, Judged, Metric, Ranking, judged, mean_of, ranking
from analysis.stats import Estimate

NOT_COMPUTED = "not computed"


@dataclass(frozen=True, eq=False)
class RankedCell:
    """A run, and the metric of each method over all its answers; `unranked` says why no ranking is defined, or ""."""

    cell: Cell
    rankings: Mapping[str, Ranking]
    unranked: str


@dataclass(frozen=True, eq=False, kw_only=True)
class RankedCollection:
    """M methods, by id, in every run of a collection. `resamples`: of each run's answers, 0 for no intervals."""

    metric: Metric
    methods: tuple[str, ...]
    cells: tuple[RankedCell, ...]
    resamples: int

    def of_model(self, model: str) -> tuple[RankedCell, ...]:
        """The runs of a model, the paper's data sets in its order first."""
        own = {one.cell.column: one for one in self.cells if one.cell.model == model}
        return tuple(own[name] for name in ordered_columns([one.cell for one in own.values()]))


def rank_collection(
    found: Collection, metric: Metric, *, methods: Sequence[str] = (), resamples: int = 0, seed: int = 0
) -> RankedCollection:
    """Rank the answers of every run by each method, by default those that any run has.

    All answers of a run are ranked together, whatever their groups. For ROC-AUC the threshold is that of the run's own
    measure. `resamples` of 0 leaves out the bootstrap, which takes most of the time.
    """
    methods = tuple(methods) or found.methods
    return RankedCollection(
        metric=metric,
        methods=methods,
        cells=tuple(
            _ranked(cell, metric, methods, resamples=resamples, seed=seed + place)
            for place, cell in enumerate(found.cells)
        ),
        resamples=resamples,
    )


def _ranked(cell: Cell, metric: Metric, methods: Sequence[str], *, resamples: int, seed: int) -> RankedCell:
    whole = Group(ALL, np.arange(len(cell.quality)))
    among = judged(whole, cell.quality, metric=metric, thresholds=cell.thresholds, count=resamples, seed=seed)
    found = {
        method: ranking(cell.uncertainties[method][among.rows], among)
        if method in cell.uncertainties
        else undefined(f"{NOT_COMPUTED} in {cell.run}", among.size, resamples)
        for method in methods
    }
    return RankedCell(cell, found, _why_unranked(among))


def _why_unranked(among: Judged) -> str:
    return "" if among.can_be_ranked else ranking(-among.truth, among).estimate.reason


def undefined(reason: str, size: int = 0, resamples: int = 0) -> Ranking:
    """A ranking that is undefined for this reason, of `size` answers."""
    return Ranking(Estimate(np.nan, np.nan, np.nan, 0, size, reason), np.full(resamples, np.nan))


def mean(rankings: Sequence[Ranking]) -> Ranking:
    """The mean of one method's rankings, undefined where one of them is."""
    size = sum(one.estimate.n + one.estimate.excluded for one in rankings)
    reasons = list(dict.fromkeys(one.estimate.reason for one in rankings if one.estimate.reason))
    if reasons:
        more = f", and {len(reasons) - 1} more" if len(reasons) > 1 else ""
        return undefined(f"{reasons[0]}{more}", size, len(rankings[0].resampled))
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


def shared(found: RankedCollection, models: Sequence[str]) -> Shared:
    """The data sets over which these models can be compared."""
    own = {model: {one.cell.column: one for one in found.of_model(model)} for model in models}
    sets: dict[Task, tuple[str, ...]] = {}
    left_out: list[tuple[str, str]] = []
    tasks = []
    for task in TASKS:
        cells = [one.cell for several in own.values() for one in several.values() if one.cell.task == task]
        having = [model for model in models if any(cell.model == model for cell in cells)]
        why = {name: _why_left_out(name, having, own) for name in ordered_columns(cells)}
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


def task_means(found: RankedCollection, model: str, names: Sequence[str]) -> dict[str, Ranking]:
    """The mean of each method over these data sets of a model."""
    own = {one.cell.column: one for one in found.of_model(model)}
    if not set(names) <= set(own):
        return {method: undefined(f"no run of {model}", resamples=found.resamples) for method in found.methods}
    return {method: mean([own[name].rankings[method] for name in names]) for method in found.methods}
