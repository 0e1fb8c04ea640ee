"""The figures of a run's report with the words around them, and their SVG and PNG files."""

from collections.abc import Sequence
from pathlib import Path

from analysis.answer_sets import sentences as answer_set_sentences
from analysis.answer_sets.figures import (
    best_and_worst_map,
    calibration_chart,
    quality_bins_chart,
    selected_heads_map,
)
from analysis.answer_sets.gaps import with_enough
from analysis.answer_sets.sentences import joined
from analysis.answer_sets.side_figures import distance_lines, gap_distributions, gap_grid, gap_lines, head_map
from analysis.figures import UNCERTAINTY
from analysis.methods import sentences as method_sentences
from analysis.methods.added_heads import added_heads_caption, added_heads_sentence, chosen_sentence
from analysis.methods.alpha_figures import alpha_groups, alpha_sweep
from analysis.methods.comparison import ALL, name_of
from analysis.methods.figures import (
    added_heads_chart,
    agreement_map,
    control_differences,
    labels_chart,
    method_intervals,
    paired_differences,
    rejection_curves,
)
from analysis.one_answer.figures import Drawing
from analysis.report.results import MethodResults, Results
from analysis.runs.files.arrays import OFFSETS
from analysis.stats import METRICS
from analysis.tokens.figures import signals_chart
from analysis.tokens.sentences import detection_caption, detection_sentence, place_sentence
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
    return (*_papers(results), *_over_layers(results), *_beyond(results), *method_drawings(results.methods))


def _papers(results: Results) -> tuple[Drawing, ...]:
    layer, tokens = results.layer, results.settings.tokens
    texts = list(results.run.answers["answer"].iloc[results.shown.rows])
    distances = with_enough(results.offset_gaps, OFFSETS)
    return (
        Drawing(
            "best-and-worst",
            f"Best and worst answers, layer {layer}",
            answer_set_sentences.best_and_worst_caption(results.shown, layer, tokens=tokens),
            best_and_worst_map(results.shown, texts),
        ),
        Drawing(
            "correct-and-incorrect",
            f"Correct vs incorrect answers, layer {layer}",
            joined(
                f"{answer_set_sentences.about_gap(results.gaps, results.row, layer)}.",
                answer_set_sentences.gap_caption(results.gaps, results.row, results.thresholds, tokens=tokens),
            ),
            gap_distributions(results.gaps, results.row),
        ),
        Drawing(
            "quality-by-attention",
            f"Quality and attention, layer {layer}",
            answer_set_sentences.bins_caption(results.bins, results.correlations),
            quality_bins_chart(results.bins, title="attention of the selected head"),
        ),
        Drawing(
            "preceding-tokens",
            f"Attention by distance, layer {layer}",
            answer_set_sentences.distances_caption(distances),
            distance_lines(distances),
        ),
    )


def _over_layers(results: Results) -> tuple[Drawing, ...]:
    layers = results.run.answerer.layers
    return (
        Drawing(
            "every-layer",
            "Correct vs incorrect answers, all layers",
            answer_set_sentences.grid_caption(),
            gap_grid(results.gaps.picked, layers),
        ),
        Drawing(
            "layer-gaps",
            "Correct minus incorrect, all layers",
            answer_set_sentences.layers_caption(results.layer),
            gap_lines(results.gaps, layers, name="layer", shown=results.layer),
        ),
    )


def _beyond(results: Results) -> tuple[Drawing, ...]:
    layers = results.run.answerer.layers
    return (
        Drawing(
            "picked-heads",
            "Selected heads",
            answer_set_sentences.joined(
                answer_set_sentences.selected_heads_caption(results.picked),
                answer_set_sentences.agreement_caption(results.agreement),
                results.picks_note,
            ),
            selected_heads_map(results.picked),
        ),
        Drawing(
            "separation",
            "Heads: correct vs incorrect within groups",
            joined(
                f"{answer_set_sentences.about_separation(results.separation, results.same_length, layers)}.",
                answer_set_sentences.separation_caption(results.separation),
                answer_set_sentences.groups_caption(results.separation.labelled),
            ),
            head_map(
                results.separation,
                layers,
                used=results.run.used_layers,
                selected=results.picked.of_layers(results.run.used_layers),
            ),
        ),
        Drawing(
            "added-heads",
            "RAUQ + heads: ours, not the paper's",
            joined(
                added_heads_sentence(results.added_heads),
                added_heads_caption(results.added_heads),
                chosen_sentence(results.added_heads),
            ),
            added_heads_chart(results.added_heads),
        ),
        Drawing(
            "added-heads-labels",
            "RAUQ + heads by number of labelled answers",
            "Mean difference to RAUQ alone, with the range of ten draws of labelled answers that choose the heads.",
            labels_chart(results.added_heads),
        ),
        Drawing(
            "score-meaning",
            "What a score means",
            answer_set_sentences.calibration_caption(results.calibration, results.thresholds.roc),
            calibration_chart(results.calibration),
        ),
        Drawing(
            "token-signals",
            "Which signal finds the wrong tokens",
            joined(
                detection_sentence(results.tokens), place_sentence(results.tokens), detection_caption(results.tokens)
            ),
            signals_chart(results.tokens),
        ),
    )
