"""The views of the page Methods in which RAUQ is changed: alpha, one of its parts, or the attention that it reads."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from typing import get_args

import numpy as np

from analysis.answer_sets.sentences import joined
from analysis.exports.tables import Table
from analysis.methods import claims, sentences, tables
from analysis.methods.ablations import Ablated, Ablation, ablate, ablations
from analysis.methods.alpha_figures import alpha_groups, alpha_sweep
from analysis.methods.attention_permutation import (
    ALPHAS,
    DERANGEMENTS,
    REPLACED,
    GroupControl,
    Sweep,
    TokensScored,
    control_groups,
    sweep,
)
from analysis.methods.comparison import headline_groups
from analysis.methods.figures import control_differences, method_intervals
from analysis.runs.opened import Run
from analysis.runs.traces import fact_masks
from analysis.views.answer_set import AnswerSet
from analysis.views.methods import Choices
from analysis.views.view import Picture, Seen, View
from rauq.errors import InvalidInput
from rauq.scoring.settings import Signal
from rauq.trace.trace import Alignment

# Alpha

_SWEEP = (
    "RAUQ from alpha 0, attention alone, to 1, the signal alone. Below: real minus other attention; above 0 the real "
    "one ranks better."
)
_OTHERS = (
    f"Shuffled: the weights of another answer of the group (mean of {DERANGEMENTS} draws); constant: the mean of each "
    "layer. Bands and bars: 95 % intervals by question."
)
_SWEEP_GROUPS = "The same in each group. Bands: 95 % intervals with real attention, some wider than the axis."
_OF_ALL = (1 + len(REPLACED)) * len(ALPHAS)  # rows of the table of a sweep that are of all answers


def _swept(answers: AnswerSet, choices: Choices) -> Sweep:
    return sweep(
        answers.batch(choices.alignment),
        answers.quality,
        answers.group_names,
        answers.groups,
        signal=choices.signal,
        metric=choices.metric,
        thresholds=answers.thresholds,
        seed=choices.seed,
    )


def _named(found: Sweep) -> tuple[str, str]:
    """What ends the names of the files of a sweep, and its headings: the signal, and the alignment that is unusual."""
    own = found.alignment == "own"
    return f"{found.signal}{'_own' if own else ''}", f"{found.signal}{', own alignment' if own else ''}"


def _swept_pictures(seen: Seen[Choices, Sweep]) -> Iterator[Picture]:
    found = seen.result
    name, words = _named(found)
    yield Picture(
        f"alpha_{name}",
        f"RAUQ over alpha: {words}",
        "Ranking by RAUQ at every alpha by kind of attention",
        _SWEEP,
        partial(alpha_sweep, found),
        about=joined(_OTHERS, sentences.within_note(found)),
    )
    if len(found.groups) > 1:
        yield Picture(
            f"alpha_groups_{name}",
            f"RAUQ over alpha in each group: {words}",
            "Ranking by RAUQ at every alpha, group by group",
            _SWEEP_GROUPS,
            partial(alpha_groups, found),
        )


def _swept_tables(seen: Seen[Choices, Sweep]) -> tuple[Table, ...]:
    name, words = _named(seen.result)
    frame = tables.sweep_table(seen.result)
    caption = joined("With real, shuffled, constant and no attention.", sentences.within_note(seen.result))
    return (Table(f"alpha_{name}", f"RAUQ over alpha: {words}", caption, frame, rows=_OF_ALL, place="folded"),)


def _sweeps(_answers: AnswerSet, choices: Choices) -> Iterator[Choices]:
    for alignment, signal in product(get_args(Alignment), get_args(Signal)):
        yield replace(choices, alignment=alignment, signal=signal)


ALPHA = View[Choices, Sweep](
    id="alpha",
    title="Alpha",
    topic="What does the ranking rest on?",
    question="At which alpha does RAUQ rank best, and does that need real attention?",
    needs=frozenset({"metric", "signal", "alignment"}),
    compute=_swept,
    claim=lambda seen: claims.sweep_claim(seen.result),
    sentence=lambda seen: sentences.sweep_sentence(seen.result),
    more=lambda seen: joined(*sentences.attention_sentences(seen.result)),
    pictures=lambda seen: tuple(_swept_pictures(seen)),
    tables=_swept_tables,
    reported=_sweeps,
)


# Ablations

_USUAL = (
    "RAUQ itself: in each layer of the middle third the head with the most previous-token attention, mean of logs over "
    "tokens, maximum over layers."
)


def ablation_of(run: Run, table: str) -> Ablation:
    """One of the paper's tables of ablations, for the layers of a run.

    Raises:
        InvalidInput: there is no such table.
    """
    known = {one.id: one for one in ablations(run.answerer.layers)}
    if table not in known:
        message = f"There is no table of ablations {table!r}; choose one of {', '.join(known)}."
        raise InvalidInput(message)
    return known[table]


def _ablated(answers: AnswerSet, choices: Choices) -> Ablated:
    return ablate(
        ablation_of(answers.run, choices.table),
        answers.batch("predicting"),
        answers.quality,
        answers.group_names,
        answers.groups,
        layers=answers.layers,
        metric=choices.metric,
        thresholds=answers.thresholds,
        seed=choices.seed,
    )


def _ablated_more(seen: Seen[Choices, Ablated]) -> str:
    return joined(*sentences.comparison_sentences(seen.result.comparison, called="variants")[1:])


def _ablation_caption(seen: Seen[Choices, Ablated]) -> str:
    """What a row shows, and what the table leaves out."""
    return joined(sentences.intervals_caption(seen.result.comparison), sentences.ablation_note(seen.result))


def _ablation_about(seen: Seen[Choices, Ablated]) -> str:
    """What RAUQ itself does, and what the mean within groups is."""
    return joined(_USUAL, sentences.within_note(seen.result.comparison))


def _ablated_pictures(seen: Seen[Choices, Ablated]) -> tuple[Picture, ...]:
    found, title = seen.result.comparison, seen.result.ablation.title
    return (
        Picture(
            f"ablation_{seen.result.ablation.id}",
            f"Ablation: {title.lower()}",
            title,
            _ablation_caption(seen),
            partial(method_intervals, found.methods, found.headline, metric=found.metric),
            about=_ablation_about(seen),
        ),
    )


def _ablated_tables(seen: Seen[Choices, Ablated]) -> tuple[Table, ...]:
    heading = f"Ablation: {seen.result.ablation.title.lower()}"
    frame = tables.ablation_table(seen.result)
    name, caption = f"ablation_{seen.result.ablation.id}", _ablation_caption(seen)
    return (Table(name, heading, caption, frame, about=_ablation_about(seen)),)


ABLATIONS = View[Choices, Ablated](
    id="ablations",
    title="Ablations",
    topic="What does the ranking rest on?",
    question="Which parts of RAUQ matter?",
    needs=frozenset({"metric", "table"}),
    compute=_ablated,
    claim=lambda seen: claims.first_claim(seen.result.comparison, called="variants"),
    sentence=lambda seen: sentences.comparison_sentences(seen.result.comparison, called="variants")[0],
    more=_ablated_more,
    pictures=_ablated_pictures,
    tables=_ablated_tables,
    reported=lambda answers, choices: [replace(choices, table=one.id) for one in ablations(answers.layers)],
)


# Does attention matter?

_CONTROL = {"all": "Does attention matter?", "fact": "Does attention matter on the fact tokens?"}
_REPLACED = (
    "RAUQ with the attention of its selected heads replaced, and the real one minus that: above 0 the real attention "
    "ranks better. Paired 95 % intervals by question."
)
_SAME = ["alignment", "tokens"]  # in every row of the table


def facts_of(answers: AnswerSet) -> np.ndarray:
    """Which tokens of each answer (n, N) carry the fact."""
    return fact_masks(answers.run)[answers.rows]


def _controlled(answers: AnswerSet, choices: Choices) -> tuple[GroupControl, ...]:
    return control_groups(
        answers.batch("predicting"),
        answers.quality,
        answers.group_names,
        answers.groups,
        metric=choices.metric,
        thresholds=answers.thresholds,
        facts=facts_of(answers) if choices.tokens == "fact" else None,
        seed=choices.seed,
    )


def _controlled_pictures(seen: Seen[Choices, tuple[GroupControl, ...]]) -> Iterator[Picture]:
    found, tokens = seen.result, seen.choices.tokens
    count = len(headline_groups([control.group for control in found]))
    yield Picture(
        f"control_{tokens}",
        _CONTROL[tokens],
        "RAUQ minus RAUQ with replaced attention",
        joined(sentences.control_caption(found), sentences.within_note(found)),
        partial(control_differences, found[:count]),
    )
    if len(found) > count:
        yield Picture(
            f"control_groups_{tokens}",
            f"{_CONTROL[tokens].removesuffix('?')}, group by group?",
            "The same differences, group by group",
            "The same differences in each group.",
            partial(control_differences, found[count:]),
            place="folded",
        )


def _controlled_tables(seen: Seen[Choices, tuple[GroupControl, ...]]) -> tuple[Table, ...]:
    tokens, frame = seen.choices.tokens, tables.control_table(seen.result)
    caption = joined(_REPLACED, sentences.within_note(seen.result))
    return (Table(f"control_{tokens}", _CONTROL[tokens], caption, frame, cells=frame.drop(columns=_SAME)),)


def _controls(answers: AnswerSet, choices: Choices) -> Iterator[Choices]:
    """Over the whole answer, and over the tokens of the fact where any are known."""
    tokens: tuple[TokensScored, ...] = ("all", "fact") if facts_of(answers).any() else ("all",)
    for name in tokens:
        yield replace(choices, tokens=name)


ATTENTION = View[Choices, tuple[GroupControl, ...]](
    id="attention",
    title="Does attention matter?",
    topic="What does the ranking rest on?",
    question="Does RAUQ rank worse with the attention of another answer?",
    needs=frozenset({"metric", "tokens"}),
    compute=_controlled,
    claim=lambda seen: claims.control_claim(seen.result),
    sentence=lambda seen: sentences.control_sentences(seen.result)[0],
    more=lambda seen: joined(*sentences.control_sentences(seen.result)[1:]),
    pictures=lambda seen: tuple(_controlled_pictures(seen)),
    tables=_controlled_tables,
    reported=_controls,
    within="survives",
)
