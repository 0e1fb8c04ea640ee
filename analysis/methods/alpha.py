"""RAUQ over alpha with real, shuffled, constant and no attention (paper, figure 4)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np

from analysis.methods import exchange
from analysis.methods.attention_permutation import Exchange, Exchanged, exchanged, rank_parts
from analysis.methods.comparison import Group, Metric, judged_groups
from analysis.quality.judgement import Thresholds
from analysis.stats import Estimate
from rauq.scoring.algorithm import score_grid
from rauq.scoring.score import score_many
from rauq.scoring.settings import Settings, Signal, signal_and_alpha
from rauq.trace.batch import Answers
from rauq.trace.trace import Alignment

ALPHAS = tuple(step / 10 for step in range(11))
DERANGEMENTS = 5  # of the answers of each group; the shuffled curve is their mean
_Cell = TypeVar("_Cell")
REPLACED: tuple[Exchange, ...] = ("shuffled", "constant", "none")


@dataclass(frozen=True, eq=False, kw_only=True)
class Sweep:
    """PRR or ROC-AUC of RAUQ with one signal, in G groups, at `alphas` (11,) from 0 to 1.

    `groups`: "all", then, where there are several, the mean within groups, and each of these. `real` (G, 11): with the
    attention of the selected heads. `exchanged`: (G, 11) for each of REPLACED, with the real attention's minus it.
    With "none" it is the value at alpha 1, where attention is not used: with the probability signal, perplexity.
    `paper_alpha` is the paper's for this signal and the model's kind.
    """

    alignment: Alignment
    signal: Signal
    metric: Metric
    alphas: tuple[float, ...]
    paper_alpha: float
    groups: tuple[str, ...]
    real: tuple[tuple[Estimate, ...], ...]
    exchanged: Mapping[Exchange, tuple[tuple[Exchanged, ...], ...]]

    def of_group(self, group: str) -> tuple[Estimate, ...]:
        """The estimates (11,) of one group with real attention."""
        return self.real[self.groups.index(group)]

    def under(self, exchange: Exchange, group: str) -> tuple[Exchanged, ...]:
        """What one exchange does in one group: (11,)."""
        return self.exchanged[exchange][self.groups.index(group)]

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
    names: Sequence[str],
    groups: Sequence[Group],
    *,
    signal: Signal,
    metric: Metric,
    thresholds: Thresholds,
    resamples: int = 500,
    seed: int = 0,
) -> Sweep:
    """Score A answers at every alpha under each attention, and rank them by their quality (A,).

    Attention is exchanged within the group of each answer, `names` (A,). Within a group one set of bootstrap resamples
    serves every alpha and every attention.

    Raises:
        InvalidInput: a batch without the kind of its model, or without the middle layers.
    """
    scores = score_sweep(answers, names, signal=signal, seed=seed)
    real = scores["real"][:, 0]
    among = judged_groups(groups, quality, metric=metric, thresholds=thresholds, count=resamples, seed=seed)
    ranked = [rank_parts(row, among) for row in real]
    return Sweep(
        alignment=answers.alignment,
        signal=signal,
        metric=metric,
        alphas=ALPHAS,
        paper_alpha=signal_and_alpha(Settings(signal=signal), answers.kind)[1],
        groups=among.names,
        real=_by_group([one.estimate for one in among.reported(row)] for row in ranked),
        exchanged={
            name: _by_group(
                exchanged(name, (own, rows), other, among)
                for own, rows, other in zip(real, ranked, scores[name], strict=True)
            )
            for name in REPLACED
        },
    )


def score_sweep(
    answers: Answers, names: Sequence[str], *, signal: Signal, seed: int = 0
) -> dict[Exchange | Literal["real"], np.ndarray]:
    """Uncertainty of A answers at every alpha, (11, S, A): S is DERANGEMENTS for "shuffled", else 1.

    The heads selected by the real attention are used under every exchange.
    """
    found = score_many(answers, Settings(alpha=1.0, signal=signal, alignment=answers.alignment))
    grid = [replace(found.settings, alpha=alpha, layers=found.layers) for alpha in ALPHAS]
    weights = exchange.weights_of(answers, found.layers, found.heads)
    groups = [np.flatnonzero(np.asarray(names) == name) for name in np.unique(names)]
    draws = [np.random.default_rng(seed) for _ in groups]

    def scored(several: Sequence[Sequence[np.ndarray]]) -> np.ndarray:
        lone = [exchange.with_weights(answers, found.layers, one) for one in several]
        return np.stack([score_grid(one, grid) for one in lone], axis=1)

    def shuffled() -> list[np.ndarray]:
        return _in_order(
            groups,
            [
                exchange.shuffled([weights[row] for row in rows], answers.lengths[rows], draw)
                for rows, draw in zip(groups, draws, strict=True)
            ],
        )

    constant = [exchange.constant([weights[row] for row in rows]) for rows in groups]
    real = scored([weights])
    return {
        "real": real,
        "shuffled": scored([shuffled() for _ in range(DERANGEMENTS)]),
        "constant": scored([_in_order(groups, constant)]),
        "none": np.broadcast_to(real[-1], real.shape),
    }


def _in_order(groups: Sequence[np.ndarray], found: Sequence[Sequence[np.ndarray]]) -> list[np.ndarray]:
    """What was found for the answers of each group, in the order of all answers."""
    each = [one for several in found for one in several]
    return [each[place] for place in np.argsort(np.concatenate(groups))]


def _by_group(rows: Iterable[Sequence[_Cell]]) -> tuple[tuple[_Cell, ...], ...]:
    return tuple(zip(*rows, strict=True))
