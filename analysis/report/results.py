"""All results that the report of a run shows, computed once."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any, Generic, TypeVar, get_args

import numpy as np

from analysis.answer_sets.quality_curves import (
    QualityBins,
    quality_bins,
)
from analysis.answer_sets.sentences import joined
from analysis.exports.tables import Table
from analysis.methods.ablations import Ablated, ablate, ablations
from analysis.methods.agreement import Disagreement, MethodAgreement, disagreement, method_agreement
from analysis.methods.attention_permutation import GroupControl, Sweep, control_groups, sweep
from analysis.methods.comparison import RAUQ, Comparison, Metric, Rejections, compare, groups_of, rejections
from analysis.methods.errors import ErrorAnalysis, error_analysis
from analysis.methods.unclear import comparison_bounds
from analysis.one_answer.figures import Drawing
from analysis.quality.judgement import Thresholds
from analysis.quality.measures import measure
from analysis.quality.unclear import UnclearBounds
from analysis.runs.attention import TokenChoice, batch
from analysis.runs.methods import check_comparable
from analysis.runs.opened import Run
from analysis.runs.timings import Cost, costs
from analysis.runs.traces import fact_masks
from analysis.views import answer_sets, heads
from analysis.views.answer_set import AnswerSet, keeping
from analysis.views.view import Seen, View
from rauq.errors import InvalidInput
from rauq.scoring.settings import Settings, Signal
from rauq.trace.trace import Alignment

C = TypeVar("C")
R = TypeVar("R")

OTHER = "perplexity"  # is set beside RAUQ, where the run has it


@dataclass(frozen=True, eq=False, kw_only=True)
class MethodResults:
    """The methods of a run compared, and variants of RAUQ.

    `comparisons`: by PRR and by ROC-AUC; `bounds`: the same with unclear answers on either side, None where none is.
    `sweeps`: of both signals under both alignments. `controls`: over whole
    answers, and where any are known over the tokens of the fact. `bins` are of `method`; `apart` sets it
    beside `other`.
    """

    method: str
    other: str
    comparisons: tuple[Comparison, ...]
    bounds: tuple[UnclearBounds[Comparison] | None, ...]
    costs: tuple[Cost, ...]
    rejections: Rejections
    sweeps: tuple[Sweep, ...]
    ablated: tuple[Ablated, ...]
    controls: tuple[tuple[GroupControl, ...], ...]
    bins: QualityBins
    agreement: MethodAgreement
    apart: Disagreement
    errors: dict[str, ErrorAnalysis]


def method_results(run: Run, thresholds: Thresholds, *, seed: int) -> MethodResults:
    """Compute all of it, ablations and the control by PRR.

    Raises:
        InvalidInput: the run does not keep the layers of the paper's window.
        RunError: a shard can no longer be read, or this version has none of the run's methods.
    """
    answers, names = run.answers, run.answers["group"].tolist()
    quality, groups = answers["quality"].to_numpy(dtype=float), groups_of(names, clusters=run.clusters)
    check_comparable(run.manifest.request)
    uncertainties = {method: run.uncertainty(method) for method in run.methods}
    method = RAUQ if RAUQ in run.methods else run.methods[0]
    other = OTHER if OTHER in run.methods else run.methods[-1]
    batches = {alignment: batch(run, alignment) for alignment in get_args(Alignment)}
    by_prr: Any = {"metric": "prr", "thresholds": thresholds}
    real = batches["predicting"]
    masks = fact_masks(run)
    return MethodResults(
        method=method,
        other=other,
        comparisons=tuple(
            compare(answers, run.methods, groups, metric=metric, thresholds=thresholds) for metric in get_args(Metric)
        ),
        bounds=tuple(
            comparison_bounds(answers, run.methods, groups, metric=metric, thresholds=thresholds)
            for metric in get_args(Metric)
        ),
        costs=costs(run),
        rejections=rejections(uncertainties, quality),
        sweeps=tuple(
            sweep(one, quality, names, groups, signal=signal, seed=seed, **by_prr)
            for one in batches.values()
            for signal in get_args(Signal)
        ),
        ablated=tuple(
            ablate(table, real, quality, names, groups, layers=run.answerer.layers, seed=seed, **by_prr)
            for table in ablations(run.answerer.layers)
        ),
        controls=tuple(
            control_groups(real, quality, names, groups, facts=facts, seed=seed, **by_prr)
            for facts in (None, *([masks] if masks.any() else ()))
        ),
        bins=quality_bins(uncertainties[method], quality, clusters=run.clusters),
        agreement=method_agreement(uncertainties),
        apart=disagreement(uncertainties[method], uncertainties[other]),
        errors={
            name: error_analysis(values, quality, answers["error_label"].tolist(), thresholds=thresholds, seed=seed)
            for name, values in uncertainties.items()
        },
    )


@dataclass(frozen=True, kw_only=True)
class ReportSettings:
    """How a run is evaluated. `layer` None is the middle one of those stored; `thresholds` None are the measure's own.

    `k` answers are shown on each side of figure 2. `seed` decides every draw.
    """

    alignment: Alignment = "predicting"
    tokens: TokenChoice = "all"
    layer: int | None = None
    thresholds: Thresholds | None = None
    k: int = 10
    seed: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class Reported(Generic[C, R]):
    """A view, and what it found."""

    view: View[C, R]
    seen: Seen[C, R]

    @property
    def drawings(self) -> tuple[Drawing, ...]:
        """Its figures on a light page; the caption of the first begins with the sentences of the view."""
        said = joined(self.view.words(self.seen), self.view.notes(self.seen))
        return tuple(
            Drawing(one.name.replace("_", "-"), one.heading, joined(before, one.caption), one.draw())
            for one, before in zip(self.view.pictures(self.seen), chain((said,), repeat("")), strict=False)
        )

    @property
    def tables(self) -> tuple[Table, ...]:
        """Its tables."""
        return self.view.tables(self.seen)


@dataclass(frozen=True, eq=False, kw_only=True)
class Results:
    """What all views found in a run under settings."""

    run: Run
    settings: ReportSettings
    thresholds: Thresholds
    reported: tuple[Reported[Any, Any], ...]
    methods: MethodResults

    def of(self, view: View[C, R]) -> R:
        """What a view found, under the first choices that are shown."""
        return self._seen(view).result

    def choices_of(self, view: View[C, R]) -> C:
        """The first choices under which a view is shown."""
        return self._seen(view).choices

    def _seen(self, view: View[C, R]) -> Seen[C, R]:
        return next(one.seen for one in self.reported if one.view is view)


def results(run: Run, settings: ReportSettings) -> Results:
    """Compute all of it; heads are selected over the whole answer, for any choice of tokens.

    Raises:
        InvalidInput: a run without answers, or a layer without attention.
        RunError: a shard can no longer be read.
    """
    if run.answers.empty:
        message = f"{run.folder} has no answers to report. Resume the run."
        raise InvalidInput(message)
    thresholds = settings.thresholds or measure(run.manifest.request.quality).thresholds
    answers = AnswerSet(
        run=run,
        rows=np.arange(len(run.answers)),
        thresholds=thresholds,
        settings=Settings(alignment=settings.alignment),
        reader=keeping(),
    )
    return Results(
        run=run,
        settings=settings,
        thresholds=thresholds,
        reported=tuple(_reported(answers, settings)),
        methods=method_results(run, thresholds, seed=settings.seed),
    )


def _reported(answers: AnswerSet, settings: ReportSettings) -> Iterator[Reported[Any, Any]]:
    chosen: Any = {"tokens": settings.tokens, "seed": settings.seed}
    of_layer = answer_sets.Choices(layer=_layer(answers.run, settings.layer), k=settings.k, **chosen)
    yield from _shown(answer_sets.VIEWS, answers, of_layer)
    yield from _shown(heads.VIEWS, answers, heads.Choices(**chosen))


def _shown(views: Iterable[View[C, Any]], answers: AnswerSet, choices: C) -> Iterator[Reported[C, Any]]:
    for view in views:
        for shown in view.reported(answers, choices):
            yield Reported(view=view, seen=view.seen(answers, shown))


def _layer(run: Run, chosen: int | None) -> int:
    if chosen is None:
        return run.stored_layers[len(run.stored_layers) // 2]
    if chosen not in run.answerer.layers:
        allowed = ", ".join(map(str, run.answerer.layers))
        message = f"Layer {chosen} has no attention in this run; choose one of {allowed}."
        raise InvalidInput(message)
    return chosen
