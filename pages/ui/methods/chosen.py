"""The answers of a run that methods are compared on, and the methods that there are."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from analysis.methods.ablations import Ablation, ablations
from analysis.methods.comparison import RAUQ, Group, groups_of
from analysis.quality.judgement import Thresholds
from analysis.runs.opened import Run
from pages.ui.methods.asked import Asked
from pages.ui.of_run.chosen import ChosenAnswers
from pages.ui.of_run.filters import passing
from rauq.settings import Settings, Signal, signal_and_alpha

PAGE = "methods"
_FEW = (RAUQ, "perplexity", "msp", "mean_token_entropy")


@dataclass(frozen=True, eq=False, kw_only=True)
class Chosen(ChosenAnswers):
    """Answers of a run, with what is asked of their methods."""

    page: str = PAGE
    can_move_thresholds: bool = False
    asked: Asked

    @property
    def methods(self) -> tuple[str, ...]:
        """The ids of the run's methods."""
        return self.run.methods

    @property
    def method(self) -> str:
        """The method that is looked at: where none is asked for, RAUQ, or else the run's first."""
        return self.asked.method or (RAUQ if RAUQ in self.methods else self.methods[0])

    @property
    def other(self) -> str:
        """The method that is set beside RAUQ: where none is asked for, perplexity, or else any."""
        wanted = (self.asked.method, *_FEW, *self.methods)
        return next((method for method in wanted if method in self.methods and method != RAUQ), RAUQ)

    @property
    def some_methods(self) -> tuple[str, ...]:
        """The methods that are drawn together: where none are asked for, RAUQ and three that need one generation."""
        return self.asked.methods or tuple(method for method in _FEW if method in self.methods) or self.methods[:4]

    @property
    def table(self) -> Ablation:
        """The table of ablations that is looked at."""
        known = ablations(self.run.answerer.layers)
        return next((one for one in known if one.id == self.asked.table), known[0])

    @property
    def signal(self) -> Signal:
        """The signal that is looked at: where none is asked for, the paper's for this kind of model."""
        return self.asked.signal or signal_and_alpha(Settings(), self.run.answerer.kind)[0]

    @cached_property
    def answers(self) -> pd.DataFrame:
        """The rows of the run's table (n,), their index the position among those chosen."""
        return self.run.answers.iloc[self.rows].reset_index(drop=True)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """All of these answers first, then those of each group."""
        return groups_of(list(self.answers["group"]))

    def uncertainties(self, methods: Sequence[str]) -> dict[str, np.ndarray]:
        """What each of these methods gave of the answers (n,)."""
        return {method: self.run.uncertainty(method)[self.rows] for method in methods}


def choose(name: str, run: Run, asked: Asked, usual: Thresholds) -> Chosen:
    """The answers that pass the filters."""
    rows = np.flatnonzero(passing(run, asked.filters))
    return Chosen(name=name, run=run, rows=rows, thresholds=usual, asked=asked)
