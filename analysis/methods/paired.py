"""Is RAUQ better than another method here? Their difference on the same answers, and on the same resamples of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.estimate import Estimate
from analysis.methods.groups import ALL
from analysis.methods.ranking import Judged, Ranking, mean_ranking, ranking
from analysis.metrics import interval


@dataclass(frozen=True, eq=False, kw_only=True)
class Paired:
    """`base` minus each of M other methods, by id, in G groups: above 0 `base` ranks better.

    `differences` (M, G), and `means` (M,) of their values over the groups that a mean is over. Answers that either of
    the two methods lacks are left out of both: `n` and `excluded` of a difference count them.
    """

    base: str
    methods: tuple[str, ...]
    groups: tuple[str, ...]
    differences: tuple[tuple[Estimate, ...], ...]
    means: tuple[Estimate, ...]

    @property
    def overall(self) -> tuple[Estimate, ...]:
        """The means (M,), or, where some group leaves all of them undefined, the differences among all answers."""
        return overall(self.means, self.of_group(ALL))

    def of_group(self, group: str) -> tuple[Estimate, ...]:
        """The differences (M,) of one group."""
        return tuple(row[self.groups.index(group)] for row in self.differences)


def overall(means: Sequence[Estimate], among_all: Sequence[Estimate]) -> tuple[Estimate, ...]:
    """What stands for all groups: their means, unless none of these is defined."""
    return tuple(among_all if all(one.reason for one in means) else means)


def pair(
    base: str,
    uncertainties: Mapping[str, np.ndarray],
    rankings: Mapping[str, Sequence[Ranking]],
    among: Sequence[Judged],
    own: Sequence[int],
) -> Paired:
    """Subtract each method from `base`; uncertainties are (A,), rankings (G,); a mean is over the groups at `own`."""
    others = [method for method in uncertainties if method != base]
    found = [
        [
            difference(
                (uncertainties[base][part.rows], rankings[base][place]),
                (uncertainties[other][part.rows], rankings[other][place]),
                part,
            )
            for place, part in enumerate(among)
        ]
        for other in others
    ]
    return Paired(
        base=base,
        methods=tuple(others),
        groups=tuple(part.name for part in among),
        differences=tuple(tuple(one.estimate for one in row) for row in found),
        means=tuple(mean_ranking([row[place] for place in own]).estimate for row in found),
    )


def difference(base: tuple[np.ndarray, Ranking], other: tuple[np.ndarray, Ranking], among: Judged) -> Ranking:
    """The metric of one uncertainty (n,) minus that of another, among the answers that have both."""
    both = ~np.isnan(base[0]) & ~np.isnan(other[0])
    first, second = (_on(both, *one, among) for one in (base, other))
    value, resampled = first.estimate.value - second.estimate.value, first.resampled - second.resampled
    reason = first.estimate.reason or second.estimate.reason
    return Ranking(Estimate(value, *interval(resampled), first.estimate.n, first.estimate.excluded, reason), resampled)


def _on(both: np.ndarray, uncertainty: np.ndarray, ranked: Ranking, among: Judged) -> Ranking:
    """What is known already serves where no answer has to go."""
    return ranked if ranked.estimate.n == both.sum() else ranking(np.where(both, uncertainty, np.nan), among)
