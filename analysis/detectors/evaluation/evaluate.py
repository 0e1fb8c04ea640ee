"""Every supervised method under every split, beside a text classifier, shuffled labels, RAUQ and MSP."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np

from analysis.detectors.evaluation.answers import (
    Answers,
    Features,
    SupervisedMethod,
    answers_of,
    features_of,
    rows_with_quality,
)
from analysis.detectors.evaluation.held_out import (
    FAILURES,
    SPLITS,
    Plan,
    Scores,
    Split,
    detector_scores,
    plans,
    searched,
    text_scores,
)
from analysis.detectors.evaluation.results import (
    ALL_ANSWERS,
    MEAN,
    TEXT,
    Evaluation,
    Row,
    SplitTable,
    evaluated_run,
)
from analysis.detectors.supervised.training import settings_in_words
from analysis.methods.comparison import (
    RAUQ,
    Judged,
    JudgedGroups,
    Metric,
    Ranking,
    difference,
    groups_of,
    judged_groups,
    ranking,
)
from analysis.quality.judgement import Thresholds
from analysis.runs.opened import Run
from analysis.stats import Estimate
from rauq.labels import running, shortened

Tell = Callable[[str], None]
_LONGEST = 1_000  # characters of a text in the result


@dataclass(frozen=True, eq=False, kw_only=True)
class Detected:
    """The scores of one method under one split: fitted on the labels, and fitted on shuffled ones."""

    scores: Scores
    shuffled: Scores
    settings: str


def evaluate(
    runs: Sequence[Run],
    methods: Sequence[SupervisedMethod],
    *,
    threshold: float | None = None,
    full: bool = False,
    seed: int = 1,
    tell: Tell = lambda _line: None,
) -> Evaluation:
    """Fit every method under every split, and rank the answers that its fits have not seen.

    `threshold`: an answer is correct where quality is above it; None is that of the runs' measure. `full` searches the
    full grids of the methods. `tell` is given a line on every step.

    Raises:
        InvalidInput: runs or a threshold that `answers_of` refuses.
        RunError: a shard can no longer be read.
    """
    given = answers_of(runs, threshold=threshold)
    planned = plans(given, seed=seed)
    detected: dict[Split, dict[str, Detected]] = {split: {} for split in SPLITS}
    for method in methods:  # one after the other, since the features of one may take gigabytes
        tell(f"{method.id}: features of {len(given.quality):,} answers")
        features = features_of(runs, method)
        for split, plan in _usable(planned):
            tell(f"{method.id}, {split.replace('_', ' ')}: {len(plan.folds)} folds")
            detected[split][method.id] = detect(method, features, given, plan, seed=seed, full=full)
    tables = [table for split in SPLITS for table in split_tables(given, planned[split], detected[split], seed=seed)]
    return Evaluation(
        runs=tuple(evaluated_run(run, len(rows_with_quality(run))) for run in runs),
        model=runs[0].answerer.name,
        revision=runs[0].answerer.revision,
        kind=runs[0].answerer.kind,
        threshold=given.threshold,
        full=full,
        seed=seed,
        tables=tuple(tables),
    )


def _usable(planned: Mapping[Split, Plan]) -> Iterator[tuple[Split, Plan]]:
    return ((split, plan) for split, plan in planned.items() if not plan.reason)


def detect(
    method: SupervisedMethod, features: Features, given: Answers, plan: Plan, *, seed: int, full: bool
) -> Detected:
    """Search settings once, and score the tested answers by fits on the labels and on shuffled ones."""
    try:
        settings = searched(method, features, given, plan, seed=seed, full=full)
    except FAILURES as error:
        nothing = Scores(np.full(len(given.quality), np.nan), np.full(len(given.quality), str(error), dtype=object))
        return Detected(scores=nothing, shuffled=nothing, settings="")
    asked: dict[str, Any] = {"settings": settings, "seed": seed}
    return Detected(
        scores=detector_scores(method, features, given, plan, **asked),
        shuffled=detector_scores(method, features, given, plan, shuffled=True, **asked),
        settings=shortened(running(settings_in_words(settings)), longest=_LONGEST),
    )


def split_tables(given: Answers, plan: Plan, detected: Mapping[str, Detected], *, seed: int) -> tuple[SplitTable, ...]:
    """Rank the tested answers by every method, column by column: a table for each metric."""
    if plan.reason:
        return tuple(
            SplitTable(split=plan.split, metric=metric, columns=(), rows=(), reason=plan.reason)
            for metric in get_args(Metric)
        )
    unfitted = {TEXT: text_scores(given, plan, seed=seed)} | {
        name: _beside(values) for name, values in given.beside.items()
    }
    judges = (_judge(given, plan, metric) for metric in get_args(Metric))
    return tuple(_table(plan, judge, detected, unfitted) for judge in judges)


def _judge(given: Answers, plan: Plan, metric: Metric) -> "_Judge":
    rows, level = plan.tested, given.threshold
    among = judged_groups(
        groups_of([shortened(plan.parts[row], longest=_LONGEST) for row in rows], clusters=given.clusters[rows]),
        given.quality[rows],
        metric=metric,
        thresholds=Thresholds(correct=level, incorrect=level, roc=level),
    )
    return _Judge(among, rows, pooled=plan.split == "in_domain" and len(given.data_sets) == 1)


def _table(plan: Plan, judge: "_Judge", detected: Mapping[str, Detected], unfitted: Mapping[str, Scores]) -> SplitTable:
    ranked = {name: judge.ranked(scores) for name, scores in unfitted.items()}
    return SplitTable(
        split=plan.split,
        metric=judge.among.whole.metric,
        columns=judge.columns,
        rows=(
            *(_row(name, one, ranked, judge) for name, one in detected.items()),
            *(Row(id=name, estimates=judge.estimates(one)) for name, one in ranked.items()),
        ),
        dropped=plan.dropped,
    )


def _beside(values: np.ndarray) -> Scores:
    return Scores(values, np.where(np.isnan(values), "the run has no such score", "").astype(object))


@dataclass(frozen=True, eq=False)
class _Ranked:
    """Scores of the tested answers, and their ranking in every part."""

    scores: Scores
    rankings: Sequence[Ranking]

    def of(self, part: Judged, at: int) -> tuple[np.ndarray, Ranking]:
        """The scores (n,) of a part, and their ranking, which is the one `at` that place."""
        return self.scores.values[part.rows], self.rankings[at]


@dataclass(frozen=True, eq=False)
class _Judge:
    """The tested answers `rows` and their parts; `pooled`: all of them together are a column too.

    Where each part is scored by another fit, the scores of different parts share no scale, and are not pooled.
    """

    among: JudgedGroups
    rows: np.ndarray
    pooled: bool

    @property
    def columns(self) -> tuple[str, ...]:
        """Each part, then their mean; with one part alone, that one."""
        if not self.among.own:
            return (ALL_ANSWERS,)
        return (*((ALL_ANSWERS,) if self.pooled else ()), *(running(part.name) for part in self.among.own), MEAN)

    def ranked(self, scores: Scores) -> _Ranked:
        """Rank the tested answers by scores of all (A,)."""
        own = Scores(scores.values[self.rows], scores.reasons[self.rows])
        return _Ranked(own, [ranking(own.values[part.rows], part) for part in self.among.parts])

    def estimates(self, ranked: _Ranked) -> tuple[Estimate, ...]:
        """The estimates of the columns; where no answer has a score, with the reason for that."""
        return self._in_columns(ranked.rankings, ranked.scores.reason)

    def minus(self, ranked: _Ranked, other: _Ranked) -> tuple[Estimate, ...]:
        """The paired differences of the columns, among the answers that both have scores for."""
        found = [difference(ranked.of(part, at), other.of(part, at), part) for at, part in enumerate(self.among.parts)]
        return self._in_columns(found, ranked.scores.reason or other.scores.reason)

    def _in_columns(self, rankings: Sequence[Ranking], reason: str) -> tuple[Estimate, ...]:
        found = [_explained(one.estimate, reason) for one in self.among.reported(rankings)]
        if not self.among.own:
            return tuple(found)
        whole, mean, *own = found
        return (*((whole,) if self.pooled else ()), *own, mean)


def _explained(estimate: Estimate, reason: str) -> Estimate:
    text = shortened(running(reason or estimate.reason), longest=_LONGEST)
    return replace(estimate, reason=text) if estimate.reason else estimate


def _row(name: str, detected: Detected, unfitted: Mapping[str, _Ranked], judge: _Judge) -> Row:
    own = judge.ranked(detected.scores)
    return Row(
        id=name,
        estimates=judge.estimates(own),
        minus_text=judge.minus(own, unfitted[TEXT]),
        minus_rauq=judge.minus(own, unfitted[RAUQ]),
        shuffled=judge.estimates(judge.ranked(detected.shuffled)),
        settings=detected.settings,
    )
