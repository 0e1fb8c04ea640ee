"""What a run gave of the methods of a published table: measured here, with another model on other data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.methods.ablations import ablations
from analysis.methods.comparison import Comparison
from analysis.paper import Published
from analysis.runs.opened import Run
from analysis.stats import Estimate, in_words
from pages.ui import cache
from pages.ui.methods.tables import Column
from pages.ui.of_run.stage import open_run

_WIDTH = 180  # pixels: of a value with its interval


@dataclass(frozen=True, kw_only=True)
class Beside:
    """The numbers of the table's methods, by id; `over` says of which answers, `about` of which run."""

    estimates: Mapping[str, Estimate]
    over: str
    about: str

    def column(self, methods: Sequence[str]) -> Column:
        """One number a row of the table; a dash where the run was not asked for the method."""
        found = [self.estimates.get(method) for method in methods]
        words = ["–" if one is None or one.reason else in_words(one) for one in found]
        return Column(title=f"measured here, {self.over}", values=self._values(methods), words=words, width=_WIDTH)

    def cells(self, methods: Sequence[str]) -> dict[str, list[float]]:
        """The same with its interval, as columns of a table to take along."""
        found = [self.estimates.get(method) for method in methods]
        ends = {
            f"measured here {end}": [np.nan if one is None else float(getattr(one, end)) for one in found]
            for end in ("low", "high")
        }
        return {f"measured here, {self.over}": self._values(methods)} | ends

    def _values(self, methods: Sequence[str]) -> list[float]:
        return [self.estimates[method].value if method in self.estimates else np.nan for method in methods]


def beside_paper(name: str, one: Published) -> Beside | None:
    """What the run of that name gave of the methods of a table; None where it has no answers.

    Raises:
        RunError: it cannot be opened.
    """
    run = open_run(name)
    if run is None:
        return None
    found = _compared(run, one)
    return Beside(
        estimates=dict(zip(found.methods, found.overall, strict=True)),
        over="mean of groups" if len(found.groups) > 1 else "all answers",
        about=f"Measured here: the run {name}, {len(run.answers):,} answers of {run.answerer.name}",
    )


def _compared(run: Run, one: Published) -> Comparison:
    """The methods of the run, or, of a table of ablations, its variants computed on the run."""
    rows = np.arange(len(run.answers))
    metric: Any = one.metric
    for table in ablations(run.answerer.layers):
        if one.table in table.published:
            return cache.ablated(run, rows, metric, table.id).comparison
    return cache.comparison(run, rows, metric)
