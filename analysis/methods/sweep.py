"""RAUQ over alpha, group by group: how much hangs on the paper's choice (paper, figure 4)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.estimate import Estimate
from analysis.methods.groups import Group
from analysis.methods.ranking import Metric, judged, ranking
from analysis.quality.judgement import Thresholds
from rauq.batch import Answers
from rauq.grid import score_grid
from rauq.settings import Settings, Signal, signal_and_alpha
from rauq.trace import Alignment

ALPHAS = tuple(step / 10 for step in range(11))


@dataclass(frozen=True, eq=False, kw_only=True)
class Sweep:
    """PRR or ROC-AUC of RAUQ with one signal, in G groups: `estimates` (G, 11) at `alphas` from 0 to 1.

    `paper_alpha` is the paper's for this signal and the model's kind. At 1 the probability signal is perplexity.
    """

    alignment: Alignment
    signal: Signal
    metric: Metric
    alphas: tuple[float, ...]
    paper_alpha: float
    groups: tuple[str, ...]
    estimates: tuple[tuple[Estimate, ...], ...]

    def of_group(self, group: str) -> tuple[Estimate, ...]:
        """The estimates (11,) of one group."""
        return self.estimates[self.groups.index(group)]

    def at_paper(self, group: str) -> Estimate:
        """The estimate of a group at the paper's alpha."""
        return self.of_group(group)[self.alphas.index(self.paper_alpha)]

    def best(self, group: str) -> float | None:
        """The alpha of the highest value in a group, the lowest of equals; None where all are undefined."""
        values = np.array([found.value for found in self.of_group(group)])
        return None if np.isnan(values).all() else self.alphas[int(np.nanargmax(values))]


def sweep(
    answers: Answers,
    quality: np.ndarray,
    groups: Sequence[Group],
    *,
    signal: Signal,
    metric: Metric,
    thresholds: Thresholds,
    resamples: int = 500,
    seed: int = 0,
) -> Sweep:
    """Score A answers at every alpha under the alignment of the batch, and rank them by their quality (A,).

    Within a group one set of bootstrap resamples serves every alpha.

    Raises:
        InvalidInput: a batch without the kind of its model, or without the middle layers.
    """
    settings = [Settings(alpha=alpha, signal=signal, alignment=answers.alignment) for alpha in ALPHAS]
    uncertainties = score_grid(answers, settings)
    parts = [
        judged(group, quality, metric=metric, thresholds=thresholds, count=resamples, seed=seed) for group in groups
    ]
    return Sweep(
        alignment=answers.alignment,
        signal=signal,
        metric=metric,
        alphas=ALPHAS,
        paper_alpha=signal_and_alpha(Settings(signal=signal), answers.kind)[1],
        groups=tuple(part.name for part in parts),
        estimates=tuple(tuple(ranking(row[part.rows], part).estimate for row in uncertainties) for part in parts),
    )
