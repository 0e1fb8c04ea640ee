"""The answers of a run that a page looks at: those that pass the filters, and their sides."""

from dataclasses import dataclass

import numpy as np

from analysis.answer_sets.captions import picks_note
from analysis.answer_sets.heads import of_picked
from analysis.quality.judgement import Thresholds
from analysis.runs.arrays import Picks, TokenChoice
from analysis.runs.opened import Run
from pages.ui import cache
from pages.ui.answer_sets.asked import Asked, thresholds
from pages.ui.of_run.chosen import ChosenAnswers
from pages.ui.of_run.filters import passing
from rauq.settings import Settings

PAGE = "answer_sets"


@dataclass(frozen=True, eq=False, kw_only=True)
class Chosen(ChosenAnswers):
    """Answers of a run, with what is asked of them and under which settings."""

    page: str = PAGE
    asked: Asked
    settings: Settings

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

    def means(self, *, tokens: TokenChoice | None = None, offset: int | None = None) -> np.ndarray:
        """Mean attention of every head (n, L, H), of the tokens and the offset that are asked for unless others are."""
        return np.asarray(
            cache.means(self.run, self.settings.alignment, tokens or self.asked.tokens, offset or self.asked.offset)[
                self.rows
            ]
        )

    def picks(self) -> np.ndarray:
        """The head that each answer picks in each layer (n, L), over the whole answer, as RAUQ does."""
        return np.asarray(self._all_picks().heads[self.rows])

    @property
    def about_picks(self) -> str:
        """Where picks come from, if they were not stored when the answers were scored."""
        return picks_note(self._all_picks().stored[self.rows])

    def picked_attention(self) -> np.ndarray:
        """Attention (n,) of the picked head in the layer that is looked at."""
        return of_picked(self.means()[:, self.column], self.picks()[:, self.column])

    def _all_picks(self) -> Picks:
        return cache.picks(self.run, self.settings.alignment)


def choose(name: str, run: Run, asked: Asked, settings: Settings, usual: Thresholds) -> Chosen:
    """The answers that pass the filters."""
    rows = np.flatnonzero(passing(run, asked.filters))
    return Chosen(name=name, run=run, rows=rows, thresholds=thresholds(asked, usual), asked=asked, settings=settings)
