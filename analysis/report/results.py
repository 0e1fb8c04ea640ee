"""All results that the report of a run shows, computed once."""

from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

import rauq
from analysis.answer_sets.best_and_worst import BestAndWorst, best_and_worst
from analysis.answer_sets.clusters import folds
from analysis.answer_sets.gaps import HeadGaps, head_gaps
from analysis.answer_sets.heads import (
    Agreement,
    SelectedHeads,
    agreement,
    of_selected,
    selected_heads,
)
from analysis.answer_sets.quality_curves import (
    Correlations,
    QualityBins,
    correlations,
    quality_bins,
)
from analysis.answer_sets.sentences import picks_note
from analysis.answer_sets.separation import Separation, by_length, separation
from analysis.answer_sets.sides import Sides, sides
from analysis.answer_sets.word_attention import word_attention
from analysis.calibration import Calibration, calibrate
from analysis.methods.ablations import Ablated, ablate, ablations
from analysis.methods.added_heads import AddedHeads, added_heads, candidates
from analysis.methods.agreement import Disagreement, MethodAgreement, disagreement, method_agreement
from analysis.methods.attention_permutation import GroupControl, Sweep, control_groups, sweep
from analysis.methods.comparison import RAUQ, Comparison, Metric, Rejections, compare, groups_of, rejections
from analysis.methods.errors import ErrorAnalysis, error_analysis
from analysis.methods.unclear import comparison_bounds
from analysis.quality.judgement import Thresholds
from analysis.quality.measures import measure
from analysis.quality.unclear import UnclearBounds
from analysis.runs.attention import TokenChoice, batch, means
from analysis.runs.attention import picks as picks_of
from analysis.runs.files.arrays import OFFSETS
from analysis.runs.methods import check_comparable
from analysis.runs.opened import Run
from analysis.runs.timings import Cost, costs
from analysis.runs.traces import answer_ids, fact_masks
from analysis.tokens.detection import Detection, detect, marks_of_run, token_signals
from rauq.errors import InvalidInput
from rauq.scoring.settings import Settings, Signal
from rauq.trace.trace import Alignment

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
class Results:
    """A run under settings: `layer` is the one shown in detail, and `row` its position among the model's layers."""

    run: Run
    settings: ReportSettings
    thresholds: Thresholds
    layer: int
    row: int
    shown: BestAndWorst
    gaps: HeadGaps
    offset_gaps: HeadGaps
    bins: QualityBins
    correlations: Correlations
    picks_note: str
    picked: SelectedHeads
    agreement: Agreement
    separation: Separation
    same_length: Separation
    added_heads: AddedHeads
    calibration: Calibration
    tokens: Detection
    methods: MethodResults


def results(run: Run, settings: ReportSettings) -> Results:
    """Compute all of it; heads are selected over the whole answer, for any choice of tokens.

    Raises:
        InvalidInput: a run without answers, or a layer without attention.
        RunError: a shard can no longer be read.
    """
    if run.answers.empty:
        message = f"{run.folder} has no answers to report. Resume the run."
        raise InvalidInput(message)
    layers, groups, seed = run.answerer.layers, run.answers["group"].tolist(), settings.seed
    layer = _layer(run, settings.layer)
    row = layers.index(layer)
    quality = run.answers["quality"].to_numpy(dtype=float)
    thresholds = settings.thresholds or measure(run.manifest.request.quality).thresholds
    outcome = sides(quality, thresholds)
    picks, stored = picks_of(run, settings.alignment)
    looked_at = means(run, settings.alignment, tokens=settings.tokens)
    of_layer = of_selected(looked_at[:, row], picks[:, row])
    correct = np.where(np.isnan(quality), np.nan, quality > thresholds.roc)
    return Results(
        run=run,
        settings=settings,
        thresholds=thresholds,
        layer=layer,
        row=row,
        shown=best_and_worst(looked_at[:, row], quality, picks[:, row], k=settings.k, seed=seed),
        gaps=head_gaps(looked_at, picks, outcome, clusters=run.clusters),
        offset_gaps=head_gaps(
            _at_offsets(run, settings, row),
            np.repeat(picks[:, [row]], len(OFFSETS), 1),
            outcome,
            clusters=run.clusters,
        ),
        bins=quality_bins(of_layer, quality, clusters=run.clusters),
        correlations=correlations(of_layer, quality, clusters=run.clusters),
        picks_note=picks_note(stored),
        picked=selected_heads(picks, layers, run.answerer.num_heads),
        agreement=agreement(picks, groups, layers, run.answerer.num_heads),
        separation=separation(looked_at, outcome, groups, clusters=run.clusters, seed=seed),
        same_length=separation(looked_at, outcome, by_length(groups, run.lengths), clusters=run.clusters, seed=seed),
        added_heads=_added_heads(run, settings, thresholds, outcome),
        calibration=calibrate(run.uncertainty("rauq"), correct, clusters=run.clusters),
        tokens=_tokens(run, settings, thresholds),
        methods=method_results(run, thresholds, seed=seed),
    )


def _tokens(run: Run, settings: ReportSettings, thresholds: Thresholds) -> Detection:
    """Signals of tokens under the paper's settings."""
    given = token_signals(batch(run, settings.alignment), marks_of_run(run, thresholds))
    return detect(given, run.answers["group"].tolist(), clusters=run.clusters)


_ADDED = 5  # heads


def _added_heads(run: Run, settings: ReportSettings, thresholds: Thresholds, outcome: Sides) -> AddedHeads:
    """RAUQ with heads over the whole answer, for any choice of tokens."""
    answers, rows = batch(run, settings.alignment), np.arange(len(run.answers))
    fold = folds(run.answers["group"].tolist(), outcome, clusters=run.clusters)
    given = candidates(
        run,
        rows,
        uncertainty=rauq.score_many(answers, Settings(alignment=settings.alignment)).uncertainty,
        means=means(run, settings.alignment),
        thresholds=thresholds,
        words=word_attention(answers, answer_ids(run), fold),
        clusters=run.clusters,
    )
    return added_heads(given, k=_ADDED, thresholds=thresholds, seed=settings.seed)


def _layer(run: Run, chosen: int | None) -> int:
    if chosen is None:
        return run.stored_layers[len(run.stored_layers) // 2]
    if chosen not in run.answerer.layers:
        allowed = ", ".join(map(str, run.answerer.layers))
        message = f"Layer {chosen} has no attention in this run; choose one of {allowed}."
        raise InvalidInput(message)
    return chosen


def _at_offsets(run: Run, settings: ReportSettings, row: int) -> np.ndarray:
    """Mean attention of one layer's heads to the 1st, 2nd, ... preceding token: (A, 6, H)."""
    each = [means(run, settings.alignment, tokens=settings.tokens, offset=offset)[:, row] for offset in OFFSETS]
    return np.stack(each, axis=1)
