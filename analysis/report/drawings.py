"""The figures of a run's report, with the words around them."""

from analysis.answer_sets import captions
from analysis.figures.answer import Drawing
from analysis.figures.best_and_worst import best_and_worst_map
from analysis.figures.calibration import calibration_chart
from analysis.figures.gap_columns import gap_lines
from analysis.figures.gap_distributions import gap_distributions
from analysis.figures.gap_grid import gap_grid
from analysis.figures.picked_heads_map import picked_heads_map
from analysis.figures.quality_bins import quality_bins_chart
from analysis.figures.separation_map import separation_map
from analysis.report.method_drawings import method_drawings
from analysis.report.results import Results
from analysis.runs.shard import OFFSETS


def drawings(found: Results) -> tuple[Drawing, ...]:
    """All figures, the paper's first, on a light page."""
    return (*_papers(found), *_over_layers(found), *_beyond(found), *method_drawings(found.methods))


def _papers(found: Results) -> tuple[Drawing, ...]:
    layer, tokens = found.layer, found.settings.tokens
    texts = list(found.run.answers["answer"].iloc[found.shown.rows])
    return (
        Drawing(
            "best-and-worst",
            f"Best and worst answers, layer {layer}",
            captions.best_and_worst_caption(found.shown, layer, tokens=tokens),
            best_and_worst_map(found.shown, texts),
        ),
        Drawing(
            "correct-and-incorrect",
            f"Correct and incorrect answers, layer {layer}",
            captions.gap_caption(found.gaps, found.row, found.thresholds, tokens=tokens),
            gap_distributions(found.gaps, found.row),
        ),
        Drawing(
            "quality-by-attention",
            f"Quality and attention, layer {layer}",
            captions.bins_caption(found.bins, found.correlations),
            quality_bins_chart(found.bins, title="attention of the picked head"),
        ),
        Drawing(
            "preceding-tokens",
            f"More preceding tokens, layer {layer}",
            "Attention to the 1st to 6th preceding token, correct minus incorrect, with 95 % bootstrap intervals. The "
            "head is the one that is picked by its attention to the 1st.",
            gap_lines(found.offset_gaps, OFFSETS, name="preceding token"),
        ),
    )


def _over_layers(found: Results) -> tuple[Drawing, ...]:
    layers = found.run.answerer.layers
    return (
        Drawing(
            "every-layer",
            "Correct and incorrect answers, every layer",
            "The picked head of each layer, on a scale of its own. Boxes hold the middle half of the answers, whiskers "
            "nine of ten; dashed is the mean. The difference of the means is bold where its interval leaves out 0.",
            gap_grid(found.gaps.picked, layers),
        ),
        Drawing(
            "layer-gaps",
            "Correct minus incorrect, every layer",
            captions.sides_sentence(found.gaps.picked, found.row, found.thresholds),
            gap_lines(found.gaps, layers, name="layer"),
        ),
    )


def _beyond(found: Results) -> tuple[Drawing, ...]:
    layers = found.run.answerer.layers
    return (
        Drawing(
            "picked-heads",
            "Picked heads",
            captions.joined(
                captions.picked_heads_caption(found.picked),
                captions.agreement_caption(found.agreement),
                found.picks_note,
            ),
            picked_heads_map(found.picked),
        ),
        Drawing(
            "separation",
            "Heads that separate correct from incorrect",
            captions.separation_caption(found.separation, layers),
            separation_map(found.separation, layers),
        ),
        Drawing(
            "score-meaning",
            "What a score means",
            captions.calibration_caption(found.calibration),
            calibration_chart(found.calibration),
        ),
    )
