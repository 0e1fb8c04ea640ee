"""All results that the report of a run shows: what each view found, computed once."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, repeat
from typing import Any, Generic, TypeVar

import numpy as np

from analysis.answer_sets.sentences import joined
from analysis.exports.tables import Table
from analysis.one_answer.figures import Drawing
from analysis.quality.judgement import Thresholds
from analysis.quality.measures import measure
from analysis.runs.attention import TokenChoice
from analysis.runs.opened import Run
from analysis.views import answer_sets, methods
from analysis.views.all_views import OF_METHODS
from analysis.views.answer_set import AnswerSet, Choices, keeping
from analysis.views.view import Seen, View
from rauq.errors import InvalidInput
from rauq.scoring.settings import Settings
from rauq.trace.trace import Alignment

C = TypeVar("C")
R = TypeVar("R")


@dataclass(frozen=True, kw_only=True)
class ReportSettings:
    """How a run is evaluated. `layer` None is the middle one of those stored; `thresholds` None are the measure's own.

    `k` answers are shown on each side of figure 2. `seed` decides every draw.
    """

    alignment: Alignment = "predicting"
    tokens: TokenChoice = "all"
    layer: int | None = None
    thresholds: Thresholds | None = None
    k: int = 10
    seed: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class Reported(Generic[C, R]):
    """A view, and what it found."""

    view: View[C, R]
    seen: Seen[C, R]

    @property
    def drawings(self) -> tuple[Drawing, ...]:
        """Its figures on a light page; the caption of the first begins with the sentences of the view."""
        said = joined(self.view.words(self.seen), self.view.notes(self.seen))
        return tuple(
            Drawing(one.name.replace("_", "-"), one.heading, joined(before, one.caption, one.about), one.draw())
            for one, before in zip(self.view.pictures(self.seen), chain((said,), repeat("")), strict=False)
        )

    @property
    def tables(self) -> tuple[Table, ...]:
        """Its tables."""
        return self.view.tables(self.seen)


@dataclass(frozen=True, eq=False, kw_only=True)
class Results:
    """What all views found in a run under settings."""

    run: Run
    settings: ReportSettings
    thresholds: Thresholds
    reported: tuple[Reported[Any, Any], ...]

    def of(self, view: View[C, R]) -> tuple[Seen[C, R], ...]:
        """What a view found, under each of the choices that are shown."""
        return tuple(one.seen for one in self.reported if one.view is view)

    @property
    def drawings(self) -> tuple[Drawing, ...]:
        """All figures, in the order of the pages, on a light page."""
        return tuple(chain.from_iterable(one.drawings for one in self.reported))


def results(run: Run, settings: ReportSettings) -> Results:
    """Compute all of it; heads are selected over the whole answer, for any choice of tokens.

    Raises:
        InvalidInput: a run without answers, or a layer without attention.
        RunError: a shard can no longer be read.
    """
    if run.answers.empty:
        message = f"{run.folder} has no answers to report. Resume the run."
        raise InvalidInput(message)
    answers = answers_of(run, settings)
    return Results(
        run=run,
        settings=settings,
        thresholds=answers.thresholds,
        reported=tuple(
            Reported(view=view, seen=view.seen(answers, choices)) for view, choices in choices_of(answers, settings)
        ),
    )


def answers_of(run: Run, settings: ReportSettings) -> AnswerSet:
    """All answers of a run, as a report reads them."""
    return AnswerSet(
        run=run,
        rows=np.arange(len(run.answers)),
        thresholds=settings.thresholds or measure(run.manifest.request.quality).thresholds,
        settings=Settings(alignment=settings.alignment),
        reader=keeping(),
    )


def choices_of(answers: AnswerSet, settings: ReportSettings) -> Iterator[tuple[View[Any, Any], Any]]:
    """Each view with each of the choices that a report shows it under; nothing of it is computed."""
    chosen: Any = {"tokens": settings.tokens, "seed": settings.seed}
    of_attention = Choices(layer=_layer(answers.run, settings.layer), k=settings.k, **chosen)
    yield from _shown(answer_sets.VIEWS, answers, of_attention)
    yield from _shown(OF_METHODS, answers, replace(methods.usual(answers.run), seed=settings.seed))


def _shown(views: Iterable[View[C, Any]], answers: AnswerSet, choices: C) -> Iterator[tuple[View[C, Any], C]]:
    for view in views:
        for shown in view.reported(answers, choices):
            yield view, shown


def _layer(run: Run, chosen: int | None) -> int:
    if chosen is None:
        return run.stored_layers[len(run.stored_layers) // 2]
    if chosen not in run.answerer.layers:
        allowed = ", ".join(map(str, run.answerer.layers))
        message = f"Layer {chosen} has no attention in this run; choose one of {allowed}."
        raise InvalidInput(message)
    return chosen
