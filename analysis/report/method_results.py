"""Everything that the report of a run tells about its methods, computed once."""

from dataclasses import dataclass
from typing import Any, get_args

from analysis.answer_sets.quality_bins import QualityBins, quality_bins
from analysis.methods.ablations import Ablated, ablate, ablations
from analysis.methods.agreement import MethodAgreement, method_agreement
from analysis.methods.comparison import RAUQ, Comparison, compare
from analysis.methods.control_ranking import GroupControl, control_groups
from analysis.methods.disagreement import Disagreement, disagreement
from analysis.methods.errors import ErrorAnalysis, error_analysis
from analysis.methods.groups import groups_of
from analysis.methods.ranking import Metric
from analysis.methods.rejections import Rejections, rejections
from analysis.methods.sweep import Sweep, sweep
from analysis.quality.judgement import Thresholds
from analysis.runs.arrays import batch
from analysis.runs.choosing import check_comparable
from analysis.runs.costs import Cost, costs
from analysis.runs.opened import Run
from analysis.runs.traces import fact_masks
from rauq.settings import Signal
from rauq.trace import Alignment

OTHER = "perplexity"  # is set beside RAUQ, where the run has it


@dataclass(frozen=True, eq=False, kw_only=True)
class MethodResults:
    """The methods of a run side by side, and RAUQ against itself with something changed.

    `comparisons`: by PRR and by ROC-AUC. `sweeps`: of both signals under both alignments. `controls`: over whole
    answers, and where any are known over the tokens of the fact. `bins` are of `method`; `apart` sets it
    beside `other`.
    """

    method: str
    other: str
    comparisons: tuple[Comparison, ...]
    costs: tuple[Cost, ...]
    rejections: Rejections
    sweeps: tuple[Sweep, ...]
    ablated: tuple[Ablated, ...]
    controls: tuple[tuple[GroupControl, ...], ...]
    bins: QualityBins
    agreement: MethodAgreement
    apart: Disagreement
    errors: dict[str, ErrorAnalysis]


def method_results(run: Run, thresholds: Thresholds, *, resamples: int, seed: int) -> MethodResults:
    """Compute all of it, ablations and the control by PRR.

    Raises:
        InvalidInput: the run does not keep the layers of the paper's window.
        RunError: a shard can no longer be read, or this version has none of the run's methods.
    """
    answers, names = run.answers, run.answers["group"].tolist()
    quality, groups = answers["quality"].to_numpy(dtype=float), groups_of(names)
    check_comparable(run.manifest.request)
    uncertainties = {method: run.uncertainty(method) for method in run.methods}
    method = RAUQ if RAUQ in run.methods else run.methods[0]
    other = OTHER if OTHER in run.methods else run.methods[-1]
    batches = {alignment: batch(run, alignment) for alignment in get_args(Alignment)}
    asked: Any = {"thresholds": thresholds, "resamples": resamples, "seed": seed}
    by_prr = {"metric": "prr", **asked}
    real = batches["predicting"]
    masks = fact_masks(run)
    return MethodResults(
        method=method,
        other=other,
        comparisons=tuple(compare(answers, run.methods, groups, metric=metric, **asked) for metric in get_args(Metric)),
        costs=costs(run),
        rejections=rejections(uncertainties, quality),
        sweeps=tuple(
            sweep(one, quality, groups, signal=signal, **by_prr)
            for one in batches.values()
            for signal in get_args(Signal)
        ),
        ablated=tuple(
            ablate(table, real, quality, names, groups, layers=run.answerer.layers, **by_prr)
            for table in ablations(run.answerer.layers)
        ),
        controls=tuple(
            control_groups(real, quality, names, groups, facts=facts, **by_prr)
            for facts in (None, *([masks] if masks.any() else ()))
        ),
        bins=quality_bins(uncertainties[method], quality, resamples=resamples, seed=seed),
        agreement=method_agreement(uncertainties),
        apart=disagreement(uncertainties[method], uncertainties[other]),
        errors={
            name: error_analysis(values, quality, answers["error_label"].tolist(), thresholds=thresholds, seed=seed)
            for name, values in uncertainties.items()
        },
    )
