"""What a signal adds to controls: logistic fits of the controls alone and with the signal, judged on other folds.

Both are judged by ROC-AUC among answers of one fold, so that fits of different folds are never compared.
"""

from dataclasses import dataclass

import numpy as np

from analysis.answer_sets.clusters import shuffled
from analysis.answer_sets.separation import Labelled, areas, difference_of_areas, labelled
from analysis.detectors.fit import one_thread
from analysis.stats import Estimate
from analysis.survival.controls import Crossed
from analysis.survival.labelled import LabelledAnswers

_STEPS = 25  # of Newton's method, which needs about six
_PENALTY = 0.01  # per coefficient: keeps them finite where a fit separates the sides
PERMUTATIONS = 999


@dataclass(frozen=True, eq=False, kw_only=True)
class Beyond:
    """ROC-AUC of the fit with the signal minus that of the controls alone, and how often chance does as well.

    `p`: share of signals that add as much when they are shuffled among the answers of a group.
    `is_reversed`: a low signal is what tells of an incorrect answer.
    """

    estimate: Estimate
    p: float
    is_reversed: bool


def beyond(
    signal: np.ndarray,
    given: LabelledAnswers,
    controls: Crossed,
    fold: np.ndarray,
    *,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> Beyond:
    """Judge a signal (A,), which every answer has, on each fold (A,) by fits on the others."""
    alone, counted = _alone(given, controls, fold)
    with_signal, slopes = _held_out(signal[None], given, controls, fold)
    estimate = difference_of_areas(-with_signal.T, -alone.T, counted)
    _, group = np.unique(np.array(given.groups, dtype=object).astype(str), return_inverse=True)
    rng = np.random.default_rng(seed)
    drawn = shuffled(signal, group, given.clusters, count=permutations, rng=rng)
    by_chance, _ = _held_out(drawn, given, controls, fold)
    added = areas(-by_chance.T, counted) - areas(-alone.T, counted)
    p = (1 + int((added >= estimate.value).sum())) / (1 + permutations)
    return Beyond(estimate=estimate, p=p, is_reversed=bool((slopes < 0).all()))


def added_by(signals: np.ndarray, given: LabelledAnswers, controls: Crossed, fold: np.ndarray) -> tuple[Estimate, ...]:
    """What each of S signals (S, A) adds to the controls."""
    alone, counted = _alone(given, controls, fold)
    with_signals, _ = _held_out(signals, given, controls, fold)
    return tuple(difference_of_areas(-one[:, None], -alone.T, counted) for one in with_signals)


def _alone(given: LabelledAnswers, controls: Crossed, fold: np.ndarray) -> tuple[np.ndarray, Labelled]:
    """The log-odds (1, A) by the controls alone, and the answers to compare within folds."""
    alone, _ = _held_out(np.zeros((1, len(fold))), given, controls, fold)
    return alone, labelled(alone.T, given.sides, fold.astype(str), clusters=given.clusters)


def _held_out(
    signals: np.ndarray, given: LabelledAnswers, controls: Crossed, fold: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Log-odds (S, A) of being incorrect by fits on the other folds, of controls and each signal (S, A).

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
    ordered = np.sort(train, axis=1)
    size = train.shape[1]

    def scores(values: np.ndarray) -> np.ndarray:
        below = np.stack([np.searchsorted(own, one, "left") for own, one in zip(ordered, values, strict=True)])
        up_to = np.stack([np.searchsorted(own, one, "right") for own, one in zip(ordered, values, strict=True)])
        share = ((below + up_to) / 2 + 0.5) / (size + 1)
        return np.asarray(np.log(share / (1 - share)))

    return scores(train), scores(rows)


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
