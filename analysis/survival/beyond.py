"""What a signal adds to controls: logistic fits of the controls alone and with the signal, judged on other folds.

Both are judged by ROC-AUC among answers of one fold, or tokens of one answer, so that fits of different folds are never
compared.
"""

from dataclasses import dataclass

import numpy as np

from analysis.detectors.fit import one_thread
from analysis.stats import Estimate
from analysis.survival.controls import Crossed
from analysis.survival.judged import difference_within, mean_areas
from analysis.survival.labelled import LabelledUnits, by_chance

_STEPS = 25  # of Newton's method, which needs about six
_PENALTY = 0.01  # per coefficient: keeps them finite where a fit separates the sides
PERMUTATIONS = 999


@dataclass(frozen=True, eq=False, kw_only=True)
class Beyond:
    """ROC-AUC of the fit with the signal minus that of the controls alone, and how often chance does as well.

    `p`: share of signals that add as much when they are shuffled, as `by_chance`.
    `is_reversed`: a low signal is what tells of an incorrect answer.
    """

    estimate: Estimate
    p: float
    is_reversed: bool


def beyond(
    signal: np.ndarray,
    given: LabelledUnits,
    controls: Crossed,
    fold: np.ndarray,
    *,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> Beyond:
    """Judge a signal (U,), which every unit has, on each fold (U,) by fits on the others."""
    alone = _alone(given, controls, fold)
    with_signal, slopes = _held_out(signal[None], given, controls, fold)
    estimate = difference_within(with_signal.T, alone.T, given, fold)
    drawn, _ = _held_out(by_chance(signal, given, count=permutations, seed=seed), given, controls, fold)
    added = mean_areas(drawn.T, given, fold) - mean_areas(alone.T, given, fold)
    p = (1 + int((added >= estimate.value).sum())) / (1 + permutations)
    return Beyond(estimate=estimate, p=p, is_reversed=bool((slopes < 0).all()))


def added_by(signals: np.ndarray, given: LabelledUnits, controls: Crossed, fold: np.ndarray) -> tuple[Estimate, ...]:
    """What each of S signals (S, U) adds to the controls."""
    alone = _alone(given, controls, fold)
    with_signals, _ = _held_out(signals, given, controls, fold)
    return tuple(difference_within(one[:, None], alone.T, given, fold) for one in with_signals)


def _alone(given: LabelledUnits, controls: Crossed, fold: np.ndarray) -> np.ndarray:
    """The log-odds (1, U) by the controls alone."""
    return _held_out(np.zeros((1, len(fold))), given, controls, fold)[0]


def _held_out(
    signals: np.ndarray, given: LabelledUnits, controls: Crossed, fold: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Log-odds (S, U) of being incorrect by fits on the other folds, of controls and each signal (S, U).

    The slopes (F, S) are those of the signals.
    """
    found = np.empty(signals.shape)
    slopes = np.empty((len(controls.inner), len(signals)))
    for own in range(len(controls.inner)):
        train, rows = fold != own, fold == own
        learned = _standard(controls.inner[own, train], controls.inner[own, train])
        judged = _standard(controls.held[rows], controls.inner[own, train])
        seen, unseen = _normal_scores(signals[:, train], signals[:, rows])
        with one_thread():
            weights = fit(learned, seen, given.incorrect[train])  # (S, 3)
        found[:, rows] = weights[:, :1] + weights[:, 1:2] * judged + weights[:, 2:] * unseen
        slopes[own] = weights[:, 2]
    return found, slopes


def _standard(values: np.ndarray, of: np.ndarray) -> np.ndarray:
    spread = of.std()
    return (values - of.mean()) / (spread if spread > 1e-12 else 1.0)


def _normal_scores(train: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Signals as log-odds of their rank among the training answers: any increasing function of one gives the same."""
    size, doubled = train.shape[1], [_doubled_ranks(*both) for both in zip(train, rows, strict=True)]
    shares = ((np.stack(one) / 2 + 0.5) / (size + 1) for one in zip(*doubled, strict=True))
    seen, unseen = (np.asarray(np.log(share / (1 - share))) for share in shares)
    return seen, unseen


def _doubled_ranks(train: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each value in turn: how many of `train` (n,) are below it, and how many not above, added up."""
    values, place, count = np.unique(train, return_inverse=True, return_counts=True)
    up_to = np.append(np.cumsum(count), 0)  # the last one is for what is above all
    below = np.append(up_to[:-1] - count, len(train))
    near = np.searchsorted(values, rows)
    is_there = np.append(values, np.nan)[near] == rows
    return (below + up_to)[place], below[near] + np.where(is_there, up_to[near], below[near])


def fit(control: np.ndarray, signals: np.ndarray, incorrect: np.ndarray) -> np.ndarray:
    """Logistic regressions of `incorrect` (n,) on a control (n,) and each of S signals (S, n), all at once: (S, 3).

    The coefficients are the constant, that of the control and that of the signal. scikit-learn fits one at a time, and
    a permutation test needs thousands.
    """
    columns = np.stack([np.ones_like(signals), np.broadcast_to(control, signals.shape), signals], axis=2)  # (S, n, 3)
    weights = np.zeros((len(signals), 3))
    penalty = _PENALTY * np.eye(3)
    for _ in range(_STEPS):
        odds = (columns @ weights[..., None])[..., 0]
        expected = 1 / (1 + np.exp(-np.clip(odds, -30, 30)))
        turned = columns.transpose(0, 2, 1)  # (S, 3, n)
        slope = turned @ (incorrect - expected)[..., None] - _PENALTY * weights[..., None]
        curve = turned @ (columns * (expected * (1 - expected))[..., None]) + penalty
        step = np.linalg.solve(curve, slope)[..., 0]
        weights += step
        if np.abs(step).max() < 1e-8:
            break
    return weights
