"""Fitting LookBackLens: logistic regression on the mean lookback ratio of each head (Chuang et al., 2024)."""

from collections.abc import Sequence

import numpy as np

from analysis.detectors.supervised.training_set import training_set
from rauq.detectors.lookback_lens import LookbackLens


def search(features: Sequence[np.ndarray], quality: np.ndarray, *, threshold: float, seed: int, full: bool) -> None:
    """Choose nothing: the paper of RAUQ searches no setting of this method."""


def fit(
    features: Sequence[np.ndarray],
    quality: np.ndarray,
    *,
    threshold: float,
    settings: None = None,  # noqa: ARG001 - the signature of every method
    seed: int = 42,  # noqa: ARG001
) -> LookbackLens:
    """Fit the regression to A answers of quality (A,) and features (L H,) each: L2 with C = 1, lbfgs, 1,000 iterations.

    Raises:
        InvalidInput: too few answers of a class, or features of different models.
    """
    from sklearn.linear_model import LogisticRegression

    given = training_set(features, quality, threshold=threshold)
    fitted = LogisticRegression(C=1.0, max_iter=1000).fit(given.features, given.correct)
    return LookbackLens(coefficients=fitted.coef_[0].astype(np.float64), intercept=float(fitted.intercept_[0]))
