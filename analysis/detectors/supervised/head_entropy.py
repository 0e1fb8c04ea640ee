"""Fitting a linear detector on the features of Head Entropy, as its paper's supervised form (arXiv 2602.13699).

Of the paper: logistic regression with an L1 penalty, so that the signs are learned and few heads count. Ours: each
feature is divided by its standard deviation over the training answers, so that the penalty is the same for all; the
strength of the penalty is chosen by five folds. The solver is liblinear, which penalises the intercept too.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.detectors.supervised.training_set import TrainingSet, folds, training_set
from analysis.stats import roc_auc
from rauq.detectors.head_entropy import HeadEntropy

STRENGTHS = (0.01, 0.03, 0.1, 0.3, 1.0)


@dataclass(frozen=True, kw_only=True)
class HeadEntropySettings:
    """The inverse strength of the penalty, C of scikit-learn: smaller leaves fewer heads."""

    inverse_strength: float


def search(
    features: Sequence[np.ndarray],
    quality: np.ndarray,
    *,
    threshold: float,
    seed: int,
    full: bool,  # noqa: ARG001 - the grid is small
) -> HeadEntropySettings:
    """Choose the penalty of the highest mean ROC-AUC over five folds; of equal ones the strongest.

    Raises:
        InvalidInput: too few answers of a class, or features of different models.
    """
    given = training_set(features, quality, threshold=threshold)
    fold = folds(len(given.quality))
    parts = [(given.take(fold != own), given.take(fold == own)) for own in np.unique(fold)]
    areas = [[_judged(*part, strength, seed) for part in parts] for strength in STRENGTHS]
    means = np.nan_to_num(np.ma.masked_invalid(areas).mean(axis=1).filled(0))
    return HeadEntropySettings(inverse_strength=STRENGTHS[int(np.argmax(means))])


def fit(
    features: Sequence[np.ndarray],
    quality: np.ndarray,
    *,
    threshold: float,
    settings: HeadEntropySettings,
    seed: int = 42,
) -> HeadEntropy:
    """Fit the regression to A answers of quality (A,) and features (L H,) each.

    Raises:
        InvalidInput: too few answers of a class, or features of different models.
    """
    return _fitted(training_set(features, quality, threshold=threshold), settings.inverse_strength, seed)


def _judged(seen: TrainingSet, held: TrainingSet, strength: float, seed: int) -> float:
    """The ROC-AUC of a fit on the first part over the second; nan where either has one class."""
    if len(set(seen.correct.tolist())) < 2 or len(set(held.correct.tolist())) < 2:
        return np.nan
    fitted = _fitted(seen, strength, seed)
    return roc_auc(np.array([fitted.value(one) for one in held.features]), held.correct)


def _fitted(given: TrainingSet, strength: float, seed: int) -> HeadEntropy:
    from sklearn.linear_model import LogisticRegression

    mean, scale = given.features.mean(axis=0), given.features.std(axis=0)
    scale[scale == 0] = 1.0
    model = LogisticRegression(l1_ratio=1.0, C=strength, solver="liblinear", max_iter=1000, random_state=seed)
    model.fit((given.features - mean) / scale, given.correct)
    coefficients = model.coef_[0] / scale
    return HeadEntropy(coefficients=coefficients, intercept=float(model.intercept_[0] - coefficients @ mean))
