"""The views of the page Methods that compare what its methods gave of each answer.

Two views of that page are no objects: Supervised shows tables that a command wrote, over splits of several runs, and
Several runs sets whole runs side by side. Neither is about the scores of one set of answers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import get_args

import numpy as np
import pandas as pd

from analysis.answer_sets.figures import quality_bins_chart
from analysis.answer_sets.quality_curves import QualityBins, quality_bins
from analysis.answer_sets.sentences import joined, score_bins_caption
from analysis.answer_sets.sides import groups_note
from analysis.answer_sets.tables import quality_bins_table
from analysis.exports.tables import Table
from analysis.figures import UNCERTAINTY
from analysis.methods import claims, sentences, tables
from analysis.methods.ablations import ablations
from analysis.methods.agreement import Disagreement, MethodAgreement, disagreement, method_agreement
from analysis.methods.agreement_sentences import agreement_sentence, disagreement_sentence
from analysis.methods.attention_permutation import TokensScored
from analysis.methods.comparison import (
    ALL,
    RAUQ,
    Comparison,
    Metric,
    Paired,
    Rejections,
    compare,
    name_of,
    rejections,
)
from analysis.methods.errors import ErrorAnalysis, error_analysis
from analysis.methods.figures import agreement_map, method_intervals, paired_differences, rejection_curves
from analysis.methods.score_ranking import (
    Simple,
    rank_score,
    score_sentence,
    simple_rankings,
    simple_sentence,
    unnamed_note,
    within_sentence,
)
from analysis.methods.unclear import (
    comparison_bounds,
    comparison_bounds_sentences,
    score_bounds,
    score_bounds_sentence,
    with_bounds,
)
from analysis.quality.unclear import UnclearBounds
from analysis.runs.methods import check_comparable
from analysis.runs.opened import Run
from analysis.runs.own import uses_judge
from analysis.runs.timings import Cost, costs
from analysis.stats import METRICS
from analysis.views.answer_set import AnswerSet
from analysis.views.view import Picture, Seen, View
from rauq.scoring.settings import Settings, Signal, signal_and_alpha
from rauq.trace.trace import Alignment

_MOST_SHOWN = 20  # rows of a long table
_BRACKETS = "Low and high: 95 % interval by question."


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What a reader chooses: a metric, a method, another one that RAUQ is compared with, and those drawn together.

    `table` is one of the ablations, `token_signal` a signal of single tokens; the others are what RAUQ is scored by
    where parts of it are changed.
    """

    metric: Metric = "prr"
    method: str
    other: str
    methods: tuple[str, ...]
    table: str
    tokens: TokensScored = "all"
    token_signal: str = "collapse"
    signal: Signal
    alignment: Alignment = "predicting"
    seed: int = 0


_FEW = (RAUQ, "perplexity", "msp", "mean_token_entropy")  # that need one generation


def usual(run: Run) -> Choices:
    """What is shown of a run unless a reader chooses; the signal is the paper's for the kind of model.

    Raises:
        RunError: this version has none of the run's methods.
    """
    check_comparable(run.manifest.request)
    few = tuple(method for method in _FEW if method in run.methods)
    base = base_of(run)
    return Choices(
        method=base,
        other=next((method for method in (*few, *run.methods) if method != base), base),
        methods=few or run.methods[: len(_FEW)],
        table=ablations(run.answerer.layers)[0].id,
        signal=signal_and_alpha(Settings(), run.answerer.kind)[0],
    )


def base_of(run: Run) -> str:
    """The method that others are compared with: RAUQ, or the run's first where it has no RAUQ."""
    return RAUQ if RAUQ in run.methods else run.methods[0]


# How well each method ranks


@dataclass(frozen=True, eq=False, kw_only=True)
class Ranked:
    """The methods compared, also with unclear answers on either side, beside what their length alone tells.

    `judging`: those that read the facts by which answers are judged, compared with each other alone; None without any.
    """

    comparison: Comparison
    judging: Comparison | None
    bounds: UnclearBounds[Comparison] | None
    simple: Simple
    costs: tuple[Cost, ...]

    @property
    def paired(self) -> Paired | None:
        """RAUQ minus each other method; None where RAUQ is not there or nothing can be compared."""
        paired = self.comparison.paired
        if paired is None or all(one.reason for column in paired.headline.values() for one in column):
            return None
        return paired


def _ranked(answers: AnswerSet, choices: Choices) -> Ranked:
    own, metric, limits = answers.answers, choices.metric, answers.thresholds
    competing, judging = _competing(answers.run.methods)
    compared = partial(compare, own, groups=answers.groups, metric=metric, thresholds=limits)
    return Ranked(
        comparison=compared(competing),
        judging=compared(judging) if judging else None,
        bounds=comparison_bounds(own, competing, answers.groups, metric=metric, thresholds=limits),
        simple=simple_rankings(own, metric=metric, thresholds=limits, clusters=answers.clusters),
        costs=costs(answers.run),
    )


def _competing(methods: Sequence[str]) -> tuple[list[str], list[str]]:
    """The methods that compete, and those that read the facts of the judge; these compete where there are no others."""
    competing = [method for method in methods if not uses_judge(method)]
    return (competing, [method for method in methods if uses_judge(method)]) if competing else (list(methods), [])


def _ranked_more(seen: Seen[Choices, Ranked]) -> str:
    found, simple = seen.result.comparison, seen.result.simple
    _, *within = sentences.comparison_sentences(found)
    return joined(*within, simple_sentence(simple), sentences.undefined_sentence(found.methods, found.of_group(ALL)))


def _ranked_pictures(seen: Seen[Choices, Ranked]) -> tuple[Picture, ...]:
    found, paired = seen.result.comparison, seen.result.paired
    metric = METRICS[found.metric]
    each = Picture(
        f"methods_{found.metric}",
        f"Methods by {metric}",
        f"{metric} of each method with its interval",
        joined(sentences.intervals_caption(found), sentences.within_note(found)),
        partial(method_intervals, found.methods, found.headline, metric=found.metric),
    )
    judging = () if seen.result.judging is None else (_judging_picture(seen, seen.result.judging),)
    return (each, *judging, *(() if paired is None else (_differences(paired, found.metric),)))


def _judging_heading(metric: Metric) -> str:
    return f"Methods that read the judge's facts, by {METRICS[metric]}"


def _judging_picture(seen: Seen[Choices, Ranked], found: Comparison) -> Picture:
    return Picture(
        f"methods_same_facts_{found.metric}",
        _judging_heading(found.metric),
        f"{METRICS[found.metric]} of each of these methods with its interval",
        _judging_caption(seen, found),
        partial(method_intervals, found.methods, found.headline, metric=found.metric),
    )


def _judging_caption(seen: Seen[Choices, Ranked], found: Comparison) -> str:
    return joined(
        unnamed_note(seen.result.simple, found.methods),
        sentences.judges_note(found.methods),
        sentences.undefined_sentence(found.methods, found.of_group(ALL)),
    )


def _differences(paired: Paired, metric: Metric) -> Picture:
    return Picture(
        f"paired_{metric}",
        f"{name_of(paired.base)} minus other methods, {METRICS[metric]}",
        f"{name_of(paired.base)} minus every other method, with intervals",
        joined(*sentences.paired_sentences(paired), sentences.paired_caption(paired)),
        partial(paired_differences, paired.base, paired.methods, paired.headline, metric=metric),
    )


def ranking_caption(seen: Seen[Choices, Ranked]) -> str:
    """How to read the table of methods, and what their cost includes."""
    found, measured = seen.result.comparison, seen.result.costs
    return joined(
        sentences.intervals_caption(found),
        sentences.within_note(found),
        sentences.costs_sentence(measured),
        sentences.charges_note(measured),
        groups_note(seen.answers.group_names),
    )


def _ranked_tables(seen: Seen[Choices, Ranked]) -> Iterator[Table]:
    found, judging, paired = seen.result.comparison, seen.result.judging, seen.result.paired
    metric, heading = found.metric, f"Methods by {METRICS[found.metric]}"
    frame = with_bounds(tables.methods_table(found, seen.result.costs), seen.result.bounds)
    frame = frame.iloc[found.best_first].reset_index(drop=True)
    yield Table(f"methods_{metric}", heading, ranking_caption(seen), frame)
    if judging is not None:
        frame = tables.methods_table(judging, seen.result.costs).iloc[judging.best_first].reset_index(drop=True)
        yield Table(f"methods_same_facts_{metric}", _judging_heading(metric), _judging_caption(seen, judging), frame)
    yield Table(
        f"methods_{metric}_intervals",
        f"Methods by {METRICS[metric]}, with intervals",
        sentences.intervals_caption(found),
        pd.concat([tables.comparison_table(one) for one in (found, judging) if one is not None], ignore_index=True),
        rows=_MOST_SHOWN,
        place="file",
    )
    if paired is not None:
        heading, caption = _differences(paired, metric).heading, sentences.paired_caption(paired)
        frame = tables.paired_table(paired)
        yield Table(f"paired_{metric}", heading, caption, frame, rows=_MOST_SHOWN, place="folded")


RANKING = View[Choices, Ranked](
    id="ranking",
    title="Ranking",
    topic="How well do methods rank?",
    question="How well does each method rank the answers, and what does it cost?",
    needs=frozenset({"metric"}),
    compute=_ranked,
    claim=lambda seen: claims.ranking_claim(seen.result.comparison),
    sentence=lambda seen: sentences.comparison_sentences(seen.result.comparison)[0],
    more=_ranked_more,
    bounds=lambda seen: joined(*comparison_bounds_sentences(seen.result.bounds, seen.result.comparison)),
    pictures=_ranked_pictures,
    tables=lambda seen: tuple(_ranked_tables(seen)),
    reported=lambda _answers, choices: [replace(choices, metric=metric) for metric in get_args(Metric)],
)


# Rejection

_REJECTION = "Mean quality of the remaining answers as the least confident are rejected first."
_ORDERS = (
    "The oracle rejects the worst first; a random order gains nothing. PRR: share of the area between these two, up to "
    "50 % rejected."
)


def _rejected(answers: AnswerSet, choices: Choices) -> Rejections:
    return rejections(answers.uncertainties(choices.methods), answers.quality)


def _rejected_pictures(seen: Seen[Choices, Rejections]) -> tuple[Picture, ...]:
    alt = "Mean quality by share of rejected answers"
    return (Picture("rejection", "Rejection", alt, _REJECTION, partial(rejection_curves, seen.result), about=_ORDERS),)


def _rejected_tables(seen: Seen[Choices, Rejections]) -> tuple[Table, ...]:
    if not seen.result.n:
        return ()
    caption = "Mean quality of the rest at each share of rejected answers, by each method."
    frame = tables.rejections_table(seen.result)
    return (Table("rejection", "Rejection", caption, frame, place="folded", cells=_in_tenths(frame)),)


def _in_tenths(curves: pd.DataFrame) -> pd.DataFrame:
    """The rows of curves that are nearest to each tenth of rejected answers."""
    rejected = curves["rejected"].to_numpy()
    places = [int(np.abs(rejected - tenth / 10).argmin()) for tenth in range(11)]
    return curves.iloc[list(dict.fromkeys(places))]


REJECTION = View[Choices, Rejections](
    id="rejection",
    title="Rejection",
    topic="How well do methods rank?",
    question="How good are the answers that remain as the least confident are rejected?",
    needs=frozenset({"methods"}),
    compute=_rejected,
    claim=lambda seen: claims.rejections_claim(seen.result),
    sentence=lambda seen: sentences.rejections_caption(seen.result),
    pictures=_rejected_pictures,
    tables=_rejected_tables,
    reported=lambda answers, choices: [replace(choices, methods=answers.run.methods)],
)


# Score and quality


@dataclass(frozen=True, eq=False, kw_only=True)
class Scored:
    """Quality in tenths of a method's uncertainty, and how the method ranks, also with unclear answers on a side."""

    tenths: QualityBins
    ranked: tuple[Comparison, ...]
    bounds: UnclearBounds[tuple[Comparison, ...]] | None


def _scored(answers: AnswerSet, choices: Choices) -> Scored:
    (uncertainty,) = answers.uncertainties([choices.method]).values()
    quality, limits, clusters = answers.quality, answers.thresholds, answers.clusters
    return Scored(
        tenths=quality_bins(uncertainty, quality, clusters=clusters),
        ranked=rank_score(uncertainty, quality, answers.group_names, thresholds=limits, clusters=clusters),
        bounds=score_bounds(answers.answers, uncertainty, thresholds=limits),
    )


def _scored_pictures(seen: Seen[Choices, Scored]) -> tuple[Picture, ...]:
    name = name_of(seen.choices.method)
    return (
        Picture(
            "score_and_quality",
            f"Score and quality: {name}",
            "Quality of each answer by its uncertainty, with bin means",
            score_bins_caption(f"uncertainty under {name}"),
            partial(quality_bins_chart, seen.result.tenths, title="uncertainty", colour=UNCERTAINTY),
            click="answer",
        ),
    )


def _scored_tables(seen: Seen[Choices, Scored]) -> tuple[Table, ...]:
    heading = f"Score and quality: {name_of(seen.choices.method)}"
    frame = quality_bins_table(seen.result.tenths, of="uncertainty")
    return (Table("score_and_quality", heading, f"Mean quality in tenths. {_BRACKETS}", frame, place="folded"),)


SCORES = View[Choices, Scored](
    id="scores",
    title="Score and quality",
    topic="How well do methods rank?",
    question="How does quality fall as the uncertainty of a method rises?",
    needs=frozenset({"method"}),
    compute=_scored,
    claim=lambda seen: claims.scores_claim(seen.result.ranked, seen.choices.method),
    sentence=lambda seen: score_sentence(seen.result.ranked),
    more=lambda seen: within_sentence(seen.result.ranked),
    bounds=lambda seen: score_bounds_sentence(seen.result.bounds),
    pictures=_scored_pictures,
    tables=_scored_tables,
)


# Agreement

_AGREEMENT = "Spearman's rank correlation of the uncertainties of two methods; 1: same order of the answers."


@dataclass(frozen=True, eq=False, kw_only=True)
class Agreed:
    """Which methods agree, and the answers on which `base` and the other method that is chosen disagree most."""

    base: str
    methods: MethodAgreement
    apart: Disagreement


def _agreed(answers: AnswerSet, choices: Choices) -> Agreed:
    base, uncertainties = base_of(answers.run), answers.uncertainties(answers.run.methods)
    return Agreed(
        base=base,
        methods=method_agreement(uncertainties),
        apart=disagreement(uncertainties[base], uncertainties[choices.other]),
    )


def _agreed_more(seen: Seen[Choices, Agreed]) -> str:
    base, other, found = seen.result.base, seen.choices.other, seen.result
    return "" if base == other else disagreement_sentence(found.apart, seen.answers.quality, base, other)


def _agreed_pictures(seen: Seen[Choices, Agreed]) -> tuple[Picture, ...]:
    draw = partial(agreement_map, seen.result.methods)
    alt = "Rank correlation between the methods"
    return (Picture("agreement_of_methods", "Agreement of methods", alt, _AGREEMENT, draw),)


def _agreed_tables(seen: Seen[Choices, Agreed]) -> tuple[Table, ...]:
    base, other = seen.result.base, seen.choices.other
    return (
        Table(
            "disagreement",
            f"Where {name_of(base)} and {name_of(other)} disagree most",
            "Percentile: share of answers that are at most as uncertain; 100 is the least confident.",
            tables.disagreement_table(seen.result.apart, seen.answers.answers, base, other),
            rows=_MOST_SHOWN,
        ),
        Table(
            "agreement_of_methods",
            "Agreement of methods",
            _AGREEMENT,
            tables.agreement_table(seen.result.methods),
            rows=_MOST_SHOWN,
            place="folded",
        ),
    )


AGREEMENT = View[Choices, Agreed](
    id="agreement",
    title="Agreement",
    topic="Which answers are found?",
    question="Which methods rank the answers alike, and where does RAUQ differ from another one?",
    needs=frozenset({"other"}),
    compute=_agreed,
    claim=lambda seen: claims.agreement_claim(seen.result.methods, seen.result.base),
    sentence=lambda seen: agreement_sentence(seen.result.methods, base=seen.result.base),
    more=_agreed_more,
    pictures=_agreed_pictures,
    tables=_agreed_tables,
)


# Errors

_ERRORS = "Here an answer is erroneous if its quality is not above the threshold."
_BY_HAND = "The paper's error analysis (appendix G) judged 20 answers at each end by hand."


def _errors(answers: AnswerSet, choices: Choices) -> dict[str, ErrorAnalysis]:
    """The error analysis of every method, by its id."""
    labels = answers.column_of("error_label").tolist()
    return {
        method: error_analysis(values, answers.quality, labels, thresholds=answers.thresholds, seed=choices.seed)
        for method, values in answers.uncertainties(answers.run.methods).items()
    }


def _errors_sentence(seen: Seen[Choices, dict[str, ErrorAnalysis]]) -> str:
    return sentences.errors_sentence(seen.result[seen.choices.method], seen.choices.method)


def _errors_tables(seen: Seen[Choices, dict[str, ErrorAnalysis]]) -> tuple[Table, ...]:
    method, found = seen.choices.method, seen.result
    own = tables.errors_table(found[method], method)
    each = pd.concat([tables.errors_table(one, name) for name, one in found.items()], ignore_index=True)
    about = joined(_errors_sentence(seen), sentences.errors_note(found[method]))
    published = f"{_BY_HAND} {sentences.published_shares()}"
    return (
        Table("errors_of_method", "Error analysis", _ERRORS, own, about=published),
        Table("errors", "Error analysis of all methods", joined(about, _ERRORS), each, place="folded", about=_BY_HAND),
    )


ERRORS = View[Choices, dict[str, ErrorAnalysis]](
    id="errors",
    title="Errors",
    topic="Which answers are found?",
    question="How many of the least and of the most confident answers are incorrect?",
    needs=frozenset({"method"}),
    compute=_errors,
    claim=lambda seen: claims.errors_claim(seen.result[seen.choices.method], seen.choices.method),
    sentence=_errors_sentence,
    more=lambda seen: sentences.errors_note(seen.result[seen.choices.method]),
    pictures=lambda _seen: (),
    tables=_errors_tables,
)
