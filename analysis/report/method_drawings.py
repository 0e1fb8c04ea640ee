"""The figures of a run's report about its methods, with the words around them."""

from analysis.answer_sets.captions import joined
from analysis.figures.agreement_map import agreement_map
from analysis.figures.alpha_sweep import alpha_sweep
from analysis.figures.answer import Drawing
from analysis.figures.control_differences import control_differences
from analysis.figures.method_intervals import method_intervals
from analysis.figures.paired_differences import paired_differences
from analysis.figures.quality_bins import quality_bins_chart
from analysis.figures.rejection_curves import rejection_curves
from analysis.figures.style import UNCERTAINTY
from analysis.methods import ablation_captions, captions
from analysis.methods.names import name_of
from analysis.metrics import METRICS
from analysis.report.method_results import MethodResults


def method_drawings(found: MethodResults) -> tuple[Drawing, ...]:
    """All of them, on a light page."""
    return (*_rankings(found), *_changed(found), *_answers(found))


def _rankings(found: MethodResults) -> tuple[Drawing, ...]:
    return (
        *(
            Drawing(
                f"methods-{one.metric.replace('_', '-')}",
                f"Methods by {METRICS[one.metric]}",
                joined(
                    captions.comparison_sentence(one.methods, one.overall, metric=one.metric),
                    captions.overall_note(one),
                    captions.undefined_sentence(one.methods, one.overall),
                    captions.intervals_caption(one),
                ),
                method_intervals(one.methods, one.overall, metric=one.metric),
            )
            for one in found.comparisons
        ),
        *(
            Drawing(
                f"paired-{one.metric.replace('_', '-')}",
                f"{name_of(one.paired.base)} minus other methods, {METRICS[one.metric]}",
                joined(
                    captions.paired_sentence(one.paired.overall, one.paired.base), captions.paired_caption(one.paired)
                ),
                paired_differences(one.paired.base, one.paired.methods, one.paired.overall, metric=one.metric),
            )
            for one in found.comparisons
            if one.paired is not None
        ),
        Drawing(
            "rejection", "Rejection", captions.rejections_caption(found.rejections), rejection_curves(found.rejections)
        ),
    )


def _changed(found: MethodResults) -> tuple[Drawing, ...]:
    return (
        *(
            Drawing(
                f"alpha-{one.signal}",
                f"RAUQ over alpha: {one.signal}",
                joined(
                    ablation_captions.sweep_sentence(one, one.groups[0]),
                    ablation_captions.best_alpha_sentence(one, one.groups[0]),
                ),
                alpha_sweep(one),
            )
            for one in found.sweeps
            if one.alignment == "predicting"  # the table has the others
        ),
        *(
            Drawing(
                f"control-{own[0].tokens}",
                "Does attention matter?" if own[0].tokens == "all" else "Does attention matter on the fact's tokens?",
                f"{ablation_captions.control_sentence(own[0])} {ablation_captions.control_caption(own)}",
                control_differences(own),
            )
            for own in found.controls
        ),
    )


def _answers(found: MethodResults) -> tuple[Drawing, ...]:
    return (
        Drawing(
            "score-and-quality",
            f"Score and quality: {name_of(found.method)}",
            "Each answer, and the mean quality in tenths of the uncertainty.",
            quality_bins_chart(found.bins, title="uncertainty", colour=UNCERTAINTY),
        ),
        Drawing(
            "agreement-of-methods",
            "Agreement of methods",
            captions.agreement_sentence(found.agreement, base=found.method),
            agreement_map(found.agreement),
        ),
    )
