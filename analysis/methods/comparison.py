"""Methods side by side: how well each ranks the answers of every group, and what the paper's table says of that."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.estimate import Estimate
from analysis.methods.groups import ALL, Group
from analysis.methods.paired import Paired, overall, pair
from analysis.methods.ranking import Metric, judged, mean_ranking, ranking
from analysis.metrics import ranks
from analysis.quality.judgement import Thresholds
from rauq.errors import InvalidInput

RAUQ = "rauq"
_EQUAL = 12  # decimals: values closer than this are one, whatever the order of a sum


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison:
    """M methods, by id, in G groups, the first of which is "all".

    `estimates` (M, G): PRR or ROC-AUC, higher is better. `means` (M,): the mean over the groups other than "all", as
    the paper's over data sets; where there are none it is that of all answers. `mean_ranks` (M,): the mean over the
    same groups of the method's rank, 1 being the best; nan where it is undefined in one of them. `paired`: RAUQ minus
    each other method, None where RAUQ is not among them.
    """

    metric: Metric
    methods: tuple[str, ...]
    groups: tuple[str, ...]
    estimates: tuple[tuple[Estimate, ...], ...]
    means: tuple[Estimate, ...]
    mean_ranks: np.ndarray
    paired: Paired | None

    @property
    def overall(self) -> tuple[Estimate, ...]:
        """The means (M,), or, where some group leaves all of them undefined, the estimates among all answers."""
        return overall(self.means, self.of_group(ALL))

    def of_group(self, group: str) -> tuple[Estimate, ...]:
        """The estimates (M,) of one group."""
        return tuple(row[self.groups.index(group)] for row in self.estimates)


def compare(
    answers: pd.DataFrame,
    methods: Sequence[str],
    groups: Sequence[Group],
    *,
    metric: Metric,
    thresholds: Thresholds,
    resamples: int = 1000,
    seed: int = 0,
) -> Comparison:
    """Rank A answers by the column of each method; `answers` also has their quality.

    For ROC-AUC an answer is correct if its quality is above `thresholds.roc`. Within a group one set of bootstrap
    resamples serves every method, so that their differences are paired.

    Raises:
        InvalidInput: a method that has no column.
    """
    uncertainties = {method: _column(answers, method) for method in methods}
    quality = _column(answers, "quality")
    parts = [
        judged(group, quality, metric=metric, thresholds=thresholds, count=resamples, seed=seed) for group in groups
    ]
    found = {method: [ranking(values[part.rows], part) for part in parts] for method, values in uncertainties.items()}
    estimates = tuple(tuple(one.estimate for one in row) for row in found.values())
    own = own_groups(tuple(group.name for group in groups))
    return Comparison(
        metric=metric,
        methods=tuple(methods),
        groups=tuple(group.name for group in groups),
        estimates=estimates,
        means=tuple(mean_ranking([row[place] for place in own]).estimate for row in found.values()),
        mean_ranks=_mean_ranks(estimates, own),
        paired=pair(RAUQ, uncertainties, found, parts, own) if RAUQ in methods else None,
    )


def marks(estimates: Sequence[Estimate]) -> np.ndarray:
    """Marks (M,) of the methods of a column: 1 the best, 2 the second, equal ones alike, else 0; never an undefined."""
    values = np.round([found.value for found in estimates], _EQUAL)
    first, second = [*np.unique(-values[~np.isnan(values)]), np.nan, np.nan][:2]
    return np.where(-values == first, 1, np.where(-values == second, 2, 0))


def own_groups(names: Sequence[str]) -> list[int]:
    """The places of the groups that a mean is over: all but "all", unless that is the only one."""
    return [place for place, name in enumerate(names) if name != ALL] or list(range(len(names)))


def _column(answers: pd.DataFrame, name: str) -> np.ndarray:
    if name not in answers:
        message = f"The answers have no {name}; their columns are {', '.join(map(str, answers))}."
        raise InvalidInput(message)
    return answers[name].to_numpy(dtype=float)


def _mean_ranks(estimates: Sequence[Sequence[Estimate]], own: Sequence[int]) -> np.ndarray:
    placed = np.full((len(estimates), len(own)), np.nan)
    for column, place in enumerate(own):
        values = np.round([row[place].value for row in estimates], _EQUAL)
        there = ~np.isnan(values)
        placed[there, column] = ranks(-values[there])
    return placed.mean(axis=1)
