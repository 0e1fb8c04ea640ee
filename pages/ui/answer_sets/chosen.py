"""The answers of a run that a page looks at: those that pass the filters, and their sides."""

from dataclasses import dataclass

import numpy as np

from analysis.answer_sets.picking import of_picked, pick
from analysis.answer_sets.sides import Sides, sides
from analysis.quality.judgement import Thresholds
from analysis.runs.arrays import TokenChoice
from analysis.runs.opened import Run
from pages.ui import cache
from pages.ui.answer_sets.asked import Asked, Filters, Span, thresholds
from rauq.settings import Settings


@dataclass(frozen=True, eq=False, kw_only=True)
class Chosen:
    """n answers of the run `name`: `rows` (n,) of its table, with what is asked of them and under which settings.

    `sides` hold the same n answers, by `thresholds`.
    """

    name: str
    run: Run
    rows: np.ndarray
    asked: Asked
    settings: Settings
    thresholds: Thresholds
    sides: Sides

    @property
    def layers(self) -> tuple[int, ...]:
        """All layers that have attention, absolute."""
        return self.run.answerer.layers

    @property
    def layer(self) -> int:
        """The layer that is looked at, absolute: where none is asked for, the middle one of those kept."""
        return (
            self.run.stored_layers[len(self.run.stored_layers) // 2] if self.asked.layer is None else self.asked.layer
        )

    @property
    def column(self) -> int:
        """Where that layer lies on the layer axis."""
        return self.layers.index(self.layer)

    @property
    def quality(self) -> np.ndarray:
        """Quality (n,), nan where undefined."""
        return self.column_of("quality")

    def column_of(self, name: str) -> np.ndarray:
        """A column of the run's table for these answers (n,)."""
        return np.asarray(self.run.answers[name])[self.rows]

    def means(self, *, tokens: TokenChoice | None = None, offset: int | None = None) -> np.ndarray:
        """Mean attention of every head (n, L, H), of the tokens and the offset that are asked for unless others are."""
        return np.asarray(
            cache.means(self.run, self.settings.alignment, tokens or self.asked.tokens, offset or self.asked.offset)[
                self.rows
            ]
        )

    def picks(self) -> np.ndarray:
        """The head that each answer picks in each layer (n, L), over the whole answer, as RAUQ does."""
        return pick(self.means(tokens="all", offset=1))

    def picked_attention(self) -> np.ndarray:
        """Attention (n,) of the picked head in the layer that is looked at."""
        return of_picked(self.means()[:, self.column], self.picks()[:, self.column])


@dataclass(frozen=True, kw_only=True)
class Counts:
    """How many answers there are, and where they went; `undefined` have no quality."""

    answers: int
    correct: int
    incorrect: int
    between: int
    undefined: int
    filtered_out: int
    failed: int


def choose(name: str, run: Run, asked: Asked, settings: Settings, usual: Thresholds) -> Chosen:
    """The answers that pass the filters."""
    rows = np.flatnonzero(passing(run, asked.filters))
    own = thresholds(asked, usual)
    quality = np.asarray(run.answers["quality"], dtype=float)[rows]
    return Chosen(
        name=name, run=run, rows=rows, asked=asked, settings=settings, thresholds=own, sides=sides(quality, own)
    )


def passing(run: Run, filters: Filters) -> np.ndarray:
    """Which answers pass: (A,) of True and False. A quality that is undefined lies in no range but the whole one."""
    table = run.answers
    passed = np.ones(len(table), dtype=bool)
    if filters.group is not None:
        passed &= np.asarray(table["group"] == filters.group)
    for name, span in (("quality", filters.quality), ("num_tokens", filters.length)):
        if span != Span():
            passed &= np.asarray(table[name].between(*span))
    if wanted := filters.text.casefold():
        texts = zip(table["prompt"], table["answer"], strict=True)
        passed &= np.array(
            [wanted in prompt.casefold() or wanted in answer.casefold() for prompt, answer in texts], bool
        )
    return passed


def counts(chosen: Chosen) -> Counts:
    """Count the answers of the run by what became of them."""
    correct, incorrect = int(chosen.sides.correct.sum()), int(chosen.sides.incorrect.sum())
    undefined = int(np.isnan(chosen.quality).sum())
    return Counts(
        answers=len(chosen.rows),
        correct=correct,
        incorrect=incorrect,
        between=len(chosen.rows) - correct - incorrect - undefined,
        undefined=undefined,
        filtered_out=len(chosen.run.answers) - len(chosen.rows),
        failed=len(chosen.run.failures),
    )
