"""The views of the page Answer sets: attention of heads, and scores, in correct and in incorrect answers."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from analysis.answer_sets import claims, sentences, tables
from analysis.answer_sets.best_and_worst import BestAndWorst, best_and_worst
from analysis.answer_sets.figures import best_and_worst_map, calibration_chart, quality_bins_chart, selected_heads_map
from analysis.answer_sets.gaps import HeadGaps, head_gaps, with_enough
from analysis.answer_sets.heads import Agreement, SelectedHeads, agreement, pick, selected_heads
from analysis.answer_sets.quality_curves import Correlations, QualityBins, correlations, quality_bins
from analysis.answer_sets.sentences import joined
from analysis.answer_sets.side_figures import distance_lines, gap_distributions, gap_grid, gap_lines
from analysis.answer_sets.sides import groups_note
from analysis.calibration import Calibration, calibrate
from analysis.exports.tables import Table
from analysis.figures import UNCERTAINTY
from analysis.methods.comparison import Comparison
from analysis.methods.score_ranking import rank_score, score_sentence, within_sentence
from analysis.methods.unclear import score_bounds, score_bounds_sentence
from analysis.quality.unclear import UnclearBounds
from analysis.runs.files.arrays import OFFSETS
from analysis.views.answer_set import AnswerSet, Choices
from analysis.views.heads import ADDED, HEADS, TOKENS
from analysis.views.view import Picture, Seen, View

_BRACKETS = "Low and high: 95 % interval by question."


def _means(answers: AnswerSet, choices: Choices) -> np.ndarray:
    """Mean attention of every head (n, L, H) as chosen."""
    return answers.means(tokens=choices.tokens, offset=choices.offset)


# Figure 2


def _best(answers: AnswerSet, choices: Choices) -> BestAndWorst:
    column = answers.layers.index(choices.layer)
    values, picks = _means(answers, choices)[:, column], answers.picks()[:, column]
    return best_and_worst(values, answers.quality, picks, k=choices.k, seed=choices.seed)


def _best_pictures(seen: Seen[Choices, BestAndWorst]) -> tuple[Picture, ...]:
    texts = seen.answers.column_of("answer")[seen.result.rows].tolist()
    return (
        Picture(
            "best_and_worst",
            f"Best and worst answers, layer {seen.choices.layer}",
            "Heat map: best and worst answers by head of a layer",
            sentences.best_and_worst_caption(seen.result, tokens=seen.choices.tokens),
            partial(best_and_worst_map, seen.result, texts),
            click="answer",
            about=sentences.best_and_worst_about(seen.result, seen.choices.layer),
        ),
    )


def _best_tables(seen: Seen[Choices, BestAndWorst]) -> tuple[Table, ...]:
    caption = "Mean attention of every head in the best answers and in the worst, the best first."
    frame = tables.best_and_worst_table(seen.result, seen.answers.answers)
    return (Table("best_and_worst", "Best and worst answers", caption, frame, place="file"),)


BEST = View[Choices, BestAndWorst](
    id="best",
    title="Figure 2: best and worst",
    topic="The paper's figures",
    question="How do heads attend in the best answers, and how in the worst?",
    needs=frozenset({"layer", "tokens", "offset", "k"}),
    uses_selection=True,
    compute=_best,
    claim=lambda seen: claims.best_and_worst_claim(seen.result, seen.choices.layer),
    sentence=lambda seen: sentences.about_best_and_worst(seen.result, seen.choices.layer),
    pictures=_best_pictures,
    tables=_best_tables,
)


# Figure 3a


def _gaps(answers: AnswerSet, choices: Choices) -> HeadGaps:
    return head_gaps(_means(answers, choices), answers.picks(), answers.sides, clusters=answers.clusters)


def _gap_pictures(seen: Seen[Choices, HeadGaps]) -> tuple[Picture, ...]:
    gaps, layers, layer = seen.result, seen.answers.layers, seen.choices.layer
    column = layers.index(layer)
    return (
        Picture(
            "correct_against_incorrect",
            f"Correct vs incorrect answers, layer {layer}",
            "Attention of correct and of incorrect answers",
            sentences.gap_caption(tokens=seen.choices.tokens),
            partial(gap_distributions, gaps, column),
            click="answer",
            share=1 / 2,
            about=sentences.gap_about(gaps, column, seen.answers.thresholds),
        ),
        Picture(
            "difference_by_layer",
            "Correct minus incorrect, all layers",
            "Difference between correct and incorrect answers in each layer",
            sentences.layers_caption(),
            partial(gap_lines, gaps, layers, name="layer", shown=layer),
            click="layer",
            share=1 / 2,
            about=sentences.layers_about(layer),
        ),
        Picture(
            "attention_by_layer",
            "Correct vs incorrect answers, all layers",
            "Attention of correct and of incorrect answers in each layer",
            sentences.grid_caption(),
            partial(gap_grid, gaps.picked, layers),
        ),
    )


def _gap_tables(seen: Seen[Choices, HeadGaps]) -> tuple[Table, ...]:
    caption = f"Percentages are relative to the mean of incorrect answers. {_BRACKETS}"
    frame = tables.gap_table(seen.result, seen.answers.layers, name="layer")
    return (Table("by_verdict", "Correct vs incorrect, all layers", caption, frame, place="folded"),)


def _gap_claim(seen: Seen[Choices, HeadGaps]) -> str:
    return claims.gap_claim(seen.result, seen.answers.layers.index(seen.choices.layer), seen.choices.layer)


def _gap_sentence(seen: Seen[Choices, HeadGaps]) -> str:
    return sentences.about_gap(seen.result, seen.answers.layers.index(seen.choices.layer), seen.choices.layer)


def _gap_more(seen: Seen[Choices, HeadGaps]) -> str:
    return sentences.paper_effect(seen.result, seen.answers.layers.index(seen.choices.layer))


GAP = View[Choices, HeadGaps](
    id="gap",
    title="Figure 3a: by verdict",
    topic="The paper's figures",
    question="Do heads attend less to the previous token where an answer is incorrect?",
    needs=frozenset({"layer", "tokens", "offset", "thresholds"}),
    uses_selection=True,
    compute=_gaps,
    claim=_gap_claim,
    sentence=_gap_sentence,
    more=_gap_more,
    pictures=_gap_pictures,
    tables=_gap_tables,
)


# Figure 3b


@dataclass(frozen=True, eq=False, kw_only=True)
class ByQuality:
    """Quality in bins of attention, and how closely the two go together."""

    bins: QualityBins
    correlations: Correlations


def _by_quality(answers: AnswerSet, choices: Choices) -> ByQuality:
    attention = answers.picked_attention(choices.layer, tokens=choices.tokens, offset=choices.offset)
    return ByQuality(
        bins=quality_bins(attention, answers.quality, clusters=answers.clusters),
        correlations=correlations(attention, answers.quality, clusters=answers.clusters),
    )


def _bins_pictures(seen: Seen[Choices, ByQuality]) -> tuple[Picture, ...]:
    title = f"mean attention of the selected head, layer {seen.choices.layer}"
    return (
        Picture(
            "quality_by_attention",
            f"Quality and attention, layer {seen.choices.layer}",
            "Quality of each answer by its attention, with bin means",
            sentences.bins_caption(seen.result.bins),
            partial(quality_bins_chart, seen.result.bins, title=title),
            click="answer",
            about=sentences.bins_about(seen.result.bins, seen.result.correlations),
        ),
    )


def _bins_tables(seen: Seen[Choices, ByQuality]) -> tuple[Table, ...]:
    frame = tables.quality_bins_table(seen.result.bins, of="attention")
    return (
        Table("by_quality", "Quality by attention", f"Mean quality of each bin. {_BRACKETS}", frame, place="folded"),
    )


BINS = View[Choices, ByQuality](
    id="bins",
    title="Figure 3b: by quality",
    topic="The paper's figures",
    question="Is the answer better where the selected head attends more to the previous token?",
    needs=frozenset({"layer", "tokens", "offset"}),
    uses_selection=True,
    compute=_by_quality,
    claim=lambda seen: claims.bins_claim(seen.result.correlations.spearman, seen.choices.layer),
    sentence=lambda seen: sentences.about_bins(seen.result.correlations.spearman, seen.choices.layer),
    pictures=_bins_pictures,
    tables=_bins_tables,
)


# Figure 3c


def _by_distance(answers: AnswerSet, choices: Choices) -> HeadGaps:
    """Differences in one layer, a column for each preceding token."""
    column = answers.layers.index(choices.layer)
    at_offsets = [answers.means(tokens=choices.tokens, offset=offset)[:, column] for offset in OFFSETS]
    picks = np.repeat(answers.picks()[:, [column]], len(OFFSETS), axis=1)
    return head_gaps(np.stack(at_offsets, axis=1), picks, answers.sides, clusters=answers.clusters)


def _distance_pictures(seen: Seen[Choices, HeadGaps]) -> tuple[Picture, ...]:
    enough = with_enough(seen.result, OFFSETS)
    return (
        Picture(
            "difference_by_offset",
            f"Attention by distance, layer {seen.choices.layer}",
            "Difference between correct and incorrect answers by preceding token",
            sentences.distances_caption(enough),
            partial(distance_lines, enough),
            about=sentences.distances_about(),
        ),
    )


def _distance_tables(seen: Seen[Choices, HeadGaps]) -> tuple[Table, ...]:
    caption = (
        f"The 1st to 6th preceding token; a short answer has no token at the larger distances. {_BRACKETS} "
        "Percentages are relative to the mean of incorrect answers."
    )
    frame = tables.gap_table(seen.result, OFFSETS, name="preceding token")
    return (Table("distances", f"Attention by distance, layer {seen.choices.layer}", caption, frame),)


FURTHER = View[Choices, HeadGaps](
    id="further",
    title="Figure 3c: by distance",
    topic="The paper's figures",
    question="Do heads also attend less to tokens that are further back?",
    needs=frozenset({"layer", "tokens", "thresholds"}),
    uses_selection=True,
    compute=_by_distance,
    claim=lambda seen: claims.distances_claim(with_enough(seen.result, OFFSETS), seen.choices.layer),
    sentence=lambda seen: sentences.about_distances(with_enough(seen.result, OFFSETS), seen.choices.layer),
    pictures=_distance_pictures,
    tables=_distance_tables,
)


# Selected heads


@dataclass(frozen=True, eq=False, kw_only=True)
class Selected:
    """How often each head is selected, and how far groups agree; `as_scored`: by the attention that scoring uses."""

    heads: SelectedHeads
    agreement: Agreement
    as_scored: bool


def _selected(answers: AnswerSet, choices: Choices) -> Selected:
    as_scored = choices.tokens == "all" and choices.offset == 1
    picks = answers.picks() if as_scored else pick(_means(answers, choices))
    num_heads = answers.run.answerer.num_heads
    return Selected(
        heads=selected_heads(picks, answers.layers, num_heads),
        agreement=agreement(picks, answers.group_names, answers.layers, num_heads),
        as_scored=as_scored,
    )


_OTHER_ATTENTION = (
    "Heads are selected here by different attention than in RAUQ, which uses the whole answer and the previous token."
)


def _selected_pictures(seen: Seen[Choices, Selected]) -> tuple[Picture, ...]:
    return (
        Picture(
            "picked_heads",
            "Selected heads",
            "Share of answers for which each head is selected",
            joined(
                sentences.selected_heads_caption(seen.result.heads),
                "" if seen.result.as_scored else _OTHER_ATTENTION,
            ),
            partial(selected_heads_map, seen.result.heads),
            about=sentences.selected_heads_about(),
        ),
    )


def _selected_tables(seen: Seen[Choices, Selected]) -> tuple[Table, ...]:
    found, together = seen.result.heads, seen.result.agreement
    most_frequent = Table(
        "picked_heads",
        "Selected heads",
        "The most frequent heads of each layer, and the percent of answers in which they are selected.",
        tables.selected_heads_table(found),
        place="folded",
    )
    if len(together.groups) < 2:
        return (most_frequent,)
    caption = joined(
        "The most frequent head over all answers, and the percent of each group in which it is selected.",
        sentences.agreement_caption(together),
        groups_note(seen.answers.group_names),
    )
    frame = tables.agreement_table(together)
    by_group = Table("agreement", "Selected heads across groups", caption, frame, place="folded")
    return most_frequent, by_group


SELECTED = View[Choices, Selected](
    id="picked",
    title="Selected heads",
    topic="Which heads?",
    question="Which heads does RAUQ select, and always the same ones?",
    needs=frozenset({"layer", "tokens", "offset"}),
    uses_selection=True,
    compute=_selected,
    claim=lambda seen: claims.selected_heads_claim(seen.result.heads, seen.choices.layer),
    sentence=lambda seen: sentences.about_selected_heads(seen.result.heads, seen.choices.layer),
    pictures=_selected_pictures,
    tables=_selected_tables,
)


# What a score means


@dataclass(frozen=True, eq=False, kw_only=True)
class Meaning:
    """The share of correct answers at each score, quality in tenths, and how the score ranks."""

    uncertainty: np.ndarray
    calibration: Calibration
    tenths: QualityBins
    ranked: tuple[Comparison, ...]
    bounds: UnclearBounds[tuple[Comparison, ...]] | None


def _meaning(answers: AnswerSet, _choices: Choices) -> Meaning:
    uncertainty, quality, clusters = answers.scores(), answers.quality, answers.clusters
    correct = np.where(np.isnan(quality), np.nan, quality > answers.thresholds.roc)
    thresholds = answers.thresholds
    return Meaning(
        uncertainty=uncertainty,
        calibration=calibrate(uncertainty, correct, clusters=clusters),
        tenths=quality_bins(uncertainty, quality, clusters=clusters),
        ranked=rank_score(uncertainty, quality, answers.group_names, thresholds=thresholds, clusters=clusters),
        bounds=score_bounds(answers.answers, uncertainty, thresholds=thresholds),
    )


def _meaning_pictures(seen: Seen[Choices, Meaning]) -> tuple[Picture, ...]:
    return (
        Picture(
            "what_a_score_means",
            "What a score means",
            "Share of correct answers by uncertainty",
            sentences.calibration_caption(seen.result.calibration),
            partial(calibration_chart, seen.result.calibration),
            share=1 / 2,
            about=joined(
                sentences.calibration_about(seen.result.calibration, seen.answers.thresholds.roc),
                seen.answers.about_setting,
            ),
        ),
        Picture(
            "quality_by_score",
            "Score and quality",
            "Quality of each answer by its uncertainty, with bin means",
            sentences.score_bins_caption(),
            partial(quality_bins_chart, seen.result.tenths, title="uncertainty", colour=UNCERTAINTY),
            click="answer",
            share=1 / 2,
        ),
    )


def _meaning_tables(seen: Seen[Choices, Meaning]) -> tuple[Table, ...]:
    curve = tables.calibration_table(seen.result.calibration)
    tenths = tables.quality_bins_table(seen.result.tenths, of="uncertainty")
    return (
        Table(
            "meaning", "Share of correct answers by score", f"The curve at each score. {_BRACKETS}", curve, place="file"
        ),
        Table("tenths", "Quality by score", f"Mean quality in tenths. {_BRACKETS}", tenths, place="folded"),
    )


MEANING = View[Choices, Meaning](
    id="meaning",
    title="What a score means",
    topic="What is a score worth?",
    question="How many answers with such a score are correct?",
    needs=frozenset({"settings"}),
    compute=_meaning,
    claim=lambda seen: claims.meaning_claim(seen.result.calibration, seen.result.uncertainty),
    sentence=lambda seen: sentences.about_meaning(seen.result.calibration, seen.result.uncertainty),
    more=lambda seen: joined(score_sentence(seen.result.ranked), within_sentence(seen.result.ranked)),
    bounds=lambda seen: score_bounds_sentence(seen.result.bounds),
    pictures=_meaning_pictures,
    tables=_meaning_tables,
)


VIEWS: tuple[View[Choices, Any], ...] = (HEADS, ADDED, SELECTED, TOKENS, BEST, GAP, BINS, FURTHER, MEANING)
"""In the order of the page and of a report."""
