"""The views of all heads, of heads added to RAUQ, and of signals that find wrong tokens."""

from dataclasses import dataclass
from functools import partial

from analysis.answer_sets import claims, sentences, tables
from analysis.answer_sets.heads import SelectedHeads, selected_heads
from analysis.answer_sets.sentences import joined
from analysis.answer_sets.separation import HeldOut, Separation, area_of, by_length, held_out, separation
from analysis.answer_sets.side_figures import head_map
from analysis.answer_sets.sides import sides
from analysis.exports.tables import Table
from analysis.methods.added_heads import (
    AddedHeads,
    added_heads,
    added_heads_caption,
    added_heads_claim,
    added_heads_sentence,
    candidates,
    chosen_sentence,
)
from analysis.methods.figures import added_heads_chart, labels_chart
from analysis.methods.tables import added_heads_table
from analysis.quality.unclear import bounds_sentence, unclear_bounds
from analysis.tokens.detection import Detection, detect, marks_of_run, token_signals
from analysis.tokens.figures import signals_chart
from analysis.tokens.sentences import (
    detection_about,
    detection_caption,
    detection_cells,
    detection_claim,
    detection_sentence,
    detection_table,
    heads_caption,
    place_sentence,
    table_caption,
)
from analysis.views.answer_set import AnswerSet, Choices
from analysis.views.view import Picture, Seen, View
from rauq.labels import number

_MOST_SHOWN = 10  # heads of a table


# All heads


@dataclass(frozen=True, eq=False, kw_only=True)
class Separated:
    """How heads separate correct from incorrect answers: all, those of one length, and chosen on one half."""

    found: Separation
    same_length: Separation
    half: HeldOut
    selected: SelectedHeads


def _separated(answers: AnswerSet, choices: Choices) -> Separated:
    own, groups = answers.means(tokens=choices.tokens), answers.group_names
    found, same = (
        separation(own, answers.sides, within, clusters=answers.clusters, seed=choices.seed)
        for within in (groups, by_length(groups, answers.lengths))
    )
    selected = selected_heads(answers.picks(), answers.layers, answers.run.answerer.num_heads)
    return Separated(found=found, same_length=same, half=held_out(own, found.labelled), selected=selected)


def _separated_more(seen: Seen[Choices, Separated]) -> str:
    result = seen.result
    if result.found.best is None:
        return ""
    return joined(
        sentences.about_directions(result.found),
        sentences.about_held_out(result.half),
        sentences.about_length(result.same_length),
        sentences.about_chance(result.found),
        sentences.groups_caption(result.found.labelled),
    )


def _separated_bounds(seen: Seen[Choices, Separated]) -> str:
    """What the best head's ROC-AUC is with unclear answers on either side."""
    answers, best = seen.answers, seen.result.found.best
    if best is None:
        return ""
    values, groups = answers.means(tokens=seen.choices.tokens), answers.group_names
    bounds = unclear_bounds(
        lambda quality: area_of(values, best, sides(quality, answers.thresholds), groups),
        answers.quality,
        answers.unclear,
    )
    in_words = bounds.of(lambda area: number(area, places=2)) if bounds else None
    return bounds_sentence("ROC-AUC of the best head", in_words)


def map_of_heads(seen: Seen[Choices, Separated], *, shown: tuple[int, int] | None = None) -> Picture:
    """The map of all heads, with a square around the one (layer, head) that is `shown`."""
    found, used = seen.result.found, seen.answers.run.used_layers
    selected = seen.result.selected.of_layers(used)
    return Picture(
        "heads",
        "Heads: correct vs incorrect within groups",
        "Layer by head map of the area under the ROC curve of mean attention",
        sentences.separation_caption(found),
        partial(head_map, found, seen.answers.layers, used=used, selected=selected, shown=shown),
    )


def _separated_tables(seen: Seen[Choices, Separated]) -> tuple[Table, ...]:
    caption = f"ROC-AUC of mean attention within groups, the first {_MOST_SHOWN} of all heads."
    frame = tables.separation_table(seen.result.found, seen.answers.layers)
    return (Table("separation", "Heads: correct vs incorrect within groups", caption, frame, rows=_MOST_SHOWN),)


HEADS = View[Choices, Separated](
    id="heads",
    title="Heads",
    topic="Which heads?",
    question="Which heads separate correct from incorrect answers?",
    needs=frozenset({"tokens", "thresholds"}),
    uses_selection=True,
    compute=_separated,
    claim=lambda seen: claims.separation_claim(seen.result.found),
    sentence=lambda seen: sentences.about_separation(seen.result.found, seen.result.same_length, seen.answers.layers),
    more=_separated_more,
    bounds=_separated_bounds,
    pictures=lambda seen: (map_of_heads(seen),),
    tables=_separated_tables,
)


# Heads added to RAUQ


def _added(answers: AnswerSet, choices: Choices) -> AddedHeads:
    given = candidates(
        answers.run,
        answers.rows,
        uncertainty=answers.scores(),
        means=answers.means(),
        thresholds=answers.thresholds,
        words=answers.reader.words(answers.run, answers.alignment),
        clusters=answers.run.clusters,
    )
    return added_heads(given, k=choices.added, thresholds=answers.thresholds, seed=choices.seed)


def _added_pictures(seen: Seen[Choices, AddedHeads]) -> tuple[Picture, ...]:
    first = Picture(
        "added_heads",
        "RAUQ + heads: ours, not the paper's",
        "PRR of RAUQ with heads minus RAUQ alone",
        joined(added_heads_caption(seen.result), chosen_sentence(seen.result)),
        partial(added_heads_chart, seen.result),
        share=5 / 8,
    )
    if seen.result.reason:
        return (first,)
    by_number = Picture(
        "added_heads_labels",
        "RAUQ + heads by number of labelled answers",
        "Difference by number of labelled answers",
        "Mean difference to RAUQ alone, with the range of ten draws of labelled answers that choose the heads.",
        partial(labels_chart, seen.result),
        share=3 / 8,
    )
    return first, by_number


def _added_tables(seen: Seen[Choices, AddedHeads]) -> tuple[Table, ...]:
    caption = f"{added_heads_caption(seen.result)} PRR within groups minus that of RAUQ alone."
    return (Table("added_heads", "RAUQ + heads", caption, added_heads_table(seen.result), place="folded"),)


ADDED = View[Choices, AddedHeads](
    id="added",
    within="heads",
    title="RAUQ + heads",
    topic="Which heads?",
    question="Do heads that other groups chose add anything to RAUQ?",
    needs=frozenset({"added", "thresholds", "settings"}),
    compute=_added,
    claim=lambda seen: added_heads_claim(seen.result),
    sentence=lambda seen: added_heads_sentence(seen.result),
    pictures=_added_pictures,
    tables=_added_tables,
)


# Wrong tokens


def _tokens(answers: AnswerSet, _choices: Choices) -> Detection:
    marks = marks_of_run(answers.run, answers.thresholds)
    given = token_signals(answers.batch(), [marks[row] for row in answers.rows], answers.settings)
    return detect(given, answers.group_names, clusters=answers.clusters)


def _token_pictures(seen: Seen[Choices, Detection]) -> tuple[Picture, ...]:
    found = seen.result
    return (
        Picture(
            "token_signals",
            "Which signal finds the wrong tokens",
            "ROC-AUC of each signal of tokens with its interval",
            detection_caption(found),
            partial(signals_chart, found),
            about=detection_about(),
        ),
        Picture(
            "token_heads",
            "Which heads find the wrong tokens",
            "ROC-AUC of the attention of each head on wrong tokens",
            heads_caption(),
            partial(head_map, found.heads, found.layers, used=seen.answers.run.used_layers),
        ),
    )


def _token_tables(seen: Seen[Choices, Detection]) -> tuple[Table, ...]:
    frame, cells = detection_table(seen.result), detection_cells(seen.result)
    return (Table("tokens", "Wrong tokens", table_caption(seen.result), frame, cells=cells),)


TOKENS = View[Choices, Detection](
    id="tokens",
    title="Wrong tokens",
    topic="Which heads?",
    question="Which signal finds the wrong tokens of an answer?",
    needs=frozenset({"thresholds", "settings"}),
    compute=_tokens,
    claim=lambda seen: detection_claim(seen.result),
    sentence=lambda seen: detection_sentence(seen.result),
    more=lambda seen: place_sentence(seen.result),
    pictures=_token_pictures,
    tables=_token_tables,
)
