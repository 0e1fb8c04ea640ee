"""The figures of a run's report with the words around them, and their SVG and PNG files."""

from collections.abc import Sequence
from pathlib import Path

from analysis.answer_sets import sentences as answer_set_sentences
from analysis.answer_sets.figures import (
    quality_bins_chart,
)
from analysis.answer_sets.sentences import joined
from analysis.figures import UNCERTAINTY
from analysis.methods import sentences as method_sentences
from analysis.methods.alpha_figures import alpha_groups, alpha_sweep
from analysis.methods.comparison import ALL, name_of
from analysis.methods.figures import (
    agreement_map,
    control_differences,
    method_intervals,
    paired_differences,
    rejection_curves,
)
from analysis.one_answer.figures import Drawing
from analysis.report.results import MethodResults, Results
from analysis.stats import METRICS
from rauq.layout import EXTRAS_COMMAND

_WIDTH = 760  # pixels
_SCALES = {"svg": 1, "png": 3}  # so that a figure in pixels is sharp in print


def write_pictures(drawings: Sequence[Drawing], folder: Path) -> str:
    """Write an SVG and a PNG file for each drawing into `folder`; without the means to, return a line that says why."""
    try:
        import kaleido
        from kaleido.errors import BrowserClosedError, BrowserFailedError, ChromeNotFoundError
    except ImportError:
        return f"No SVG and PNG files: kaleido is missing. `{EXTRAS_COMMAND}` adds it."
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [
        {
            "fig": drawing.figure,
            "path": folder / f"{drawing.name}.{form}",
            "opts": {"format": form, "width": _WIDTH, "height": drawing.figure.layout.height, "scale": scale},
        }
        for drawing in drawings
        for form, scale in _SCALES.items()
    ]
    try:  # without MathJax nothing is loaded from the network
        kaleido.write_fig_from_object_sync(wanted, kopts={"mathjax": False}, cancel_on_error=True)
    except ChromeNotFoundError:
        return (
            "No SVG and PNG files: no Chromium or Chrome was found. Install one, or save each figure from index.html."
        )
    except (BrowserFailedError, BrowserClosedError) as error:
        return f"No SVG and PNG files: the browser did not start ({error}). Save each figure from index.html."
    return ""


def method_drawings(results: MethodResults) -> tuple[Drawing, ...]:
    """All of them, on a light page."""
    return (*_rankings(results), *_changed(results), *_answers(results))


def _rankings(results: MethodResults) -> tuple[Drawing, ...]:
    return (
        *(
            Drawing(
                f"methods-{comparison.metric.replace('_', '-')}",
                f"Methods by {METRICS[comparison.metric]}",
                joined(
                    *method_sentences.comparison_sentences(comparison),
                    method_sentences.undefined_sentence(comparison.methods, comparison.of_group(ALL)),
                    method_sentences.intervals_caption(comparison),
                    method_sentences.within_note(comparison),
                ),
                method_intervals(comparison.methods, comparison.headline, metric=comparison.metric),
            )
            for comparison in results.comparisons
        ),
        *(
            Drawing(
                f"paired-{comparison.metric.replace('_', '-')}",
                f"{name_of(comparison.paired.base)} minus other methods, {METRICS[comparison.metric]}",
                joined(
                    *method_sentences.paired_sentences(comparison.paired),
                    method_sentences.paired_caption(comparison.paired),
                ),
                paired_differences(
                    comparison.paired.base,
                    comparison.paired.methods,
                    comparison.paired.headline,
                    metric=comparison.metric,
                ),
            )
            for comparison in results.comparisons
            if comparison.paired is not None
        ),
        Drawing(
            "rejection",
            "Rejection",
            method_sentences.rejections_caption(results.rejections),
            rejection_curves(results.rejections),
        ),
    )


def _changed(results: MethodResults) -> tuple[Drawing, ...]:
    return (
        *(
            Drawing(
                f"alpha-{sweep.signal}",
                f"RAUQ over alpha: {sweep.signal}",
                joined(method_sentences.sweep_sentence(sweep), *method_sentences.attention_sentences(sweep)),
                alpha_sweep(sweep),
            )
            for sweep in results.sweeps
            if sweep.alignment == "predicting"  # the table has the others
        ),
        *(
            Drawing(
                f"alpha-groups-{sweep.signal}",
                f"RAUQ over alpha in each group: {sweep.signal}",
                method_sentences.within_note(sweep),
                alpha_groups(sweep),
            )
            for sweep in results.sweeps
            if sweep.alignment == "predicting" and len(sweep.groups) > 1
        ),
        *(
            Drawing(
                f"control-{own[0].tokens}",
                "Does attention matter?" if own[0].tokens == "all" else "Does attention matter on the fact tokens?",
                joined(
                    *method_sentences.control_sentences(own),
                    method_sentences.control_caption(own),
                    method_sentences.within_note(own),
                ),
                control_differences(own),
            )
            for own in results.controls
        ),
    )


def _answers(results: MethodResults) -> tuple[Drawing, ...]:
    return (
        Drawing(
            "score-and-quality",
            f"Score and quality: {name_of(results.method)}",
            answer_set_sentences.score_bins_caption(f"uncertainty under {name_of(results.method)}"),
            quality_bins_chart(results.bins, title="uncertainty", colour=UNCERTAINTY),
        ),
        Drawing(
            "agreement-of-methods",
            "Agreement of methods",
            method_sentences.agreement_sentence(results.agreement, base=results.method),
            agreement_map(results.agreement),
        ),
    )


def drawings(results: Results) -> tuple[Drawing, ...]:
    """All figures, the paper's first, on a light page."""
    return (*(one for reported in results.reported for one in reported.drawings), *method_drawings(results.methods))
